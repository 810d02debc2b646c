"""Losses that compute: solvers, factorisations, waves, distances, deviations; and steps without any product.

What a product reads of a solution is measured, wherever in the backward pass it stands; where a loss multiplies
matrices itself, its own products are; and what nothing multiplies is computed in f32, which 16 bits make no faster.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo as sc

_Tree = dict[str, Any]
_Program = tuple[Callable[..., Any], _Tree, tuple[Any, ...]]


def _weights(rng: np.random.Generator, *sizes: tuple[int, int]) -> _Tree:
    return {f"w{i}": np.float32(rng.standard_normal(size) / np.sqrt(size[0])) for i, size in enumerate(sizes)}


def truss(rng: np.random.Generator) -> _Program:
    """The sizing of a beam of 16 elements, in N and Pa: of the solution of a linear system the energy."""

    def stiffness(area: Any, u: Any) -> Any:
        force = 2.1e11 * area / 0.25 * (u - jnp.concatenate([jnp.zeros(1), u[:-1]]))
        return force - jnp.concatenate([force[1:], jnp.zeros(1)])

    def one(p: _Tree, load: Any) -> Any:
        area = 1e-4 * jax.nn.softplus(jax.nn.silu((load / 2500 - 1) @ p["w0"]) @ p["w1"])
        u, _ = jax.scipy.sparse.linalg.cg(lambda u: stiffness(area, u), load, tol=1e-6, maxiter=30)
        return jnp.sum(load * u) + 1e3 * jnp.sum(area)

    loads = np.float32(rng.uniform(0, 5000, (16, 16)))
    return lambda p, load: jnp.mean(jax.vmap(one, (None, 0))(p, load)), _weights(rng, (16, 32), (32, 16)), (loads,)


def registered(rng: np.random.Generator) -> _Program:
    """Point clouds in mm, turned onto each other by a decomposition of a matrix of 10^5 mm^2."""

    def one(p: _Tree, a: Any, b: Any, x: Any, y: Any) -> Any:
        f, g = (jnp.tanh(each @ p["w0"]) @ p["w1"] for each in (a, b))
        z = jax.nn.softmax(f @ g.T) @ y
        u, _, v = jnp.linalg.svd((x - x.mean(0)).T @ (z - z.mean(0)))
        return jnp.mean((x @ (u @ v).T - z) ** 2) / 1e3

    x = np.float32(rng.standard_normal((8, 16, 3)) * [80, 50, 30])
    turn = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    a = np.float32(rng.standard_normal((8, 16, 8)))
    data = a, np.float32(a + 0.1 * rng.standard_normal(a.shape)), x, np.float32(x @ turn.T)
    return lambda p, *b: jnp.mean(jax.vmap(one, (None, 0, 0, 0, 0))(p, *b)), _weights(rng, (8, 32), (32, 24)), data


def whitened(by: str) -> Callable[[np.random.Generator], _Program]:
    """What a layer gives, times the inverse root of its covariance."""

    def program(rng: np.random.Generator) -> _Program:
        def loss(p: _Tree, x: Any, y: Any) -> Any:
            z = x @ p["w0"]
            covariance = z.T @ z / len(z) + 1e-4 * jnp.eye(16)
            if by == "eigh":
                values, vectors = jnp.linalg.eigh(covariance)
                w = z @ ((vectors * jax.lax.rsqrt(values)) @ vectors.T)
            elif by == "solve":
                w = jnp.linalg.solve(covariance, z.T).T
            else:
                w = jax.scipy.linalg.solve_triangular(jnp.linalg.cholesky(covariance), z.T, lower=True).T
            return jnp.mean((jnp.tanh(w) @ p["w1"] - y) ** 2)

        data = np.float32(rng.standard_normal((128, 32))), np.float32(rng.standard_normal((128, 16)))
        return loss, _weights(rng, (32, 16), (16, 16)), data

    return program


def deviations(rng: np.random.Generator) -> _Program:
    """Layers with a normal prior: mean x m, deviation sqrt(x^2 softplus(s)^2), s of -3."""

    def loss(p: _Tree, x: Any, y: Any) -> Any:
        noise = jax.random.normal(jax.random.PRNGKey(0), (64, 32))
        h = jnp.tanh(x @ p["w0"] + jnp.sqrt((x * x) @ jax.nn.softplus(p["s"]) ** 2) * noise)
        return jnp.mean((h @ p["w1"] - y) ** 2)

    p = _weights(rng, (32, 32), (32, 16)) | {"s": np.full((32, 32), -3, np.float32)}
    return loss, p, (np.float32(rng.standard_normal((64, 32))), np.float32(rng.standard_normal((64, 16))))


def selective(rng: np.random.Generator) -> _Program:
    """A scan with step sizes softplus(x w + b), b of -5, and a gate in front of a product."""

    def loss(p: _Tree, x: Any, y: Any) -> Any:
        size = jax.nn.softplus(x @ p["w0"] + p["s"])
        h = jax.lax.associative_scan(
            lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (jnp.exp(-size), size * x), axis=1
        )[1]
        return jnp.mean(((h * jax.nn.silu(x @ p["w1"])) @ p["w2"] * 30 - y) ** 2)

    p = _weights(rng, (32, 32), (32, 32), (32, 16)) | {"s": np.full(32, -5, np.float32)}
    return loss, p, (np.float32(rng.standard_normal((4, 24, 32))), np.float32(rng.standard_normal((4, 24, 16))))


def interpolated(rng: np.random.Generator) -> _Program:
    """Features of the three nearest points, by inverse distances, 10^8 where points coincide."""

    def loss(p: _Tree, x: Any, y: Any, points: Any, places: Any) -> Any:
        distances = jnp.sum((places[:, None] - points[None]) ** 2, -1)
        nearest, i = jax.lax.top_k(-distances, 3)
        near = 1 / (-nearest + 1e-8)
        near = near / near.sum(1, keepdims=True)
        return jnp.mean((jnp.einsum("nk,nkd->nd", near, jax.nn.relu(x @ p["w0"])[i]) @ p["w1"] - y) ** 2)

    points = np.float32(rng.standard_normal((32, 3)))
    places = np.concatenate([points, np.float32(rng.standard_normal((96, 3)))])
    x, y = np.float32(rng.standard_normal((32, 32))), np.float32(rng.standard_normal((128, 16)))
    return loss, _weights(rng, (32, 64), (64, 16)), (x, y, points, places)


def pooled(rng: np.random.Generator) -> _Program:
    """Means of learnt powers with a guard, of channels some of which are dead in an image."""

    def loss(p: _Tree, x: Any, y: Any) -> Any:
        h = jax.nn.relu(jax.nn.relu(x @ p["w0"]) @ p["w1"])
        exponent = 1 + jax.nn.softplus(p["q"])
        return jnp.mean((jnp.mean(jnp.maximum(h, 1e-6) ** exponent, 1) ** (1 / exponent) @ p["w2"] - y) ** 2)

    x = np.float32(rng.standard_normal((32, 36, 16)))
    x[0] = 0.3 * x[0, :1] + 0.01 * x[0]
    p = _weights(rng, (16, 32), (32, 24), (24, 6)) | {"q": np.float32(1.85)}
    return loss, p, (x, np.float32(rng.standard_normal((32, 6))))


def squared(rng: np.random.Generator) -> _Program:
    """Eight steps of a linear map next to the identity, by squaring it: (1 + e W)^8."""

    def loss(p: _Tree, x: Any, y: Any) -> Any:
        power = jnp.linalg.matrix_power(jnp.eye(32) + 0.1 * p["w0"], 8)
        return jnp.mean((x @ power @ p["w1"] - y) ** 2)

    data = np.float32(rng.standard_normal((64, 32))), np.float32(rng.standard_normal((64, 16)))
    return loss, _weights(rng, (32, 32), (32, 16)), data


def product_of_many(rng: np.random.Generator) -> _Program:
    """Products of eight factors next to 1."""

    def loss(p: _Tree, x: Any, y: Any) -> Any:
        factors = 1 + 0.3 * jnp.tanh((x @ p["w0"]).reshape(64, 8, 8))
        return jnp.mean((jnp.prod(factors, 2) @ p["w1"] - y) ** 2)

    data = np.float32(rng.standard_normal((64, 32))), np.float32(rng.standard_normal((64, 16)))
    return loss, _weights(rng, (32, 64), (8, 16)), data


def nanometres(rng: np.random.Generator) -> _Program:
    """Squares of lengths of 10^-9, in units of 10^-18."""

    def loss(p: _Tree, x: Any, y: Any) -> Any:
        length = np.float32(1e-9) * jnp.tanh(jnp.tanh(x @ p["w0"]) @ p["w1"])
        return jnp.mean((length * length[:, ::-1] * np.float32(1e18) - y) ** 2)

    data = np.float32(rng.standard_normal((128, 32))), np.float32(rng.standard_normal((128, 16)))
    return loss, _weights(rng, (32, 64), (64, 16)), data


LAYERS: dict[str, Callable[[np.random.Generator], _Program]] = {
    "truss": truss, "registered": registered, "deviations": deviations, "selective": selective,
    "interpolated": interpolated, "nanometres": nanometres, "pooled": pooled, "squared": squared,
    "product": product_of_many,
    "cholesky": whitened("cholesky"), "eigh": whitened("eigh"), "solve": whitened("solve"),
}  # fmt: skip


def waves(damping: str) -> Callable[[np.random.Generator], _Program]:
    """The wave equation with damping, by leapfrog: the squared speed of each place is learnt."""

    def program(rng: np.random.Generator) -> _Program:
        damped: Any = np.float32(0.98) if damping == "number" else np.full((16, 16), 0.98, np.float32)

        def simulated(p: _Tree) -> Any:
            def step(carried: Any, source: Any) -> Any:
                u, before = carried
                around = sum(jnp.roll(u, shift, axis) for shift in (-1, 1) for axis in (0, 1))
                new = (2 * u - before + p["speed"] * (around - 4 * u)) * damped
                new = new.at[3, 8].add(source)
                return (new, u), new[3]

            t = np.arange(80) * 1e-3
            sources = np.float32(np.exp(-(((t - 0.02) / 0.005) ** 2)))
            return jax.lax.scan(step, (jnp.zeros((16, 16)), jnp.zeros((16, 16))), sources)[1]

        speed = np.full((16, 16), 0.06, np.float32)
        faster = {"speed": speed + np.float32(0.02 * rng.random((16, 16)))}
        return lambda p, y: jnp.sum((simulated(p) - y) ** 2), {"speed": speed}, (np.asarray(simulated(faster)),)

    return program


def hyperbolic(rng: np.random.Generator) -> _Program:
    """Distances in the Poincaré ball, of points next to its centre, one of which is met by all."""

    def loss(p: _Tree, pairs: Any) -> Any:
        u, v = p["points"][pairs[:, 0]], p["points"][pairs[:, 1]]
        ratio = jnp.sum((u - v) ** 2, -1) / ((1 - jnp.sum(u * u, -1)) * (1 - jnp.sum(v * v, -1)))
        return jnp.mean(jnp.arccosh(1 + 2 * ratio + 1e-7))

    pairs = np.stack([rng.integers(1, 64, 256), np.zeros(256, int)], 1).astype(np.int32)
    return loss, {"points": np.float32(rng.uniform(-1e-3, 1e-3, (64, 10)))}, (pairs,)


ALONE: dict[str, Callable[[np.random.Generator], _Program]] = {
    "damped": waves("number"), "absorbed": waves("mask"), "hyperbolic": hyperbolic,
}  # fmt: skip


def gradient_errors(program: _Program, precision: Any) -> dict[str, float]:
    loss, p, data = program

    def step(state: Any, *data: Any) -> Any:
        p, moment = state
        value, gradient = jax.value_and_grad(loss)(p, *data)
        moment = jax.tree.map(lambda m, g: 0.9 * m + g, moment, gradient)
        return (jax.tree.map(lambda p, m: p - 1e-3 * m, p, moment), moment), value

    state = p, jax.tree.map(np.zeros_like, p)
    expected = jax.jit(step)(state, *data)[0][1]
    scaled = sc.scalify(step, precision=precision)
    arguments = scaled.stored(*sc.as_scaled_array((state, *data)))
    (_, moment), _ = scaled(*arguments)
    found = {name: np.asarray(sc.asarray(moment[name], np.float32), np.float64) for name in p}
    return {
        name: float(np.linalg.norm(found[name] - expected[name]) / np.linalg.norm(np.asarray(expected[name])))
        for name in p
    }


@pytest.mark.parametrize(("precision", "most"), [("fp16", 0.015), ("fp8", 0.25)])
@pytest.mark.parametrize("name", LAYERS)
def test_gradients_of_layers(name: str, precision: Any, most: float) -> None:
    errors = gradient_errors(LAYERS[name](np.random.default_rng(0)), precision)
    assert max(errors.values()) < most, errors


@pytest.mark.parametrize("precision", ["fp16", "fp8"])
@pytest.mark.parametrize("name", ALONE)
def test_a_step_without_products_is_that_of_f32(name: str, precision: Any) -> None:
    errors = gradient_errors(ALONE[name](np.random.default_rng(0)), precision)
    assert max(errors.values()) < 1e-3, errors


# a_1 a_2 ... a_n, each of size 8, is 2^24: no scale of the factors says so
@pytest.mark.parametrize("precision", ["fp16", "fp8"])
@pytest.mark.parametrize("product", [jnp.prod, jnp.cumprod])
def test_a_product_over_a_dimension_is_not_rounded(product: Callable[..., Any], precision: Any) -> None:
    rng = np.random.default_rng(0)
    x, w = np.float32(rng.standard_normal((16, 32))), np.float32(1.5 * rng.standard_normal((32, 8)))

    def forward(w: Any, x: Any) -> Any:
        return product(x @ w, axis=1)

    wanted = np.asarray(forward(w, x))
    assert np.abs(wanted).max() > 2.0**17
    result = np.asarray(sc.asarray(sc.scalify(forward, precision=precision)(sc.as_scaled_array(w), x)))
    np.testing.assert_allclose(result, wanted, rtol=0, atol=0.01 * np.abs(wanted).max())
