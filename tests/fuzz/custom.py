"""What random programs can name: JAX's modules, and functions with derivatives of their own."""

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax


@jax.custom_jvp
def _softened(x: Any) -> Any:
    return jnp.log1p(jnp.exp(-jnp.abs(x))) + jnp.maximum(x, 0)


@_softened.defjvp
def _softened_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    return _softened(x), jax.nn.sigmoid(x) * t


@jax.custom_vjp
def _straight_through(x: Any) -> Any:
    return jnp.round(x)


_straight_through.defvjp(lambda x: (jnp.round(x), None), lambda _, g: (g,))


@jax.custom_vjp
def _clipped_gradient(x: Any) -> Any:
    return x


_clipped_gradient.defvjp(lambda x: (x, None), lambda _, g: (jnp.clip(g, -0.5, 0.5),))


def _window(x: Any, operation: Any, initial: float, size: int, stride: int) -> Any:
    sizes = (1,) * (x.ndim - 1) + (size,)
    strides = (1,) * (x.ndim - 1) + (stride,)
    return lax.reduce_window(x, jnp.asarray(initial, x.dtype), operation, sizes, strides, "SAME")


def _attention(q: Any, k: Any, v: Any) -> Any:
    return jax.nn.softmax(q @ k.T / jnp.sqrt(jnp.asarray(q.shape[-1], q.dtype))) @ v


def _one_device(function: Any) -> Any:
    """Per-device code on a mesh of one device."""
    part = jax.sharding.PartitionSpec()
    return jax.shard_map(function, mesh=jax.make_mesh((1,), ("d",)), in_specs=part, out_specs=part)


def _spd(x: Any) -> Any:
    return x @ x.T + 2 * jnp.eye(x.shape[0], dtype=x.dtype)


NAMESPACE: dict[str, Any] = {
    "jax": jax, "jnp": jnp, "lax": lax, "nn": jax.nn,
    "special": jax.scipy.special, "softened": _softened, "straight_through": _straight_through,
    "clipped_gradient": _clipped_gradient, "window": _window, "attention": _attention, "spd": _spd,
    "one_device": _one_device,
}  # fmt: skip
