"""What entry functions take and return, and the pairing of data with scales."""

import pytest

from scalify_hlo.errors import ScalifyError
from scalify_hlo.execution.modules import as_module
from scalify_hlo.execution.signature import Pairing, Signature, TensorSpec, entry_signature, pair_results


def test_names_come_from_attributes_and_locations() -> None:
    text = """
      func.func public @main(%a: tensor<2xf32> loc("params['w']"), %b: tensor<i32>,
                             %c: tensor<f32> {scalify.name = "rate", scalify.role = "data"})
          -> (tensor<2xf32> {jax.result_info = "loss"}, tensor<i32>) {
        return %a, %b : tensor<2xf32>, tensor<i32>
      }"""
    signature = entry_signature(as_module(text))
    assert [spec.name for spec in signature.arguments] == ["params['w']", "arg1", "rate"]
    assert [spec.role for spec in signature.arguments] == ["", "", "data"]
    assert [spec.name for spec in signature.results] == ["loss", "result1"]
    assert str(signature.arguments[0]) == "tensor<2xf32>"
    assert str(signature.arguments[1]) == "tensor<i32>"


def specs(*types: str) -> tuple[TensorSpec, ...]:
    """`2x3:f32` or `:f32`, with `=data` or `=scale` for the role."""
    found: list[TensorSpec] = []
    for text in types:
        type_, _, role = text.partition("=")
        shape, element_type = type_.split(":")
        dimensions = tuple(int(size) for size in shape.split("x") if size)
        assert role in ("", "data", "scale")
        found.append(TensorSpec("value", dimensions, element_type, role))
    return tuple(found)


@pytest.mark.parametrize(
    ("original", "rewritten", "expected"),
    [
        ([":f32"], [":f32=data", ":f32=scale"], [(0, 1)]),
        # by type alone
        ([":f32", ":f32"], [":f32", ":f32", ":f32", ":f32"], [(0, 1), (2, 3)]),
        ([":f32", ":f32"], [":f32", ":f32"], [(0, None), (1, None)]),
        (["4:f16", ":i32", "2x2:bf16"], ["4:f16", ":f32", ":i32", "2x2:bf16", ":f32"], [(0, 1), (2, None), (3, 4)]),
        (["4:f16"], ["4:f16", ":f8E8M0FNU"], [(0, 1)]),
        (["4x2:f16"], ["4x2:f16", "4x1:f32"], [(0, 1)]),
        (["4:i32"], ["4:i32"], [(0, None)]),
        # roles decide where types would allow another reading
        ([":f32", ":f32"], [":f32", ":f32=data", ":f32=scale"], [(0, None), (1, 2)]),
        ([":f32", ":f32"], [":f32=data", ":f32=scale", ":f32"], [(0, 1), (2, None)]),
    ],
)
def test_pairing(original: list[str], rewritten: list[str], expected: list[tuple[int, int | None]]) -> None:
    pairings = pair_results(Signature((), specs(*original)), Signature((), specs(*rewritten)))
    assert list(pairings) == [Pairing(data, scale) for data, scale in expected]


@pytest.mark.parametrize(
    ("original", "rewritten", "message"),
    [
        ([":f32"], [":f32", ":f32", ":f32"], "are not those of the original"),
        ([":f32", ":f32"], [":f32"], "are not those of the original"),
        ([":i32"], [":i32", ":f32"], "are not those of the original"),
        (["4:f32"], ["4:f32", "2:f32"], "are not those of the original"),
        (["4:f32"], ["4:f16=data", ":f32=scale"], r"tensor<4xf32> in the original but tensor<4xf16>"),
        (["4:f32"], ["4:f32=data", "3:f32=scale"], r"tensor<3xf32> cannot be the scale"),
        (["4:f32"], ["4:f32=data", ":f16=scale"], r"tensor<f16> cannot be the scale"),
        (["4:f32"], [":f32=scale", "4:f32=data"], "does not follow one with role"),
        (["4:f32"], ["4:f32=data", ":f32=scale", ":f32=scale"], "does not follow one with role"),
    ],
)
def test_signatures_that_do_not_correspond_are_refused(original: list[str], rewritten: list[str], message: str) -> None:
    with pytest.raises(ScalifyError, match=message):
        pair_results(Signature((), specs(*original)), Signature((), specs(*rewritten)))


def test_thousands_of_results_are_paired() -> None:
    original, rewritten = specs(*["4:f32"] * 5000), specs(*["4:f32", ":f32"] * 5000)
    pairings = pair_results(Signature((), original), Signature((), rewritten))
    assert pairings[-1] == Pairing(9998, 9999)


def test_an_unknown_role_is_refused() -> None:
    text = 'func.func @main(%a: tensor<f32> {scalify.role = "factor"}) { return }'
    with pytest.raises(ScalifyError, match=r'scalify\.role = "factor"'):
        entry_signature(as_module(text))
