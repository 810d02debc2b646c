"""The fuzzer of presets finds what it is for, and some of its programs pass."""

import pytest

from tests.fuzz.jax_programs import Argument, Program
from tests.fuzz.presets import PresetCase, case, judge
from tests.fuzz.training import draw_training


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_random_steps_in_presets(k: int) -> None:
    assert judge(case(1, k)) == "ok"


def test_a_case_is_always_the_same() -> None:
    assert case(3, 17) == case(3, 17) != case(3, 18)
    assert draw_training(3, 4, forward=True).results == ("v0",)


def test_a_wrong_scale_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scales of tanh, moved away from their data without a word."""
    from scalify_hlo.rules.oprewrite import OpRewrite

    declare = OpRewrite.result

    def wrong(self, scale, *others, **named):
        return declare(self, scale.shifted(1) if self.name == "stablehlo.tanh" else scale, *others, **named)

    monkeypatch.setattr(OpRewrite, "result", wrong)
    arguments = Argument("a0", (4, 4), "float32"), Argument("a1", (4, 4), "float32")
    program = Program(arguments, ((("v0",), "jnp.tanh(a0 @ a1)"),), ("v0",))
    assert judge(PresetCase(program, "fp16", "", 0)).startswith("wrong")


@pytest.mark.parametrize("options", ["", "rules=paper"])
@pytest.mark.parametrize("line", ["jnp.ldexp(a0, 3)", "jnp.frexp(jnp.tanh(a0))[0]"])
def test_choices_between_far_multiples_of_a_tensor_in_f32(line: str, options: str) -> None:
    """2^23 x : x is f32 beside f16, and is rounded to f16 next: at the scale of 2^23 x, x had one digit."""
    program = Program((Argument("a0", (3, 4), "float32"),), ((("v0",), line),), ("v0",))
    assert judge(PresetCase(program, "fp16", options, 0)) == "ok"


def test_products_of_complex_numbers_have_no_fp8_operands() -> None:
    """What a preset may lose was to be measured with their operands rounded as floats: an error of MLIR."""
    program = Program((Argument("a0", (4, 4), "float32"),), ((("v0",), "((a0 + 1j) @ (a0 - 1j)).real"),), ("v0",))
    assert judge(PresetCase(program, "fp8", "", 0)) == "ok"


@pytest.mark.parametrize("f", ["jnp.tanh", "jnp.sin", "jnp.arctan"])
@pytest.mark.parametrize("precision", ["fp16", "fp8"])
def test_small_state_to_which_a_function_of_it_is_added(precision: str, f: str) -> None:
    """c/2 + f(c) in a loop was as large as the bound of f: gradients of 1/|c| were infinite in f16."""
    arguments = tuple(Argument(f"a{i}", (4, 4), "float32", "small" if i else "normal") for i in range(3))
    state = f"lax.fori_loop(0, 3, lambda i, c: c * 0.5 + {f}(c), a1 @ a2 * 2.0 ** -6)"
    lines = (
        (("v0",), f"jax.grad(lambda a1: jnp.sum(a0 / jnp.linalg.norm({state}, axis=-1, keepdims=True)))(a1)"),
        (("v1",), f"jnp.tanh({state} + {f}({state}))"),
    )
    program = Program(arguments, lines, ("v0", "v1"))
    assert judge(PresetCase(program, precision, "", 3)) == "ok"
