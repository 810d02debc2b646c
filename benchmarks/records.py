"""What every benchmark writes beside its numbers: where and with what they were measured."""

import datetime
import json
import os
import pathlib
import platform
from collections.abc import Iterable
from typing import Any

import jax
import jaxlib
import numpy as np

import scalify_hlo
from scalify_hlo.io.files import write_output

RESULTS = pathlib.Path(__file__).resolve().parent / "results"


def environment() -> dict[str, Any]:
    """Versions, processor and date."""
    return {
        "scalify_hlo": scalify_hlo.__version__,
        "jax": jax.__version__,
        "jaxlib": jaxlib.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "date": datetime.date.today().isoformat(),
    }


def write_json(path: pathlib.Path, record: Any) -> None:
    """Write a record atomically, indented so that two of them can be compared line by line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_output(str(path), (json.dumps(record, indent=1) + "\n").encode())


def read_json(path: pathlib.Path) -> Any:
    """A record written before; None where there is none or it cannot be read."""
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        return None


def comparable(record: dict[str, Any], keys: Iterable[str]) -> dict[str, Any]:
    """What must be equal for the numbers of two records to stand in one table: `keys`, versions and processor."""
    where = {key: value for key, value in record["environment"].items() if key != "date"}
    return {"environment": where, **{key: record[key] for key in keys}}


def _processor() -> str:
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())
