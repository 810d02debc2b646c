"""How well tensors use their types: reports of one run, and records of a training."""

from scalify_hlo.frontend.recorder import Recorder
from scalify_hlo.reports.health import TensorHealth, read_health, summary, table
from scalify_hlo.reports.health_html import report_html

__all__ = ["Recorder", "TensorHealth", "read_health", "report_html", "summary", "table"]
