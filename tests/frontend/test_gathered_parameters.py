"""Values on four devices: functions of parameters that are gathered, and gradients of weights that are used twice."""

import pytest

from tests import four_devices
from tests.frontend.test_devices import PRELUDE

STEP = (
    PRELUDE
    + """
rows = NamedSharding(mesh, P("i"))
def advance(state, now, p):
    state = jnp.exp(-jnp.square(now) * jnp.exp(p)) * state + now * jax.nn.softplus(p)
    return state, None
def loss(p, w, x):
    for _ in range(2):
        x = x + jnp.tanh(x @ w)
    steps = jnp.stack([jnp.roll(x, t, 1) for t in range(4)])
    y = jax.lax.scan(lambda s, n: advance(s, n, p), jnp.zeros_like(x), steps)[0]
    return jnp.mean(jnp.square(y))
def step(p, w, x):
    g, h = jax.grad(loss, (0, 1))(p, w, x)
    return p - g, w - h, jax.lax.with_sharding_constraint(x, rows)
p, w = (np.float32(np.random.default_rng(0).standard_normal(n) / 4) for n in (16, (16, 16)))
expected = jax.jit(lambda *a: step(*a)[:2])(p, w, X)
"""
)
TOLERANCES = {"fp16": 3e-3, "fp8": 0.08}


@pytest.mark.parametrize("precision", TOLERANCES)
def test_updates_are_those_of_one_device(precision: str) -> None:
    four_devices.run(STEP + f"""
arguments = [sc.as_scaled_array(each) for each in (p, w, X)]
shardings = (rows, rows, rows)
train = sc.scalify(step, precision="{precision}", in_shardings=shardings, out_shardings=shardings)
found = train(*(jax.device_put(a, sc.scaled_shardings(s, a)) for a, s in zip(arguments, shardings)))[:2]
for start, own, right in zip((p, w), found, expected):
    update, whole = np.asarray(own, np.float32) - start, right - start
    assert np.linalg.norm(update - whole) < {TOLERANCES[precision]} * np.linalg.norm(whole), (update, whole)
""", 4)  # fmt: skip
