"""`scalify-cast`: what a product gives a row in at most 4 numbers, and what is computed of them, stays in f32."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import scalify_hlo as sc
from scalify_hlo.bindings import ir, make_context
from scalify_hlo.passes.cast import Cast

GENERATOR = np.random.default_rng(0)
WEIGHTS = [np.float32(GENERATOR.standard_normal(shape) / np.sqrt(shape[0])) for shape in ((8, 32), (32, 32), (32, 2))]
X = np.float32(GENERATOR.standard_normal((64, 8)))
TARGETS = np.float32(np.sin(X[:, 0]))


def _far_from_zero(outputs: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.mean((outputs[:, 0] + 1000 - (y + 1000)) ** 2)


def _ranking(outputs: jax.Array, y: jax.Array) -> jax.Array:
    scores = outputs[:, 0] + 100
    return jnp.mean(jax.nn.softplus((scores[None] - scores[:, None]) * jnp.sign(y[:, None] - y[None])))


def _beta_density(outputs: jax.Array, y: jax.Array) -> jax.Array:
    a, b = 100 * jax.nn.softplus(outputs[:, 0]) + 1, 100 * jax.nn.softplus(outputs[:, 1]) + 1
    lgamma, fraction = jax.lax.lgamma, 0.5 + 0.4 * y
    terms = (a - 1) * jnp.log(fraction) + (b - 1) * jnp.log1p(-fraction) - (lgamma(a) + lgamma(b) - lgamma(a + b))
    return -jnp.mean(terms)


@pytest.mark.parametrize("loss", [_far_from_zero, _ranking, _beta_density])
def test_losses_whose_terms_cancel_have_gradients_of_f16_accuracy(loss: Callable[..., jax.Array]) -> None:
    """The errors were 0.087, 0.0048 and 0.00084 with outputs in f16, 0.00054 at most without."""

    def loss_of(weights: list[jax.Array], x: jax.Array, y: jax.Array) -> jax.Array:
        return loss(jnp.tanh(jnp.tanh(x @ weights[0]) @ weights[1]) @ weights[2], y)

    gradient = jax.grad(loss_of)
    wanted = jax.jit(gradient)(WEIGHTS, X, TARGETS)
    found = sc.scalify(gradient, precision="fp16")(*sc.as_scaled_array((WEIGHTS, X, TARGETS)))
    errors = [np.linalg.norm(np.asarray(a) - b) for a, b in zip(found, wanted, strict=True)]
    assert np.linalg.norm(errors) < 7e-4 * np.linalg.norm([np.linalg.norm(each) for each in wanted])


def _cast_types(function: Callable[..., jax.Array], *arguments: np.ndarray) -> str:
    with make_context():
        module = ir.Module.parse(jax.jit(function).lower(*arguments).as_text())
        Cast().apply(module, [])
        return module.operation.get_asm()


@pytest.mark.parametrize(("columns", "element"), [(4, "f32"), (5, "f16")])
def test_four_numbers_a_row_are_few(columns: int, element: str) -> None:
    weight = np.ones((32, columns), np.float32)
    text = _cast_types(lambda x, w: jnp.tanh(x @ w) * x[:, :columns], np.ones((64, 32), np.float32), weight)
    rounded = f"stablehlo.convert %2 : (tensor<64x{columns}xf32>) -> tensor<64x{columns}xf16>"
    assert "%2 = stablehlo.dot_general" in text and (rounded in text) == (element == "f16")
    assert f"tensor<32x{columns}xf16>" in text  # what the product reads is f16 all the same


def test_what_repeats_few_numbers_along_rows_is_not_few() -> None:
    text = _cast_types(
        lambda x, w: jnp.tanh(x * jnp.broadcast_to(x @ w, x.shape)) @ x.T,
        np.ones((64, 32), np.float32), np.ones((32, 1), np.float32),
    )  # fmt: skip
    assert "(tensor<64x32xf32>) -> tensor<64x32xf16>" in text.split("stablehlo.tanh")[1]


def test_arguments_of_one_number_a_row_are_read_as_they_are() -> None:
    text = _cast_types(lambda y: jnp.sum(jax.lax.lgamma(y + 1)), TARGETS)
    assert "f16" not in text
    assert "f16" in _cast_types(lambda y: jnp.sum((jnp.tanh(y) + y.sum()) @ y.T), X)


def _projected_covariances(points: jax.Array, deviations: jax.Array, camera: jax.Array) -> jax.Array:
    """Log densities of Gaussians that a camera sees, as in splatting: J C J^T and its determinant."""
    x, y, z = (points @ camera + jnp.float32([0, 0, 6])).T
    zeros = jnp.zeros_like(z)
    jacobian = jnp.stack([20 / z, zeros, -20 * x / z**2, zeros, 20 / z, -20 * y / z**2], -1).reshape(-1, 2, 3)
    root = camera.T * jnp.exp(deviations)[:, None]
    covariance = jacobian @ (root @ root.mT) @ jacobian.mT + 0.3 * jnp.eye(2)
    determinant = covariance[:, 0, 0] * covariance[:, 1, 1] - covariance[:, 0, 1] ** 2
    return jnp.mean(jnp.stack([x, y], -1) * covariance[:, 0] / determinant[:, None])


def _chain_of_poses(points: jax.Array, angles: jax.Array, camera: jax.Array) -> jax.Array:
    """Where the last body of a chain of joints is, from where it should be."""
    c, s, one = jnp.cos(angles), jnp.sin(angles), jnp.ones_like(angles)
    turns = jnp.stack([c, -s, 0 * c, s, c, 0 * c, 0 * c, 0 * c, one], -1).reshape(*angles.shape, 3, 3)
    pose = turns[:, 0]
    for joint in (1, 2):
        pose = pose @ camera @ turns[:, joint]
    end = jnp.einsum("bij,bj->bi", pose, points)
    return jnp.mean((end - jax.lax.stop_gradient(0.999 * end + 1e-3 * points)) ** 2)


def _innovations(points: jax.Array, noise: jax.Array, camera: jax.Array) -> jax.Array:
    """What a Kalman filter's measurement leaves of variances: P - K H P, differences of what is nearly alike."""
    root = camera * jnp.exp(noise)[:, None]
    before = root @ root.mT + 3 * jnp.eye(3)
    seen = jnp.einsum("bi,bij,bj->b", points, before, points) + 1e-2
    gain = jnp.einsum("bij,bj->bi", before, points) / seen[:, None]
    after = before - jnp.einsum("bi,bj,bjk->bik", gain, points, before)
    return jnp.mean(jnp.einsum("bi,bij,bj->b", points, after, points))


@pytest.mark.parametrize(
    ("loss", "error"), [(_projected_covariances, 1e-3), (_chain_of_poses, 2e-3), (_innovations, 0.15)]
)
def test_products_of_small_matrices_are_those_of_f32(loss: Callable[..., jax.Array], error: float) -> None:
    """In f16 the first was NaN, and the last, of which a ten thousandth is left, wrong by 35 and 116 times itself.

    What is left of rounded inputs depends on the draw: of 24 the median error is 3e-4, 8e-4 and 0.08, the largest 1e-3,
    3e-3 and 0.5. It is what rounding the inputs alone to f16 does to the f32 gradient, 0.7 to 1.1 times in the median.
    """
    gradient = jax.grad(loss, (0, 1))
    scaled, plain = sc.scalify(gradient, precision="fp16"), jax.jit(gradient)

    def rounded(x: np.ndarray) -> np.ndarray:
        return x.astype(np.float16).astype(np.float32)

    errors: list[float] = []
    ratios: list[float] = []
    for seed in range(9):
        generator = np.random.default_rng(seed)  # of its own: the module's has given what the tests before took
        points, others = np.float32(generator.standard_normal((2, 32, 3)))
        camera = np.linalg.qr(generator.standard_normal((3, 3)))[0].astype(np.float32)
        inputs = points, others - 1.5, camera
        wanted = plain(*inputs)
        errors.append(_error(scaled(*sc.as_scaled_array(inputs)), wanted))
        ratios.append(errors[-1] / _error(plain(*map(rounded, inputs)), wanted))
    assert np.median(errors) < error
    assert np.median(ratios) < 1.5


def _mixture(logarithms: jax.Array, means: jax.Array, x: jax.Array) -> jax.Array:
    """Densities of Gaussians in a plane that is turned, by determinants of their covariances."""
    turn = jnp.float32([[0.6, -0.8], [0.8, 0.6]])
    root = turn * jnp.exp(logarithms)[:, None]
    covariance = turn @ (root @ root.mT) @ turn.T
    (a, b), (_, c) = jnp.moveaxis(covariance, (1, 2), (0, 1))
    determinant = a * c - b * b
    u, v = jnp.moveaxis(x[:, None] - means, -1, 0)
    power = (c * u * u - 2 * b * u * v + a * v * v) / determinant
    return -jnp.mean(jax.nn.logsumexp(-0.5 * power - 0.5 * jnp.log(determinant), 1))


def _likelihood(logarithms: jax.Array, seen: jax.Array, x: jax.Array) -> jax.Array:
    """Of a Kalman filter with three states and two measurements, by the inverse of innovations' covariance."""
    moves = jnp.float32([[1, 1, 0], [0, 1, 1], [0, 0, 1]])

    def step(carry: tuple[jax.Array, jax.Array], y: jax.Array) -> tuple[tuple[jax.Array, jax.Array], jax.Array]:
        mean, covariance = carry
        mean, covariance = moves @ mean, moves @ covariance @ moves.T + jnp.diag(jnp.exp(logarithms[0]))
        s = seen @ covariance @ seen.T + jnp.diag(jnp.exp(logarithms[1, :2]))
        determinant = s[0, 0] * s[1, 1] - s[0, 1] * s[1, 0]
        inverse = jnp.stack([s[1, 1], -s[0, 1], -s[1, 0], s[0, 0]]).reshape(2, 2) / determinant
        error = y - seen @ mean
        gain = covariance @ seen.T @ inverse
        return (mean + gain @ error, covariance - gain @ s @ gain.T), error @ inverse @ error + jnp.log(determinant)

    def of(measured: jax.Array) -> jax.Array:
        return jnp.mean(lax.scan(step, (jnp.zeros(3), 1e-3 * jnp.eye(3)), measured)[1])

    return jnp.mean(jax.vmap(of)(x))


FAR = np.float32(-3 + 0.1 * np.random.default_rng(1).standard_normal((24, 2)))
SMALL = np.float32(-7 + 0.1 * np.random.default_rng(1).standard_normal((2, 3)))


@pytest.mark.parametrize("precision", ["fp16", "fp16-state"])
def test_products_of_small_matrices_may_be_far_from_their_estimates(precision: str) -> None:
    """Products of what is e^-3 are 2^8 times smaller than estimated, and quotients by their determinants larger: they
    were NaN where elements were computed in f16."""
    gradient = jax.grad(_mixture, (0, 1))
    inputs = FAR, 0.3 * X[:24, :2], 0.3 * X[:, 2:4]
    found = sc.scalify(gradient, precision=precision)(*sc.as_scaled_array(inputs))
    assert _error(found, jax.jit(gradient)(*inputs)) < 0.01


@pytest.mark.parametrize(
    ("loss", "inputs"),
    [
        (_mixture, (FAR, 0.3 * X[:24, :2], 0.3 * X[:, 2:4])),
        (_likelihood, (SMALL, np.float32([[1, 0, 0], [0, 1, 0.2]]), 0.03 * X[:, :, None] * np.float32([1, -1]))),
    ],
)
def test_steps_by_gradients_of_small_matrices_are_those_of_f32(
    loss: Callable[..., jax.Array], inputs: tuple[Any, Any, Any]
) -> None:
    """The first was NaN in `fp16`, and the second 1.7 times wrong: its gradient was 0."""
    gradients = jax.jit(jax.grad(loss, (0, 1)))(*inputs)
    rates = [float(np.linalg.norm(a) / np.linalg.norm(b)) for a, b in zip(inputs[:2], gradients, strict=True)]

    def step(state: tuple[jax.Array, jax.Array], x: jax.Array) -> tuple[tuple[jax.Array, ...], jax.Array]:
        value, gradient = jax.value_and_grad(loss, (0, 1))(*state, x)
        return tuple(a - r * b for a, b, r in zip(state, gradient, rates, strict=True)), value

    found = sc.scalify(step, precision="fp16")(*sc.as_scaled_array((inputs[:2], inputs[2])))[0]
    assert _error(found, jax.jit(step)((inputs[0], inputs[1]), inputs[2])[0]) < 0.01


def _error(found: Sequence[Any], wanted: Sequence[Any]) -> float:
    """The largest relative error of a gradient with respect to one argument."""
    return max(float(np.linalg.norm(np.asarray(a) - b) / np.linalg.norm(b)) for a, b in zip(found, wanted, strict=True))
