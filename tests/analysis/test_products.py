"""Which products are backward, of which layer, by name and by data flow."""

import collections
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from scalify_hlo.analysis.products import MatrixProduct, matrix_products
from scalify_hlo.bindings import ir, make_context
from tests.training_programs import Style, forward_text, train_step_text

# Per layer: q, k, v, o and two of the MLP; and the head.
LINEAR = ["wq", "wk", "wv", "wo", "w1", "w2"]


def classify(text: str) -> list[MatrixProduct]:
    with make_context():
        return matrix_products(ir.Module.parse(text))


def summary(products: list[MatrixProduct]) -> list[tuple[object, ...]]:
    return [(p.kind, p.lhs.is_gradient, p.rhs.is_gradient, p.is_head, p.batched, p.layer is not None) for p in products]


@pytest.mark.parametrize("names", [True, False])
def test_every_linear_layer_has_one_forward_and_two_backward_products(names: bool) -> None:
    products = classify(train_step_text("unrolled", names=names))
    roles = collections.Counter((p.weight, p.role) for p in products if not p.batched)
    weights = {weight for weight, _ in roles}
    assert len(weights) == 2 * len(LINEAR) + 1
    expected = ("forward", "gradient of the input", "gradient of the weight")
    assert roles == {(weight, role): 1 for weight in weights for role in expected}


def test_weights_are_named_as_jax_names_the_arguments() -> None:
    weights = {p.weight for p in classify(train_step_text()) if not p.batched}
    assert weights == {f"params['blocks'][{i}]['{w}']" for i in (0, 1) for w in LINEAR} | {"params['head']"}


@pytest.mark.parametrize(("location", "source"), [
    ('"jit(f)/layer/dot_general"("f.py":3:5)', "f.py:3:5 [jit(f)/layer/dot_general]"),
    ('"jit(f)/layer/dot_general"', "[jit(f)/layer/dot_general]"), ('"f.py":3:5', "f.py:3:5"),
])  # fmt: skip
def test_a_product_tells_where_it_stands_and_what_it_is_called(location: str, source: str) -> None:
    kind = "tensor<4x4xf32>"
    (product,) = classify(f"""func.func public @main(%x: {kind}) -> {kind} {{
  %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : ({kind}, {kind}) -> {kind} loc({location})
  return %0 : {kind}
}}""")
    assert product.source == source


def test_attention_products_are_batched_and_each_has_two_gradients() -> None:
    products = [p for p in classify(train_step_text()) if p.batched]
    assert collections.Counter(p.kind for p in products) == {"forward": 4, "backward": 8}
    for product in products:
        assert product.layer is not None and product.layer.kind == "forward"


def test_the_head_is_the_layer_that_no_other_depends_on() -> None:
    heads = [p for p in classify(train_step_text()) if p.is_head]
    assert [p.weight for p in heads] == ["params['head']"] * 3


@pytest.mark.parametrize("style", ["unrolled", "remat", "scan"])
def test_data_flow_finds_what_names_say(style: Style) -> None:
    named = classify(train_step_text(style))
    assert {p.evidence for p in named} == {"names"}
    nameless = classify(train_step_text(style, names=False))
    assert {p.evidence for p in nameless} == {"data flow"}
    assert summary(named) == summary(nameless)


def test_recomputed_products_are_forward() -> None:
    plain = collections.Counter(p.kind for p in classify(train_step_text("unrolled")))
    remat = collections.Counter(p.kind for p in classify(train_step_text("remat")))
    assert remat["backward"] == plain["backward"]
    assert remat["forward"] > plain["forward"]


def test_a_forward_pass_alone_has_no_gradients() -> None:
    assert {p.kind for p in classify(forward_text())} == {"forward"}


def test_the_two_operands_of_a_backward_product_may_stand_in_either_order() -> None:
    text = """
    func.func @main(%x: tensor<8x4xf32>, %w: tensor<4x2xf32>) -> (tensor<4x2xf32>, tensor<2x4xf32>) {
      %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
         : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
      %dy = stablehlo.tanh %y : tensor<8x2xf32>
      %dw = stablehlo.dot_general %x, %dy, contracting_dims = [0] x [0]
         : (tensor<8x4xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
      %dwt = stablehlo.dot_general %dy, %x, contracting_dims = [0] x [0]
         : (tensor<8x2xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
      return %dw, %dwt : tensor<4x2xf32>, tensor<2x4xf32>
    }"""
    _, right, left = classify(text)
    assert (right.lhs.is_gradient, right.rhs.is_gradient) == (False, True)
    assert (left.lhs.is_gradient, left.rhs.is_gradient) == (True, False)


def test_products_with_a_shared_input_are_not_taken_for_backward_ones() -> None:
    text = """
    func.func @main(%x: tensor<8x4xf32>, %q: tensor<4x4xf32>, %k: tensor<4x4xf32>) -> tensor<8x8xf32> {
      %a = stablehlo.dot_general %x, %q, contracting_dims = [1] x [0]
         : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
      %b = stablehlo.dot_general %x, %k, contracting_dims = [1] x [0]
         : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
      %s = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1]
         : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x8xf32>
      return %s : tensor<8x8xf32>
    }"""
    assert [p.kind for p in classify(text)] == ["forward"] * 3


def test_a_derivative_that_the_loss_is_computed_from_is_forward() -> None:
    def energy(x: jax.Array, w: jax.Array, v: jax.Array) -> jax.Array:
        return jnp.sum(jnp.tanh(jnp.tanh(x @ w) @ w) @ v)

    def loss(w: jax.Array, v: jax.Array, x: jax.Array) -> jax.Array:
        force: Any = jax.grad(energy)(x, w, v)
        return jnp.mean(jnp.square(force))

    w, v, x = jnp.ones((8, 8)), jnp.ones((8, 4)), jnp.ones((16, 8))
    text = jax.jit(jax.grad(loss)).lower(w, v, x).as_text(debug_info=True)
    products = classify(text)
    values = [p for p in products if "/jvp(" in p.name]
    assert [p.kind for p in values if "transpose(" in p.name] == ["forward"] * 3
    assert not any(p.lhs.is_gradient or p.rhs.is_gradient for p in values)
    assert {p.kind for p in products if "/transpose(" in p.name} >= {"backward"}
    assert any(p.role == "gradient of the weight" for p in products)


def test_products_of_the_optimiser_are_no_layers_behind_the_head() -> None:
    def loss(w: jax.Array, v: jax.Array, x: jax.Array) -> jax.Array:
        return jnp.mean(jax.nn.logsumexp(jnp.tanh(x @ w) @ v, axis=1))

    def step(w: jax.Array, v: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        gradients: Any = jax.grad(loss, (0, 1))(w, v, x)
        gw, gv = gradients
        return w - gw @ (gw.T @ gw), v - gv @ (gv.T @ gv)  # as Muon does

    text = jax.jit(step).lower(jnp.ones((8, 6)), jnp.ones((6, 4)), jnp.ones((16, 8))).as_text(debug_info=True)
    heads = [p for p in classify(text) if p.is_head and "jvp(" in p.name]
    assert [(p.weight, p.kind) for p in heads] == [("v", "forward"), ("v", "backward"), ("v", "backward")]


def _picked(logits: jax.Array, labels: jax.Array) -> jax.Array:
    """Cross-entropy with the labels as a one-hot matrix, the batch being summed over."""
    return -jnp.vdot(jax.nn.log_softmax(logits), jax.nn.one_hot(labels, logits.shape[-1])) / len(labels)


def _smoothed(logits: jax.Array, labels: jax.Array) -> jax.Array:
    """One product for each sequence, as in a loss that walks over time."""
    return -jnp.einsum("bv,bv->b", jax.nn.log_softmax(logits), jax.nn.one_hot(labels, logits.shape[-1])).mean()


def _routed(logits: jax.Array, labels: jax.Array) -> jax.Array:
    """Rows of the logits gathered by a one-hot matrix from the left."""
    return -jnp.mean(jax.nn.one_hot(labels, logits.shape[0]) @ jax.nn.log_softmax(logits))


@pytest.mark.parametrize("loss", [_picked, _smoothed, _routed])
def test_what_labels_pick_from_logits_leaves_the_head_what_it_is(loss: Callable[..., jax.Array]) -> None:
    def step(w: jax.Array, v: jax.Array, x: jax.Array, labels: jax.Array) -> jax.Array:
        return loss(jnp.tanh(x @ w) @ v, labels)

    arguments = jnp.ones((32, 16)), jnp.ones((16, 24)), jnp.ones((40, 32)), jnp.zeros(40, jnp.int32)
    text = jax.jit(jax.grad(step, (0, 1))).lower(*arguments).as_text(debug_info=True)
    products = classify(text)
    assert {(p.weight, p.kind) for p in products if p.is_head} == {("v", "forward"), ("v", "backward")}
    assert not any(p.is_head for p in products if p.weight == "w")


def _plain(w: jax.Array) -> jax.Array:
    return w


def _of_spectral_norm(w: jax.Array) -> jax.Array:
    """As discriminators have their weights: divided by a product's norm."""
    return w / jnp.linalg.norm(jnp.ones(w.shape[0]) @ w)


def _heads(loss: Callable[..., jax.Array], *arguments: jax.Array) -> set[str]:
    """The weights whose forward products are heads."""
    text = jax.jit(jax.grad(loss, (0, 1))).lower(*arguments).as_text(debug_info=True)
    return {p.weight for p in classify(text) if p.is_head and p.kind == "forward"}


def test_what_similarities_are_computed_of_is_a_head() -> None:
    def loss(w: jax.Array, v: jax.Array, x: jax.Array) -> jax.Array:
        embedding = jnp.tanh(x @ w) @ v
        return jnp.mean(jax.nn.logsumexp(embedding @ embedding.T, axis=1))

    assert "v" in _heads(loss, jnp.ones((8, 6)), jnp.ones((6, 4)), jnp.ones((16, 8)))
    assert "w" not in _heads(loss, jnp.ones((8, 6)), jnp.ones((6, 4)), jnp.ones((16, 8)))


@pytest.mark.parametrize("weight", [_plain, _of_spectral_norm])
def test_layers_whose_weights_are_computed_are_layers(weight: Callable[[jax.Array], jax.Array]) -> None:
    def loss(w: jax.Array, v: jax.Array, x: jax.Array) -> jax.Array:
        return jnp.mean(jax.nn.logsumexp(jnp.tanh(x @ w) @ weight(v), axis=1))

    assert "w" not in _heads(loss, jnp.ones((8, 6)), jnp.ones((6, 4)), jnp.ones((16, 8)))
