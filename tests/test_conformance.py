"""The conformance suite in ../shared/conformance: small programs of the StableHLO project, rewritten and run.

A sample of every push; the whole suite, with a table by operation (half a minute on two cores):

    python ../shared/conformance/conformance.py run --py scalify_hlo.rewrite:rewrite_module --path . --failures 50

SCALIFY_CONFORMANCE=all makes this test run all of it too.
"""

import json
import os
import pathlib
import subprocess
import sys
from typing import Any

import pytest

from tests.shared_data import shared

ROOT = pathlib.Path(__file__).resolve().parents[1]
SAMPLE = ["--sample", "300", "--seed", "20"]


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What the suite's harness says of each program, with the rewriter in the harness's own workers."""
    harness = shared("conformance") / "conformance.py"
    report = tmp_path_factory.mktemp("conformance") / "outcomes.json"
    arguments = ["run", "--py", "scalify_hlo.rewrite:rewrite_module", "--path", ROOT, "--json", report, "--quiet"]
    sample = [] if os.environ.get("SCALIFY_CONFORMANCE") == "all" else SAMPLE
    subprocess.run(
        [sys.executable, harness, *arguments, *sample],
        env=os.environ | {"JAX_PLATFORMS": "cpu", "PYTHONDONTWRITEBYTECODE": "1"},
        stdout=subprocess.DEVNULL,
        check=True,
        timeout=600,
    )
    return json.loads(report.read_text())


def test_results_are_those_of_the_original(outcomes: list[dict[str, Any]]) -> None:
    """Under three sets of scales, on the reference interpreter (XLA:CPU for what that cannot run)."""
    assert len(outcomes) >= 300
    backends = [(o["id"], backend, o[backend]) for o in outcomes for backend in ("interp", "xla") if backend in o]
    assert len(backends) >= 300
    wrong = [
        f"{name} [{backend}]: {verdict['class']} {verdict.get('msg', '')}"
        for name, backend, verdict in backends
        if verdict["class"] not in ("exact", "1ulp", "tol")
    ]
    assert not wrong, "\n".join(wrong)


def test_homogeneous_f16_programs_hold_values_out_of_range(outcomes: list[dict[str, Any]]) -> None:
    """Scales of 2^24, 2^-36, 2^60 and mixed ones: the values do not fit f16, the results must be right."""
    scaled = [(o["id"], o["scaled"]) for o in outcomes if "scaled" in o]
    assert len(scaled) >= 20
    wrong = [
        f"{name}: {variants['variants']} {variants.get('msg', '')}"
        for name, variants in scaled
        if any(verdict != "ok" for verdict in variants["variants"].values())
    ]
    assert not wrong, "\n".join(wrong)


def test_homogeneous_programs_work_on_the_data(outcomes: list[dict[str, Any]]) -> None:
    """Every scale reaches the result; nearly no operation sees an unscaled value (comparisons and atan2 may, in f32).

    An operation works on the data when multiplying all scales by the same number does not change its value.
    """
    scaled = [(o["id"], o["scaled"]) for o in outcomes if "data_ops" in o.get("scaled", {})]
    assert len(scaled) >= 20
    dropped = [
        f"{name}: {s['results_scaled']} of {s['results']} results have the arguments' scales"
        for name, s in scaled
        if s["results_scaled"] != s["results"]
    ]
    assert not dropped, "\n".join(dropped)
    on_data, operations = (sum(s[key] for _, s in scaled) for key in ("ops_on_data", "data_ops"))
    assert on_data >= 0.95 * operations
