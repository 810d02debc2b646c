"""The lines of which random programs consist: functions from a Builder to an expression."""

# ruff: noqa: E501 - tables
from collections.abc import Callable

from tests.fuzz.jax_programs import Builder

Template = Callable[[Builder], str]

_UNARY = (
    "-{x}", "jnp.abs({x})", "jnp.exp({x})", "jnp.exp2({x})", "jnp.log({x})", "jnp.log1p({x})", "jnp.expm1({x})",
    "jnp.tanh({x})", "jnp.sin({x})", "jnp.cos({x})", "jnp.tan({x})", "jnp.arctan({x})", "jnp.sinh({x})",
    "jnp.arcsinh({x})", "jnp.sqrt({x})", "lax.rsqrt({x})", "jnp.cbrt({x})", "jnp.square({x})", "jnp.sign({x})",
    "jnp.floor({x})", "jnp.ceil({x})", "jnp.round({x})", "jnp.trunc({x})", "1 / {x}", "lax.erf({x})", "lax.lgamma({x})",
    "lax.digamma({x})", "lax.erf_inv({x})", "lax.logistic({x})", "jnp.nan_to_num({x})", "{x} ** 2", "{x} ** 3",
    "{x} ** -1", "lax.integer_pow({x}, 5)", "jnp.clip({x}, -1, 1)", "jnp.clip({x}, 0, 448)", "lax.stop_gradient({x})",
    "lax.reduce_precision({x}, 8, 7)", "jnp.positive({x})", "jnp.sinc({x})", "lax.bessel_i1e({x})",
    "nn.relu({x})", "nn.relu6({x})", "nn.gelu({x})", "nn.gelu({x}, approximate=False)", "nn.silu({x})", "nn.elu({x})",
    "nn.selu({x})", "nn.softplus({x})", "nn.sigmoid({x})", "nn.log_sigmoid({x})", "nn.leaky_relu({x})",
    "nn.hard_tanh({x})", "nn.celu({x})", "nn.mish({x})", "nn.squareplus({x})", "nn.hard_swish({x})",
    "softened({x})", "straight_through({x})", "clipped_gradient({x})", "lax.optimization_barrier({x})",
    "jnp.isfinite({x})", "jnp.isnan({x})", "jnp.signbit({x})", "jnp.logical_not({x})", "{x}.astype(jnp.float32)",
    "jnp.frexp({x})", "jnp.modf({x})", "jnp.spacing({x})",
)  # fmt: skip
_BINARY = (
    "{x} + {y}", "{x} - {y}", "{x} * {y}", "{x} / {y}", "jnp.maximum({x}, {y})", "jnp.minimum({x}, {y})",
    "jnp.power(jnp.abs({x}), {y})", "jnp.arctan2({x}, {y})", "jnp.remainder({x}, {y})", "jnp.fmod({x}, {y})",
    "jnp.hypot({x}, {y})", "jnp.logaddexp({x}, {y})", "jnp.copysign({x}, {y})", "jnp.floor_divide({x}, {y})",
    "jnp.where({x} > {y}, {x}, {y})", "jnp.clip({x}, {y}, 2.0)", "{x} > {y}", "{x} == {y}", "{x} <= {y}", "{x} != {y}",
    "{y} - {x}", "{y} / {x}", "jnp.nextafter({x}, {y})", "jnp.heaviside({x}, {y})", "jnp.ldexp({x}, 3)",
    "jnp.where(jnp.isfinite({x}), {x}, {y})", "jnp.divmod({x}, {y})",
)  # fmt: skip
_ROWS = (
    "nn.softmax({x}, axis={n})", "nn.log_softmax({x}, axis={n})", "jnp.cumsum({x}, axis={n})",
    "jnp.cumprod({x}, axis={n})", "lax.cummax({x}, axis=0)", "lax.cumlogsumexp({x}, axis=0)", "jnp.sort({x}, axis={n})",
    "jnp.argsort({x}, axis={n})", "jnp.flip({x}, axis={n})", "jnp.roll({x}, 2, axis={n})", "nn.standardize({x}, axis={n})",
    "jnp.diff({x}, axis={n})", "jnp.repeat({x}, 2, axis={n})", "jnp.take({x}, jnp.array([0, 1, 0]), axis={n})",
    "jnp.expand_dims({x}, {n})", "jnp.concatenate([{x}, {x}], axis={n})", "jnp.stack([{x}, {x} * 2], axis={n})",
    "jnp.split({x}, [1], axis={n})", "jnp.moveaxis({x}, 0, {n})", "lax.associative_scan(jnp.add, {x}, axis={n})",
    "lax.associative_scan(lambda a, b: a * b, {x}, axis={n})", "{x} / jnp.linalg.norm({x}, axis={n}, keepdims=True)",
    "({x} - {x}.mean({n}, keepdims=True)) * lax.rsqrt({x}.var({n}, keepdims=True) + 1e-5)",
    "{x} * lax.rsqrt(jnp.mean(jnp.square({x}), {n}, keepdims=True) + 1e-6)",
    "lax.top_k({x}, 2)", "lax.sort(({x}, {x} * -2), dimension={n}, num_keys=1)", "nn.glu({x}, axis={n})",
    "jnp.gradient({x}, axis={n})", "jnp.median({x}, axis={n})", "jnp.quantile({x}, 0.3, axis={n})",
)  # fmt: skip
_REDUCTIONS = (
    "jnp.sum", "jnp.mean", "jnp.max", "jnp.min", "jnp.prod", "jnp.var", "jnp.std", "jnp.argmax", "jnp.argmin",
    "nn.logsumexp", "jnp.linalg.norm", "jnp.any", "jnp.all", "jnp.nansum", "jnp.nanmax", "jnp.count_nonzero", "jnp.ptp",
)  # fmt: skip
_MOVES = (
    "jnp.transpose({x})", "jnp.reshape({x}, -1)", "{x}[None]", "{x}[..., ::2]", "{x}[..., ::-1]", "{x}[0]", "{x}[-1:]",
    "jnp.squeeze({x})", "jnp.tile({x}, 2)", "jnp.triu({x})", "jnp.tril({x}, -1)", "jnp.diag({x})", "jnp.swapaxes({x}, 0, 1)",
    "jnp.pad({x}, 1)", "jnp.pad({x}, 1, mode='edge')", "jnp.pad({x}, 1, constant_values=2.0)",
    "lax.pad({x}, jnp.zeros((), {x}.dtype), [(1, -1, 1)] * {x}.ndim)", "jnp.broadcast_to({x}, (2, *{x}.shape))",
    "{x}.at[0].set(1.0)", "{x}.at[0].add({x}[-1])", "{x}.at[..., 0].mul(3.0)", "{x}.at[jnp.array([0, 0])].min(0.1)",
    "{x}.at[jnp.array([0, 1, 0])].add({x}[:1])", "{x}.at[jnp.array([1, 9])].max(0.3, mode='drop')",
    "jnp.take_along_axis({x}, jnp.argsort({x}, axis=-1), axis=-1)", "lax.dynamic_slice_in_dim({x}, 1, 1)",
    "lax.dynamic_update_slice_in_dim({x}, {x}[:1] * 2, 1, 0)", "jnp.rot90({x})", "jnp.unstack({x})[0]",
    "lax.bitcast_convert_type({x}, jnp.int32)", "jnp.trace({x})", "jnp.ravel({x})[jnp.array([0, -1])]",
)  # fmt: skip
_CONTRACTIONS = (
    "{x} @ {x}.T", "{x}.T @ {y}", "{x} @ {y}", "jnp.einsum('ij,kj->ik', {x}, {y})", "jnp.einsum('ij,ij->i', {x}, {y})",
    "jnp.einsum('...i,...i', {x}, {y})", "jnp.einsum('ij,ij->', {x}, {y})", "jnp.outer({x}, {y})", "jnp.vdot({x}, {y})",
    "jnp.tensordot({x}, {y}, 1)", "jnp.kron({x}, {y})", "attention({x}, {y}, {y})", "attention({x}, {x}, {x})",
    "jnp.einsum('bij,bkj->bik', {x}, {y})", "jnp.convolve({x}, {y})", "jnp.cov({x})", "jnp.einsum('ij->ji', {x})",
    "lax.dot_general({x}, {y}, (((0,), (0,)), ((), ())), preferred_element_type=jnp.float32)",
    "lax.conv_general_dilated({x}[None, None], {y}[None, None], (1, 1), 'SAME')",
    "lax.conv_general_dilated({x}[None, None], {y}[None, None], (1, 1), 'VALID', lhs_dilation=(2, 1))",
)  # fmt: skip
_LINEAR = (
    "jnp.linalg.cholesky(spd({x}))", "jnp.linalg.solve(spd({x}), {x})", "jnp.linalg.inv(spd({x}))",
    "jnp.linalg.det(spd({x}))", "jnp.linalg.slogdet(spd({x}))", "jnp.linalg.qr({x})",
    "lax.linalg.triangular_solve(spd({x}), {x}, left_side=True, lower=True)", "jnp.linalg.svd({x}, compute_uv=False)",
    "jnp.linalg.eigvalsh(spd({x}))", "jnp.fft.fft({x})", "jnp.fft.rfft({x})", "jnp.fft.irfft(jnp.fft.rfft({x}))",
    "jnp.real(jnp.fft.ifft({x}))", "jax.scipy.linalg.expm({x} * 0.1)",
)  # fmt: skip
_COMPLEX = (
    "{c} * {c}", "{c} + 1", "jnp.exp({c})", "jnp.abs({c})", "jnp.real({c})", "jnp.imag({c})", "jnp.conj({c})",
    "jnp.angle({c})", "jnp.sum({c})", "jnp.fft.fft({c})", "{c} / (1 + {c})", "jnp.sqrt({c})", "{c} @ {c}.T",
)  # fmt: skip
_INTEGERS = (
    "{i} + 1", "{i} * {i}", "{i} // 2", "{i} % 3", "{i} << 1", "{i} >> 1", "{i} ^ 5", "{i}.astype(jnp.float32)",
    "{i}.astype(jnp.float16)", "nn.one_hot({i}, 4)", "nn.one_hot({i}, 4, dtype=jnp.float16)", "jnp.sum({i})", "~{i}",
    "jnp.cumsum({i})", "lax.population_count({i})", "jnp.maximum({i}, 1)", "jnp.bincount(jnp.ravel({i}), length=4)",
    "jnp.arange(4.0)[{i} % 4]", "{i} * 0.5", "{i} > 1", "lax.clz({i})",
)  # fmt: skip
_TYPES = ("jnp.float32", "jnp.float16", "jnp.bfloat16", "jnp.int32", "jnp.int8", "jnp.bool_", "jnp.float8_e4m3fn",
          "jnp.float8_e5m2", "jnp.float64", "jnp.uint8", "jnp.complex64")  # fmt: skip
# Functions for the bodies of control flow and transformations; they keep the shape.
BODIES = (
    "jnp.tanh({x})", "{x} * {l}", "{x} + {y}", "{x} * {y}", "jnp.maximum({x}, {y})", "{x} * 0.5 + {y}", "nn.gelu({x})",
    "jnp.where({x} > {l}, {x}, {y})", "jnp.sin({x})", "nn.softmax({x})", "{x} - {x}.mean()", "{x} / (1 + jnp.abs({x}))",
    "lax.rsqrt(1 + jnp.square({x}))", "jnp.sqrt(jnp.abs({x}))", "{x} * {x}", "nn.relu({x})", "softened({x})", "jnp.exp(-jnp.abs({x}))",
    "clipped_gradient({x})", "jnp.cumsum({x}, -1)", "jnp.flip({x})", "jnp.sort({x})", "{x} / {y}",
)  # fmt: skip


def _one(texts: tuple[str, ...], low: int = 0) -> Template:
    def template(b: Builder) -> str:
        x = b.f(low)
        text = b.choice(*texts)
        n = b.axis(x) if "{n}" in text else 0
        return text.format(x=x, y=b.like(x) if "{y}" in text else "", n=n)

    return template


def _two(texts: tuple[str, ...]) -> Template:
    return lambda b: b.choice(*texts).format(x=b.f(1), y=b.f(1))


def _broadcast(b: Builder) -> str:
    x, y = b.f(1), b.f(1)
    return f"{b.choice(x, f'{x}[:, None]', f'{x}[..., None]')} {b.choice('+', '-', '*', '/')} {y}"


def _reduction(b: Builder) -> str:
    x = b.f(1)
    keep = ", keepdims=True" if b.rng.random() < 0.4 else ""
    axis = b.choice("", f", axis={b.axis(x)}") if not keep else f", axis={b.axis(x)}"
    return f"{b.choice(*_REDUCTIONS)}({x}{axis}{keep})"


def _cast(b: Builder) -> str:
    return f"{b.choice(b.f(), b.f(), b.f())}.astype({b.choice(*_TYPES)})"


def _select(b: Builder) -> str:
    p = b.p()
    return b.choice(
        f"jnp.where({p}, {b.f()}, {b.f()})", f"jnp.where({p}, {b.f()}, {b.literal()})", f"jnp.sum({p})", f"~{p}",
        f"lax.select({p}, {b.f()}, {b.f()})", f"jnp.where({p}, {b.f()}, -jnp.inf)", f"{p} & True", f"{p} * {b.f()}",
    )  # fmt: skip


def _window(b: Builder) -> str:
    x = b.f(1, 3)
    operation, initial = b.rng.choice(
        (("lax.add", "0.0"), ("lax.max", "-jnp.inf"), ("lax.min", "jnp.inf"), ("lax.mul", "1.0"))
    )
    text = f"window({{}}, {operation}, {initial}, {b.choice('2', '3')}, {b.choice('1', '2')})"
    if b.rng.random() < 0.4:
        return f"jax.grad(lambda z: jnp.sum({text.format('z')} * 0.5))({x})"
    return text.format(x)


def _control(b: Builder) -> str:
    x = b.f()
    y, n = b.f(1), b.rng.choice((0, 1, 3, 5))
    condition = f"jnp.sum({b.f()}) > {b.literal()}"
    return b.choice(
        f"lax.cond({condition}, lambda z: {b.body('z', x)}, lambda z: {b.body('z', x)}, {x})",
        f"lax.cond({condition}, lambda z: z * 0, lambda z: {b.body('z', x)}, {x})",
        f"lax.switch({n}, [lambda z: z, lambda z: {b.body('z', x)}, lambda z: -z], {x})",
        f"lax.fori_loop(0, {n}, lambda i, z: {b.body('z', x)}, {x})",
        f"lax.fori_loop(0, {n}, lambda i, z: (z * i + {x}).astype(z.dtype), {x})",
        f"lax.while_loop(lambda s: s[0] < {n}, lambda s: (s[0] + 1, {b.body('s[1]', x)}), (0, {x}))[1]",
        f"lax.scan(lambda z, r: ({b.body('z', x)}, jnp.sum(r)), {x}, {y})",
        f"lax.scan(lambda z, r: ((z + r).astype(z.dtype), z * r), jnp.zeros_like({y}[0]), {y})",
        f"lax.scan(lambda z, r: ((z * 0.9 + r * 0.1).astype(z.dtype), jnp.tanh(z)), {y}[0], {y}, reverse=True)",
        f"lax.map(lambda r: {b.body('r', y)}, {y})",
        f"jnp.piecewise({x}, [{x} < 0, {x} > 1], [-1.0, 1.0, lambda z: z * 2])",
    )


def _transformed(b: Builder) -> str:
    x, y = b.f(), b.f(1)
    inner = b.body("z", x, 3)
    total = f"jnp.sum(({inner}).astype(jnp.float32))"
    return b.choice(
        f"jax.grad(lambda z: {total})({x})", f"jax.value_and_grad(lambda z: {total})({x})",
        f"jax.grad(jax.checkpoint(lambda z: {total}))({x})", f"jax.vmap(lambda z: {b.body('z', y)})({y})",
        f"jax.jvp(lambda z: {inner}, ({x},), (jnp.ones_like({x}),))", f"jax.jit(lambda z: {inner})({x})",
        f"jax.vmap(jax.grad(lambda z: jnp.sum({b.body('z', y)}).astype(jnp.float32)))({y})",
        f"jax.grad(lambda z: lax.fori_loop(0, 2, lambda i, s: {b.body('s', x)}, z).sum().astype(jnp.float32))({x})",
        f"jax.grad(lambda z: lax.scan(lambda s, _: ({b.body('s', x)}, None), z, length=3)[0].sum())({x})",
        f"jax.vjp(lambda z: {inner}, {x})[1](jnp.ones_like({x}))[0]", f"jax.linearize(lambda z: {inner}, {x})[0]",
        f"jax.grad(lambda z: jnp.sum(z @ {y} if z.ndim else z))({x})",
    )  # fmt: skip


def _constant(b: Builder) -> str:
    x = b.f(1)
    return b.choice(
        f"{x} + jnp.arange({x}.shape[-1])", f"jnp.ones_like({x}) * 3", f"jnp.zeros_like({x})", f"jnp.full_like({x}, 1e-4)",
        f"{x} * jnp.eye({x}.shape[-1], dtype={x}.dtype)", f"{x} * jnp.linspace(0, 1, {x}.shape[-1]).astype({x}.dtype)",
        f"lax.iota({x}.dtype, 4)", f"jnp.where(jnp.tri({x}.shape[-1]) > 0, {x}, -1e9)", f"{x} + jax.random.normal(jax.random.key(0), {x}.shape)",
    )  # fmt: skip


def _complex(b: Builder) -> str:
    if b.rng.random() < 0.5:
        x = b.f()
        return f"lax.complex({x}.astype(jnp.float32), jnp.sin({x}.astype(jnp.float32)))"
    return b.choice(*_COMPLEX).format(c=b.c())


TEMPLATES: tuple[Template, ...] = (
    *(_one(_UNARY),) * 5, *(_one(_BINARY),) * 6, *(_one(_ROWS, 1),) * 4, *(_one(_MOVES, 1),) * 4, *(_two(_CONTRACTIONS),) * 5,
    *(_reduction,) * 4, _broadcast, _broadcast, _cast, _cast, _select, _window, *(_control,) * 3, *(_transformed,) * 4,
    _constant, _constant, _complex, lambda b: b.choice(*_LINEAR).format(x=b.f(2, 2)),
    *(lambda b: b.choice(*_INTEGERS).format(i=b.i()),) * 3,
)  # fmt: skip
