"""A step's state comes out as it went in: the same tree, kinds of leaves, types and shapes, of data and of scales."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo as sc

X = np.random.default_rng(0).standard_normal((8, 4)).astype(np.float32)


def _kinds(tree: Any) -> Any:
    """Structure of a tree, with ScaledArrays as nodes, and types and shapes of its arrays."""
    leaves, structure = jax.tree.flatten(tree)
    return structure, [(str(x.dtype), np.shape(x)) if hasattr(x, "dtype") else x for x in leaves]


def _state() -> dict[str, Any]:
    rng = np.random.default_rng(1)
    w = {"a": rng.standard_normal((4, 8)) / 2, "b": rng.standard_normal((8, 2)) / 3}
    w = {k: v.astype(np.float32) for k, v in w.items()}
    m = {k: np.zeros_like(v) for k, v in w.items()}
    return {
        "w": w, "m": m, "stats": {"mean": np.zeros(8, np.float32), "seen": np.zeros(8, np.float32)}, "nothing": None,
        "count": jnp.int32(0), "key": jax.random.key(0), "bits": jax.random.PRNGKey(1), "decay": np.float32(0.9),
    }  # fmt: skip


def _step(state: dict[str, Any], x: jax.Array) -> tuple[dict[str, Any], jax.Array]:
    """A mean of batch normalisation, one that is reset, a count, keys, and a number that only counts steps."""
    key, drawing = jax.random.split(state["key"])

    def loss(w: Any) -> Any:
        h = x @ w["a"] + 1e-3 * jax.random.normal(drawing, (8, 8))
        mean = jnp.mean(h, axis=0)
        return jnp.mean((jnp.tanh(h - mean) @ w["b"] - x[:, :2]) ** 2), mean

    (value, mean), g = jax.value_and_grad(loss, has_aux=True)(state["w"])
    m = jax.tree.map(lambda m, g: state["decay"] * m + 0.1 * g, state["m"], g)
    return {
        "w": jax.tree.map(lambda w, m: w - 0.1 * m, state["w"], m), "m": m,
        "stats": {"mean": 0.9 * state["stats"]["mean"] + 0.1 * mean, "seen": jnp.zeros(8)},
        "nothing": None, "count": state["count"] + 1, "key": key, "bits": state["bits"], "decay": jnp.float32(0.9),
    }, value  # fmt: skip


@pytest.mark.parametrize("precision", [None, "fp16", "fp8-fp16-state", "bf16"])
def test_structure_is_a_fixed_point(precision: str | None) -> None:
    """Zeros that are reset and numbers that do not depend on the state stay ScaledArrays."""
    run = sc.scalify(_step, precision=precision)
    state, x = run.stored(*sc.as_scaled_array((_state(), X)))
    assert _kinds(run.eval_shape(state, x)[0]) == _kinds(state)


def test_reset_values() -> None:
    """Zeros have the smallest scale, so that they lose every maximum; other numbers one near them."""

    def step(state: dict[str, Any]) -> dict[str, Any]:
        return {"w": 2 * state["w"], "z": jnp.zeros(3), "c": jnp.full(3, 2.0**20)}

    state = sc.as_scaled_array({"w": np.ones(3, np.float32), "z": np.ones(3, np.float32), "c": np.ones(3, np.float32)})
    state = sc.scalify(step)(state)
    assert float(state["z"].scale) == 2.0**-126 and not np.any(state["z"].data)
    assert float(state["c"].scale) == 2.0**20 and np.all(np.asarray(state["c"]) == 2.0**20)
    assert np.all(np.asarray(state["w"]) == 2)


def test_shaped_scales() -> None:
    """A scale for each layer stays one for each layer where the new value has a single one."""

    def step(state: tuple[Any, ...]) -> tuple[Any, ...]:
        return state[1] + jnp.zeros((2, 4, 4)), state[1]

    layers = sc.ScaledArray(np.ones((2, 4, 4), np.float32), np.float32([1, 2]).reshape(2, 1, 1))
    state = (layers, sc.as_scaled_array(np.ones((2, 4, 4), np.float32)))
    assert _kinds(sc.scalify(step).eval_shape(state)) == _kinds(state)
    new = sc.scalify(step)(state)
    assert np.all(np.asarray(new[0]) == 1)


def test_plain_state_beside_scaled_parameters() -> None:
    """Moments made before the parameters were scaled: `stored` scales what comes back scaled, and nothing else."""
    state = _state()
    state["w"] = sc.as_scaled_array(state["w"])
    run = sc.scalify(_step, precision="fp16")
    state, x = run.stored(state, X)
    assert isinstance(state["m"]["a"], sc.ScaledArray) and isinstance(state["stats"]["mean"], sc.ScaledArray)
    assert not isinstance(x, sc.ScaledArray) and not isinstance(state["stats"]["seen"], sc.ScaledArray)
    assert _kinds(run.eval_shape(state, x)[0]) == _kinds(state)


def test_derivatives_and_layers_are_no_state() -> None:
    """A single result of its argument's shape is what it was: plain where it was computed from nothing scaled."""
    x = sc.as_scaled_array(np.ones(3, np.float32))
    assert not isinstance(sc.scalify(lambda x: jnp.zeros(x.shape))(x), sc.ScaledArray)


@jax.tree_util.register_pytree_node_class
class _Module:
    """A module as equinox has them: its activation is a leaf, its name is static."""

    def __init__(self, w: Any, activation: Any, name: str):
        self.w, self.activation, self.name = w, activation, name

    def tree_flatten(self) -> Any:
        return (self.w, self.activation), self.name

    @classmethod
    def tree_unflatten(cls, name: str, children: Any) -> "_Module":
        return cls(*children, name)


def test_leaves_that_are_no_arrays() -> None:
    """Functions and texts among the leaves go in and come out; another one is another program."""

    def step(model: _Module, x: jax.Array) -> tuple[_Module, jax.Array]:
        return _Module(model.w / 2, model.activation, model.name), jnp.sum(model.activation(x @ model.w))

    run = sc.scalify(step)
    model = sc.as_scaled_array(_Module(np.eye(4, dtype=np.float32), jnp.tanh, "m"))
    new, y = run(model, X)
    assert isinstance(new, _Module) and new.activation is jnp.tanh and new.name == "m"
    np.testing.assert_allclose(float(y), np.sum(np.tanh(X)), rtol=1e-5)
    assert _kinds(run.eval_shape(new, X)[0]) == _kinds(model) == _kinds(new)
    np.testing.assert_allclose(float(run(_Module(new.w, jnp.abs, "m"), X)[1]), np.sum(np.abs(X / 2)), rtol=1e-5)
    assert "tanh" in run.lower(new, X).as_text()
    with pytest.raises(TypeError, match="user"):
        sc.scalify(_raises)(model, X)


def _raises(*_: Any) -> None:
    raise TypeError("of the user")


def test_equinox_module() -> None:
    """A module of equinox as it is: trained by optax, state stored in f16, compiled once."""
    equinox = pytest.importorskip("equinox", reason="equinox is not installed")
    optax = pytest.importorskip("optax", reason="optax is not installed")
    model = equinox.nn.MLP(4, 2, 8, 1, key=jax.random.key(0))
    optimizer = optax.adam(1e-2)
    state = optimizer.init(equinox.filter(model, equinox.is_array))

    def step(model: Any, state: Any, x: Any) -> Any:
        loss = lambda model: jnp.mean((jax.vmap(model)(x) - x[:, :2]) ** 2)  # noqa: E731
        value, g = equinox.filter_value_and_grad(loss)(model)
        updates, state = optimizer.update(g, state)
        return equinox.apply_updates(model, updates), state, value

    run = sc.scalify(step, precision="fp8-fp16-state")
    model, state, x = run.stored(*sc.as_scaled_array((model, state, X)))
    losses = []
    for _ in range(3):
        kinds = _kinds((model, state))
        model, state, loss = run(model, state, x)
        assert _kinds((model, state)) == kinds
        losses.append(float(loss))
    assert losses[-1] < losses[0]
    assert run.jitted._cache_size() == 1
    assert model.layers[0].weight.dtype == np.float16 and callable(model.activation)
