"""The fuzzer of programs finds what is wrong and makes it small; a sample of its programs; what it has found.

More of them, with a new seed each day: `make nightly`.
"""

import dataclasses

import numpy as np
import pytest

from scalify_hlo.rules import registry
from scalify_hlo.rules.oprewrite import OpRewrite
from tests.fuzz.jax_programs import Argument, Program, draw
from tests.fuzz.judge import Case, judge
from tests.fuzz.programs import case, smaller

X = Argument("a0", (3, 4), "float32")


def program(*lines: str, arguments: tuple[Argument, ...] = (X,), results: tuple[str, ...] = ()) -> Program:
    named = tuple(((f"v{i}",), line) for i, line in enumerate(lines))
    return Program(arguments, named, results or (f"v{len(lines) - 1}",))


@pytest.mark.parametrize("part", range(4))
def test_a_sample_of_programs(part: int) -> None:
    """What is not "ok" is refused by JAX, or computes beyond what f32 holds."""
    for k in range(12 * part, 12 * part + 12):
        outcome = judge(case(11, k))
        assert outcome.split(":")[0] in ("ok", "no program", "outside"), f"seed 11, k={k}: {outcome}"


def test_a_sample_of_nested_programs() -> None:
    """The second kind, tests/fuzz/nests.py."""
    for k in range(8):
        outcome = judge(case(11, k, nests=True))
        assert outcome.split(":")[0] in ("ok", "no program", "outside"), f"seed 11, k={k}: {outcome}"


def test_programs_are_reproducible_and_varied() -> None:
    assert draw(3, 5) == draw(3, 5)
    sources = {draw(3, k).source() for k in range(20)}
    assert len(sources) > 15
    assert len({a.dtype for k in range(20) for a in draw(3, k).arguments}) >= 3


@pytest.fixture
def wrong_tanh(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule that forgets the scale of its operand."""
    registry.load()
    monkeypatch.setitem(registry._rules, "stablehlo.tanh", registry.rules()["stablehlo.tanh"])

    @registry.rule("tanh", family="nonlinear", law="wrong", scale="s", replace=True)
    def _wrong(r: OpRewrite) -> None:
        x = r.scaled(0)
        r.set_operand(0, x.data)
        r.result(x.scale)


@pytest.mark.usefixtures("wrong_tanh")
def test_a_wrong_rule_is_found_and_the_program_made_small() -> None:
    long = program("jnp.tanh(a0)", "jnp.sin(a0)", "v0 @ v0.T + v1.sum()", "v2 * 2 + 1", results=("v3", "v0"))
    found = Case(long, "on-unsupported=unscale rounding=up", 0)
    outcome = judge(found)
    assert outcome.startswith("wrong")
    small = smaller(found, outcome)
    assert judge(small).startswith("wrong")
    assert [expression for _, expression in small.program.lines] == ["jnp.tanh(a0)"] or len(small.program.lines) == 3
    assert small.options == "on-unsupported=unscale"


def test_what_a_program_does_not_determine_is_not_wrong() -> None:
    """The sign of a difference that cancels in f16."""
    x = dataclasses.replace(X, dtype="float16")
    undetermined = program("jnp.sum(a0 * 1.001) - jnp.sum(a0) * 1.001", "jnp.where(v0 > 0, 1.0, 2.0)", arguments=(x,))
    assert {judge(Case(undetermined, "", seed)) for seed in range(4)} == {"ok"}


def test_a_result_of_which_the_original_has_only_overflows_is_as_exact_as_its_coarsest_type() -> None:
    """An f32 sum of f16 products that are infinite in the original: the rewritten products are rounded to f16."""
    x = Argument("a0", (8, 8), "float16", "huge")
    assert judge(Case(program("(a0.T @ a0).astype(jnp.float32) * 1.5", arguments=(x,)), "", 0)) == "ok"


def test_what_is_computed_of_a_bound_that_f16_does_not_hold_is_infinite_in_the_original() -> None:
    """The sum is -inf there, -1e9 in f64, and in ours what is left of the mask: nothing to compare."""
    x = Argument("a0", (2, 2), "float16", "positive")
    sums = program("jnp.where(jnp.tri(2) > 0, a0, -1e9)", "v0.sum(1, dtype=jnp.float32) * v0[:, 1]", arguments=(x,))
    assert judge(Case(sums, "", 271)).split(":")[0] in ("ok", "outside")


def test_units_below_the_normal_numbers_of_f16_are_its_smallest_number() -> None:
    x = Argument("a0", (8, 8, 2), "float16", "subnormal")
    line = "jnp.where(jnp.isfinite(a0), a0, -1.5).at[jnp.array([0, 0, 0])].min(2.0, mode='clip')"
    assert judge(Case(program(line, arguments=(x,)), "on-unsupported=unscale", 563)) == "ok"


def test_predicates_without_elements_have_no_scale() -> None:
    """They were scaled, and what reduced them did not verify."""
    empty = Argument("a0", (0, 4), "float32")
    for line in ("jnp.any(a0 * 2, axis=-1)", "jnp.sum(a0 > 1, axis=0)", "jnp.argmax(a0 * 3, axis=1)"):
        assert judge(Case(program(line, arguments=(empty,)), "", 0)) == "ok", line


def test_values_of_arguments() -> None:
    assert np.isnan(dataclasses.replace(X, shape=(64,), values="special").array(0)).any()
    assert not dataclasses.replace(X, values="zeros").array(0).any()
    assert Argument("a1", (3,), "bool").array(0).dtype == np.bool_


def test_scales_that_do_not_fit_narrow_data_are_told_from_wrong_laws() -> None:
    """Cubes of f16 data far above their scale. In f32 they have to be right, and with scales of the RMS in any type."""
    cube, narrow = "a0 * a0 * a0", dataclasses.replace(X, dtype="float16")
    assert judge(Case(program(cube, arguments=(narrow,)), "", 11, "jitter")).startswith("misfit")
    assert judge(Case(program(cube, arguments=(narrow,)), "", 11)) == "ok"
    assert judge(Case(program(cube), "", 11, "jitter")) == "ok"


def test_what_is_computed_of_a_cast_to_f8_that_saturates_has_no_reference() -> None:
    x = Argument("a0", (5, 4), "bfloat16", "special")
    case = Case(program("jnp.sum(a0.astype(jnp.float8_e4m3fn), axis=1)", arguments=(x,)), "scale-dims=all=-1", 3)
    assert judge(case) == "outside: a cast to f8 that saturates"


def test_where_the_original_only_overflows_f64_measures_what_its_inputs_determine() -> None:
    """The remainder of a large number by a small one is any number below that."""
    x = Argument("a0", (), "float16", "special")
    lines = "jnp.square(jnp.ldexp(a0, 3))", "jnp.remainder(v0, 1e-6) ** -1"
    assert judge(Case(program(*lines, arguments=(x,)), "on-unsupported=unscale", 2517)) == "ok"
