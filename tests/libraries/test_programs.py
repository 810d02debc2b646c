"""Training programs of public libraries: rewritten, they compute what they did, within their own rounding noise.

Those of libraries that are not installed are skipped: pip install 'scalify_hlo[libraries]'.
"""

from collections.abc import Callable

import jax
import numpy as np
import pytest

from scalify_hlo.bindings import ir, make_context
from scalify_hlo.execution.check import check_modules
from scalify_hlo.execution.options import CheckOptions
from scalify_hlo.rewrite import rewrite_module
from tests.libraries.programs import PROGRAMS, Program


@pytest.mark.filterwarnings("ignore")  # what the libraries do is not at issue here
@pytest.mark.parametrize("build", PROGRAMS, ids=lambda build: build.__name__)
def test_program_computes_what_it_did(build: Callable[[], Program]) -> None:
    """Scales up to 2^6 away from each argument's size; at least one result comes out with a scale of its own."""
    function, arguments = build()
    text = str(jax.jit(function, keep_unused=True).lower(*arguments).compiler_ir("stablehlo"))
    with make_context(), ir.Location.unknown():
        original, rewritten = ir.Module.parse(text), ir.Module.parse(rewrite_module(text))
        inputs = [np.asarray(leaf) for leaf in jax.tree.leaves(arguments)]
        report = check_modules(original, rewritten, inputs, CheckOptions(scales="jitter"))
    failures = report.comparison.failures()
    assert not failures, "\n".join(each.explanation() for each in failures)
    assert not report.notes, report.notes
