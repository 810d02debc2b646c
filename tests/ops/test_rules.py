"""Every rule against the promises P1 to P6 of the design, on the programs of the table."""

import functools

import numpy as np
import pytest

from scalify_hlo.bindings import ir, make_context
from scalify_hlo.execution.element_types import Array
from scalify_hlo.execution.interpreter import interpret
from scalify_hlo.execution.signature import pair_arguments, pair_results
from scalify_hlo.options import ScalifyOptions
from scalify_hlo.rewrite import rewrite_module
from scalify_hlo.rules.registry import rules
from tests.ops.program import Program
from tests.ops.programs import PROGRAMS
from tests.support import RANGE_EXPONENTS, Evaluate, Rewritten, check_program, check_range, run_on_xla

# Families of operations whose result has a scale of its own, or no magnitude at all, whatever the operands' scales.
_SCALED_FAMILIES = frozenset(
    {"homogeneous", "multiplicative", "additive", "contraction", "accumulation", "selection", "predicate", "structural"}
)
_RUNNABLE = [p for p in PROGRAMS if not p.not_run]
_SCALED = [p for p in PROGRAMS if any(o.is_float for o in p.operands)]
# A signature is read of tensors of known shape alone, without tokens.
_READABLE = [p for p in _SCALED if "!" not in p.types and "?" not in p.types]


def _cases(programs: list[Program]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("program", programs, ids=lambda p: p.name)


def evaluator(program: Program) -> Evaluate:
    return interpret if program.interpreted else run_on_xla


def is_exact(program: Program) -> bool:
    """What the program's row says, else what the registry promises; XLA fuses and re-associates."""
    if program.exact is not None:
        return program.exact
    return program.interpreted and rules()[program.op].exact


def range_variants(program: Program) -> dict[str, tuple[int, ...]]:
    """The scales under which the program's law permits an f16 result."""
    permitted = program.range
    if permitted is None:
        permitted = rules()[program.op].family in _SCALED_FAMILIES
    if isinstance(permitted, bool):
        return RANGE_EXPONENTS if permitted else {}
    return {name: RANGE_EXPONENTS[name] for name in permitted}


def check(program: Program, element: str = "f32", arrays: list[Array] | None = None, **options: object) -> str:
    """Promises P1, P2 and P5."""
    return check_program(
        program.text(element),
        program.inputs(element) if arrays is None else arrays,
        exact=is_exact(program),
        options=ScalifyOptions(**options),  # type: ignore[arg-type]
        evaluate=evaluator(program),
    )


@_cases(_RUNNABLE)
def test_f32_results_have_the_same_bits(program: Program) -> None:
    check(program)


@_cases([p for p in _RUNNABLE if "f64" in p.elements])
def test_f64_results_have_the_same_bits(program: Program) -> None:
    check(program, "f64")


@_cases([p for p in _RUNNABLE if "bf16" in p.elements])
def test_bf16_results_have_the_same_bits(program: Program) -> None:
    check(program, "bf16")


@_cases([p for p in _RUNNABLE if "f16" in p.elements and range_variants(p)])
def test_f16_results_exist_where_values_are_out_of_its_range(program: Program) -> None:
    check_range(program.text("f16"), program.inputs("f16"), range_variants(program), evaluate=evaluator(program))


@pytest.mark.parametrize("value", ["0.0", "-0.0", "inf", "nan"])
@_cases([p for p in _RUNNABLE if any(o.is_float for o in p.operands)])
def test_constants_that_are_indifferent_to_scale(program: Program, value: str) -> None:
    for i, operand in enumerate(program.operands):
        if operand.is_float:
            check(program.with_constant(i, value))


@pytest.mark.parametrize("value", [0.0, -0.0, np.inf, np.nan])
@_cases([p for p in _RUNNABLE if any(o.is_float for o in p.operands)])
def test_arguments_of_zeros_infinities_and_nan(program: Program, value: float) -> None:
    """Zeros, infinities and NaN come out where they do in the original program, whatever their scale."""
    arrays = program.inputs()
    for i, array in enumerate(arrays):
        if array.dtype == np.float32:
            changed = list(arrays)
            changed[i] = np.full_like(array, value)
            check(program, arrays=changed)
            # A single one among other elements.
            if array.ndim:
                changed[i] = array.copy()
                changed[i].flat[1] = value
                check(program, arrays=changed)


@_cases([p for p in _RUNNABLE if sum(o.is_float for o in p.operands) > 1])
def test_plain_operands_meet_scaled_ones(program: Program) -> None:
    """On either side: one argument scaled and the others plain, then one plain and the others scaled."""
    arguments = [o for o in program.operands if o.value is None]
    floats = [i for i, o in enumerate(arguments) if o.is_float]
    for i in floats:
        check(program, args=str(i))
        if len(floats) > 2:
            check(program, args=",".join(str(j) for j in floats if j != i))


@pytest.mark.parametrize(
    "options",
    [{"rules": "paper"}, {"rounding": "nearest"}, {"rounding": "up"}, {"plain_results": True}, {"scale_dtype": "e8m0"}],
    ids=lambda options: "-".join(f"{k}={v}" for k, v in options.items()),
)
@_cases(_RUNNABLE)
def test_results_under_other_options(program: Program, options: dict[str, object]) -> None:
    check(program, **options)


@_cases([p for p in PROGRAMS if "scalify." not in p.functions])
def test_nothing_changes_without_scaled_arguments(program: Program) -> None:
    """Promise P4."""
    with make_context(), ir.Location.unknown():
        original = ir.Module.parse(program.text()).operation.get_asm(enable_debug_info=False)
    assert rewrite_module(program.text(), ScalifyOptions(args="none")) == original


@_cases(_READABLE)
def test_types_of_arguments_and_results(program: Program) -> None:
    """Promise P6: data keep shape and element type; scales are f32."""
    if program.not_run:
        pytest.skip(program.not_run)
    for element in program.elements:
        rewritten = Rewritten.of(program.text(element))
        for specs, pairings in (
            (rewritten.original.arguments, pair_arguments(rewritten.original, rewritten.signature)),
            (rewritten.original.results, pair_results(rewritten.original, rewritten.signature)),
        ):
            new = (
                rewritten.signature.arguments if specs == rewritten.original.arguments else rewritten.signature.results
            )
            for spec, pairing in zip(specs, pairings, strict=True):
                assert (new[pairing.data].shape, new[pairing.data].element_type) == (spec.shape, spec.element_type)
                assert (pairing.scale is not None) == (spec.is_float)
                if pairing.scale is not None:
                    assert (new[pairing.scale].shape, new[pairing.scale].element_type) == ((), "f32")


@functools.cache
def _rewritten_twice(text: str) -> tuple[str, str]:
    return rewrite_module(text), rewrite_module(text)


@_cases(_SCALED)
def test_output_is_deterministic(program: Program) -> None:
    first, second = _rewritten_twice(program.text())
    assert first == second
