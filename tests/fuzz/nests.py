"""Lines of a second kind of random programs: nests of control flow and transformations, options of single functions.

Where `templates` has many functions in short lines, these have the long ones: loops in branches in loops, gradients
through them, scatters and gathers in each mode, windows and contractions with all their options, decompositions,
special functions, bits of floats, random numbers from integers, indices beyond the end.
"""

# ruff: noqa: E501 - tables
from tests.fuzz.catalogue import MATRICES, VECTORS
from tests.fuzz.jax_programs import Builder
from tests.fuzz.templates import Template

_SPECIAL = (
    "special.betainc(0.5 + jnp.abs({x}.ravel()[:4]), 1.5, nn.sigmoid({x}.ravel()[:4]))", "special.gammainc(0.5 + jnp.abs({x}.ravel()[:4]), 2.0)",
    "special.gammaincc(1.5, jnp.abs({x}.ravel()[:4]))", "special.digamma({x})", "special.gammaln({x})", "special.zeta(1.5 + jnp.abs({x}), 2.0)",
    "special.polygamma(1, 0.5 + jnp.abs({x}))", "special.i0e({x})", "special.i0({x})", "special.i1({x})", "special.i1e({x})",
    "special.ndtri(nn.sigmoid({x}))", "special.ndtr({x})", "special.log_ndtr({x})", "special.entr(jnp.abs({x}))",
    "special.xlogy({x}, jnp.abs({x}))", "special.xlog1py({x}, jnp.abs({x}))", "special.logit(nn.sigmoid({x}))",
    "special.erfc({x})", "special.erfinv(jnp.tanh({x}))", "special.expit({x})", "special.kl_div(jnp.abs({x}), 1.0)",
    "special.rel_entr(jnp.abs({x}), 0.5)", "special.spence(jnp.abs({x}))", "special.logsumexp({x}, b=2.0)",
    "special.softmax({x} * 3)", "jax.scipy.stats.norm.logpdf({x})", "jax.scipy.stats.norm.cdf({x}, 0.5, 2.0)",
    "jax.scipy.stats.t.logpdf({x}, 3.0)", "jnp.logaddexp2({x}, 1.0)", "jnp.float_power(2.0, {x})", "jnp.exp2({x})",
    "jnp.log2(jnp.abs({x}))", "jnp.log10(jnp.abs({x}))", "jnp.arccosh(1 + jnp.abs({x}))", "jnp.arctanh(jnp.tanh({x}))",
    "jnp.arcsin(jnp.tanh({x}))", "jnp.arccos(jnp.tanh({x}))", "jnp.i0({x})", "jnp.sinc({x})", "jnp.deg2rad({x})",
    "jnp.nextafter({x}, jnp.inf)", "jnp.frexp({x})", "jnp.ldexp({x}, jnp.array(-2))", "jnp.nan_to_num({x}, nan=1.0, posinf=3.0)",
    "special.expm1({x}) / {x}", "special.sici({x})[0]", "special.multigammaln(2.0 + jnp.abs({x}), 2)",
    "jnp.cbrt({x})", "{x} ** 0.5", "{x} ** -0.5", "{x} ** 1.5", "jnp.abs({x}) ** {x}", "nn.sparse_plus({x})", "nn.standardize({x})",
)  # fmt: skip
_BITS = (
    "lax.bitcast_convert_type(lax.bitcast_convert_type({x}, {u}) & {u}(0x7fff), {x}.dtype)",
    "lax.bitcast_convert_type(lax.bitcast_convert_type({x}, {u}) ^ {u}(1), {x}.dtype)",
    "lax.bitcast_convert_type(lax.bitcast_convert_type({x}, {u}) + {u}(1), {x}.dtype)",
    "lax.bitcast_convert_type({x}, {u}) >> 7", "(lax.bitcast_convert_type({x}, {u}) >> 3) % 5 * {x}",
    "lax.population_count(lax.bitcast_convert_type({x}, {u}))", "lax.bitcast_convert_type({x}, jnp.uint8)",
    "jnp.signbit({x}) * {x}", "jnp.copysign({x}, -{x})", "lax.reduce_precision({x}, 5, 3)", "lax.reduce_precision({x}, 4, 10)",
    "{x}.view({u}).view({x}.dtype)",
)  # fmt: skip
_MODES = (
    "{x}.at[{k}].set({l}, mode='{m}')", "{x}.at[{k}].add({x}[:1], mode='{m}')", "{x}.at[{k}].mul({l}, mode='{m}')",
    "{x}.at[{k}].min({l}, mode='{m}')", "{x}.at[{k}].max({x}[-1:], mode='{m}')", "{x}.at[{k}].divide(4.0, mode='{m}')",
    "{x}.at[{k}].power(2.0, mode='{m}')", "{x}.at[{k}].apply(jnp.tanh, mode='{m}')", "{x}.at[{k}].get(mode='{m}')",
    "{x}.at[{k}].get(mode='fill', fill_value={l})", "jnp.take({x}, {k}, axis=-1, mode='{m}')",
    "jax.grad(lambda z: jnp.sum(z.at[{k}].get(mode='{m}') ** 2))({x})", "jax.grad(lambda z: jnp.sum(z.at[{k}].mul({l}, mode='{m}') * z))({x})",
    "jax.grad(lambda z: jnp.sum(jnp.tanh(z.at[{k}].set({l}, mode='{m}'))))({x})", "jax.grad(lambda z: jnp.sum({x}.at[{k}].add(z[:1], mode='{m}') * {x}))({x})",
    "lax.dynamic_slice_in_dim({x}, {n}, 2)", "lax.dynamic_update_slice_in_dim({x}, {x}[:1] * {l}, {n}, 0)",
    "lax.dynamic_index_in_dim({x}, {n}, keepdims=False)", "jax.grad(lambda z: jnp.sum(lax.dynamic_slice_in_dim(z, {n}, 1) * 3))({x})",
    "{x}[{n}]", "{x}[..., {n}]", "jax.vmap(lambda r, j: lax.dynamic_slice_in_dim(r, j, 1))({x}, jnp.argmax({x}, axis=-1))",
    "jax.ops.segment_sum({x}, jnp.arange({x}.shape[0]) // 2, 3)", "jax.ops.segment_max({x}, jnp.arange({x}.shape[0]) // 2, 3)",
    "jax.ops.segment_prod({x}, jnp.arange({x}.shape[0]) % 2, 2)", "jax.ops.segment_min({x}, jnp.arange({x}.shape[0]) % 2, 2)",
    "jnp.where({x} > {l}, size=3, fill_value=0)[0]", "jnp.nonzero({x}, size=4)[0]", "jnp.put_along_axis({x}, jnp.argmax({x}, -1, keepdims=True), {l}, -1, inplace=False)",
    "jnp.select([{x} > {l}, {x} < 0], [{x} * 2, 1.0 - {x}], {l})", "jnp.choose(({x} > 0).astype(int), [{x}, -2 * {x}], mode='clip')",
    "jnp.searchsorted(jnp.sort(jnp.ravel({x})), {l})", "jnp.digitize({x}, jnp.array([-1.0, 0.0, 1.0]))", "jnp.interp({x}, jnp.array([-1.0, 0.0, 2.0]), jnp.array([1.0, 3.0, 2.0]))",
    "jnp.histogram({x}, 4, (-2.0, 2.0))[0]", "jnp.unwrap({x} * 4)", "jnp.trapezoid({x})", "jnp.polyval(jnp.array([1.0, -2.0, 0.5]), {x})",
    "jnp.nanmean({x}, 0)", "jnp.nanstd({x}, -1)", "jnp.average({x}, 0, jnp.abs({x}))", "jnp.percentile({x}, 60, 0, method='nearest')",
    "jnp.cumulative_sum({x}, axis=0, include_initial=True)", "jnp.ediff1d({x})", "jnp.extract({x} > 0, {x}, size=3)", "jnp.lexsort(({x}, -{x}))",
    "jnp.partition({x}, 0)", "jnp.argpartition({x}, 0)", "jnp.nanargmax({x}, 0)", "jnp.argmin({x}, -1, keepdims=True)", "jnp.unique({x}, size=4)", "jnp.fill_diagonal({x}, {l}, inplace=False)",
)  # fmt: skip
_WINDOWS = (
    "lax.reduce_window({x}, {i}, {o}, {w}, {s}, 'VALID')", "lax.reduce_window({x}, {i}, {o}, {w}, {s}, 'SAME_LOWER')",
    "lax.reduce_window({x}, {i}, {o}, {w}, {s}, [(1, 2)] * {x}.ndim, base_dilation=(2,) * {x}.ndim)",
    "lax.reduce_window({x}, {i}, {o}, {w}, {s}, [(0, 1)] * {x}.ndim, window_dilation=(2,) * {x}.ndim)",
    "lax.reduce_window({x}, jnp.asarray({l}, {x}.dtype), {o}, {w}, {s}, 'SAME')",
    "jax.grad(lambda z: jnp.sum(lax.reduce_window(z, {i}, {o}, {w}, {s}, 'SAME') ** 2))({x})",
    "jax.vmap(lambda r: lax.reduce_window(r, {i}, {o}, {w}[1:], {s}[1:], 'SAME'))({x})",
    "lax.reduce({x}, jnp.asarray({l}, {x}.dtype), lambda a, b: {o}(a, b), (0,))", "lax.reduce({x}, {i}, {o}, tuple(range({x}.ndim)))",
    "lax.reduce(({x}, -{x}), (jnp.zeros((), {x}.dtype), jnp.zeros((), {x}.dtype)), lambda a, b: ({o}(a[0], b[0]), a[1] + b[1]), (0,))",
    "lax.cummin({x}, 0, reverse=True)", "lax.cumprod({x}, {x}.ndim - 1, reverse=True)", "lax.cumsum({x}, 0, reverse=True)", "lax.cumlogsumexp({x}, 0, reverse=True)",
    "jax.grad(lambda z: jnp.sum(lax.cumprod(z, 0) * {l}))({x})", "jax.grad(lambda z: jnp.sum(lax.cummax(z, 0) * z))({x})", "jax.grad(lambda z: jnp.sum(jnp.prod(z, 0)))({x})",
    "jax.grad(lambda z: jnp.sum(jnp.sort(z, 0) * jnp.arange(z.shape[0]).reshape(-1, *[1] * (z.ndim - 1))))({x})", "jax.grad(lambda z: jnp.sum(lax.top_k(z, 1)[0] ** 2))({x})",
    "lax.sort(({x}, {x} * {l}, jnp.arange({x}.size).reshape({x}.shape)), dimension=0, num_keys=2)", "lax.sort({x}, is_stable=False)", "lax.approx_max_k({x}, 1)[0]",
    "jax.image.resize({x}, tuple(d + 1 for d in {x}.shape), 'linear')", "jax.image.resize({x}, tuple(d + 1 for d in {x}.shape), 'nearest')",
)  # fmt: skip
_FACTORED = (
    "jnp.linalg.cholesky(spd({x}))", "jnp.linalg.qr({x})[1]", "jnp.linalg.svd({x}, full_matrices=False)[1]", "jnp.linalg.eigh(spd({x}))[0]",
    "jnp.linalg.det({x})", "jnp.linalg.inv(spd({x}))", "jnp.linalg.pinv(spd({x}))", "jnp.linalg.matrix_power({x}, 3)", "jnp.linalg.multi_dot([{x}, {x}.T, {x}])",
    "jnp.linalg.norm({x}, 2)", "jnp.linalg.norm({x}, 'nuc')", "jnp.linalg.norm({x}, 1)", "jnp.linalg.cond(spd({x}))", "jnp.linalg.slogdet(spd({x}))[1]",
    "jax.scipy.linalg.lu(spd({x}))[2]", "jax.scipy.linalg.cho_solve((jnp.linalg.cholesky(spd({x})), True), {x})", "jax.scipy.linalg.solve_triangular(spd({x}), {x}, lower={b}, trans={t}, unit_diagonal={b})",
    "lax.linalg.triangular_solve(spd({x}), {x}.T, left_side=False, lower={b}, transpose_a={b}, unit_diagonal={b})", "jax.scipy.linalg.expm(spd({x}) * 0.1)",
    "jax.grad(lambda z: jnp.linalg.slogdet(spd(z))[1])({x})", "jax.grad(lambda z: jnp.sum(jnp.linalg.cholesky(spd(z))))({x})", "jax.grad(lambda z: jnp.sum(jnp.linalg.solve(spd(z), z)))({x})",
    "jax.grad(lambda z: jnp.sum(jnp.linalg.eigh(spd(z))[0] ** 2))({x})", "jax.grad(lambda z: jnp.sum(jnp.linalg.qr(z)[1] ** 2))({x})", "jax.grad(lambda z: jnp.linalg.norm(z, 'nuc'))({x})",
    "jnp.abs(jnp.fft.rfft2({x}))", "jnp.fft.irfft2(jnp.fft.rfft2({x}), {x}.shape)", "jnp.fft.hfft({x})", "jnp.real(jnp.fft.fftshift(jnp.fft.fftn({x})))", "jnp.fft.ihfft({x}).imag",
    "jax.grad(lambda z: jnp.sum(jnp.abs(jnp.fft.rfft(z)) ** 2))({x})", "jax.scipy.signal.convolve({x}, {x}, mode='same')", "jax.scipy.fft.dct({x}, norm='ortho')", "jnp.linalg.lstsq({x}, {x})[0]",
    "jnp.linalg.tensorsolve(jnp.eye({x}.shape[-1]), {x}[0])", "jnp.vander({x}[0], 3)", "jax.scipy.linalg.toeplitz({x}[0])", "jax.scipy.linalg.block_diag({x}, {x})", "jnp.corrcoef({x})", "jnp.cross({x}[..., :3], {x}[..., :3] + 1)",
)  # fmt: skip
_EINSUMS = (
    "ij,kj->ik", "ij,jk->ki", "ij,ij->", "ij,ik->jk", "ii->i", "ii->", "ij,kl->ijkl", "ij,j->i", "i,i->", "ij->j", "bij,bjk->bik", "bij,bkj->ikb",
    "bij,bij->b", "bhqd,bhkd->bhqk", "...ij,...jk->...ik", "i,j,k->ijk", "ij,jk,kl->il", "ij,ik,il->jkl",
)  # fmt: skip
_TYPES = ("jnp.float32", "jnp.float16", "jnp.bfloat16", "jnp.float64", "jnp.int32", "jnp.int8", "jnp.uint16", "jnp.float8_e4m3fn", "jnp.float8_e5m2", "jnp.complex64", "jnp.bool_")  # fmt: skip
_RANDOM = (
    "jax.random.normal({k}, (3, 4))", "{x} + jax.random.uniform({k}, {x}.shape, {x}.dtype)", "jax.random.bernoulli({k}, nn.sigmoid({x}))", "jax.random.categorical({k}, {x})",
    "{x} * jax.random.bernoulli({k}, 0.7, {x}.shape) / 0.7", "jax.random.permutation({k}, {x})", "jax.random.truncated_normal({k}, -1.0, 1.0, (5,), {x}.dtype)", "jax.random.gumbel({k}, {x}.shape, {x}.dtype) + {x}",
    "jax.random.exponential({k}, {x}.shape) * {x}", "jax.random.randint({k}, (4,), 0, 3)", "jax.random.choice({k}, {x}, (2,))", "jax.random.gamma({k}, 1.0 + jnp.abs({x}))",
)  # fmt: skip


def _of(texts: tuple[str, ...], low: int = 0, high: int = 9) -> Template:
    def template(b: Builder) -> str:
        x = b.f(low, high)
        spec = b.types[x]
        unsigned = f"jnp.uint{8 * spec.dtype.itemsize}"
        rank = len(spec.shape)
        window = tuple(b.rng.choice((1, 2, 3)) for _ in range(rank))
        strides = tuple(b.rng.choice((1, 1, 2)) for _ in range(rank))
        operation, initial = b.rng.choice(
            (("lax.add", "0."), ("lax.max", "-jnp.inf"), ("lax.min", "jnp.inf"), ("lax.mul", "1."))
        )
        index = b.choice(
            "jnp.array([0, 1])",
            "jnp.array([2, 0, 9])",
            "jnp.array([-1, -7])",
            "jnp.array([0, 0, 0])",
            f"jnp.argsort({x}.ravel())[:2]",
            "jnp.array([[1], [0]])",
        )
        scalar = b.choice("0", "1", "jnp.int32(7)", f"jnp.sum({x} > 0)", f"-jnp.sum({x} < 1)", f"jnp.argmax({x})")
        return b.choice(*texts).format(
            x=x, u=unsigned, k=index, n=scalar, m=b.choice("clip", "drop", "fill", "promise_in_bounds", "wrap") if "get" not in texts[0] else "clip",
            l=b.literal(), w=window, s=strides, o=operation, i=f"jnp.asarray({initial}, {x}.dtype)", b=b.choice("True", "False"), t=b.choice("0", "1", "2"),
        )  # fmt: skip

    return template


def _modes(b: Builder) -> str:
    text = _of(_MODES, 1)(b)
    return text.replace("'promise_in_bounds'", "'clip'").replace("'wrap'", "'drop'") if "take" not in text else text


def _einsum(b: Builder) -> str:
    spec = b.choice(*_EINSUMS)
    terms = spec.split("->")[0].split(",")
    operands = [b.f(1) if "..." in t else b.f(len(t), len(t)) for t in terms]
    preferred = b.choice("", "", ", preferred_element_type=jnp.float32")
    text = f"jnp.einsum('{spec}', {', '.join(operands)}{preferred})"
    if b.rng.random() < 0.3:
        return f"jax.grad(lambda z: jnp.sum(jnp.tanh({text.replace(operands[0], 'z')})))({operands[0]})"
    return text


def _statement(b: Builder, z: str, like: str, depth: int) -> str:
    """A function of z of its own type: control flow in control flow, `depth` levels of it."""
    if depth == 0:
        return b.body(z, like)
    i = f"{z}{depth}"
    inner = _statement(b, i, like, depth - 1)
    other = _statement(b, i, like, depth - 1 if b.rng.random() < 0.4 else 0)
    n = b.rng.choice((0, 1, 2, 3))
    bound = b.literal()
    return b.choice(
        f"lax.fori_loop(0, {n}, lambda j, {i}: {inner}, {z})",
        f"lax.fori_loop(0, {n}, lambda j, {i}: lax.cond(j % 2 == 0, lambda {i}: {inner}, lambda {i}: {other}, {i}), {z})",
        f"lax.cond(jnp.sum({z}) > {bound}, lambda {i}: {inner}, lambda {i}: {other}, {z})",
        f"lax.cond(jnp.all({z} < {bound}), lambda {i}: {inner}, lambda {i}: jnp.full_like({i}, {bound}), {z})",
        f"lax.switch(jnp.argmax({z}) % 3, [lambda {i}: {inner}, lambda {i}: {other}, lambda {i}: {i} * 0], {z})",
        f"lax.while_loop(lambda s: (s[0] < {n}) & jnp.all(jnp.isfinite(s[1])), lambda s: (s[0] + 1, (lambda {i}: {inner})(s[1])), (0, {z}))[1]",
        f"lax.while_loop(lambda s: (jnp.max(jnp.abs(s[1])) > 1) & (s[0] < 9), lambda s: (s[0] + 1, s[1] * 0.5), (0, {z}))[1]",
        f"lax.scan(lambda {i}, _: ({inner}, jnp.sum({i})), {z}, length={n})[0]",
        f"lax.scan(lambda {i}, k: (({inner} * k).astype({i}.dtype), None), {z}, jnp.array([1.0, 0.5, 2.0]))[0]",
        f"lax.fori_loop(0, {n}, lambda j, s: ((lambda {i}: {inner})(s[1]), s[0]), ({z}, {z} * 2))[0]",
        f"lax.fori_loop(0, {n}, lambda j, {i}: {i}.at[..., j].set(jnp.sum({i}).astype({i}.dtype)), {z})",
        f"jax.checkpoint(lambda {i}: {inner})({z})", f"jax.jit(lambda {i}: {inner})({z})", f"softened({inner.replace(i, z)}).astype({z}.dtype)",
        f"jnp.where({z} > {bound}, (lambda {i}: {inner})({z}), (lambda {i}: {other})({z}))",
    )  # fmt: skip


def _nest(b: Builder) -> str:
    x = b.f()
    inner = _statement(b, "z", x, b.rng.choice((1, 2, 2, 3)))
    y = b.f(1)
    rows = _statement(b, "z", y, b.rng.choice((1, 2)))
    total = f"jnp.sum(({inner}).astype(jnp.float32))"
    return b.choice(
        f"(lambda z: {inner})({x})", f"(lambda z: {inner})({x})", f"jax.vmap(lambda z: {rows})({y})", f"lax.map(lambda z: {rows}, {y})",
        f"jax.grad(lambda z: {total})({x})", f"jax.jvp(lambda z: {inner}, ({x},), ({x},))", f"jax.vmap(jax.grad(lambda z: jnp.sum({rows}).astype(jnp.float32)))({y})",
        f"jax.grad(lambda z: jnp.sum(jax.grad(lambda z: {total})(z) ** 2).astype(jnp.float32))({x})", f"jax.jacfwd(lambda z: {inner})({x})", f"jax.hessian(lambda z: {total})({x})",
        f"lax.scan(lambda z, r: ({inner}, (z * jnp.sum(r)).astype(z.dtype)), {x}, {y}, reverse=True)", f"lax.associative_scan(lambda p, q: p * jnp.tanh(q), {y})",
    )  # fmt: skip


def _casts(b: Builder) -> str:
    x = b.f()
    chain = x
    for _ in range(b.rng.choice((1, 2, 3))):
        chain = (
            f"{b.choice('({0})', '({0}) * 2', 'jnp.abs({0})', '({0}) + 1').format(chain)}.astype({b.choice(*_TYPES)})"
        )
    return chain


def _mixed(b: Builder) -> str:
    x, y = b.f(), b.f()
    return b.choice(
        f"{x} * {y}.astype({b.choice(*_TYPES)})", f"jnp.matmul({x}, {y}.astype({b.choice(*_TYPES)}))", f"{x} + {y}.astype({b.choice(*_TYPES)})",
        f"lax.dot_general({x}, {y}, ((({x}.ndim - 1,), (0,)), ((), ())), preferred_element_type={b.choice(*_TYPES[:4])})",
        f"jnp.sum({x}, dtype={b.choice(*_TYPES[:4])})", f"jnp.mean({x}, dtype={b.choice(*_TYPES[:4])})", f"jnp.cumsum({x}, dtype={b.choice(*_TYPES[:4])})",
        f"jnp.clip({x}, {b.literal()}, {b.literal()})", f"jnp.clip({x}, jnp.min({y}), jnp.max({y}))", f"lax.clamp(-1.0, {x}.astype(jnp.float32), {b.literal()})", f"jnp.dot({x}, {y})",
        f"lax.conv_general_dilated({x}[None, None], {y}[None, None], (1,) * {x}.ndim, [(1, 2)] * {x}.ndim, rhs_dilation=(2,) * {x}.ndim)",
        f"jax.grad(lambda z: jnp.sum(lax.conv_general_dilated(z[None, None], {y}[None, None], (2,) * {x}.ndim, 'SAME') ** 2))({x})",
    )  # fmt: skip


def _random(b: Builder) -> str:
    key = b.choice(
        "jax.random.key(3)",
        "jax.random.fold_in(jax.random.key(1), 7)",
        f"jax.random.fold_in(jax.random.key(1), {b.i()}.ravel()[0])"
        if any(t.dtype.kind == "i" for t in b.types.values())
        else "jax.random.PRNGKey(0)",
    )
    return b.choice(*_RANDOM).format(x=b.f(1), k=key)


def _complex(b: Builder) -> str:
    x, y = b.f(), b.f()
    z = f"lax.complex({x}.astype(jnp.float32), {b.choice(f'jnp.cos({x}.astype(jnp.float32))', f'{x}.astype(jnp.float32)', f'jnp.zeros({x}.shape)')})"
    return b.choice(
        "{z} * {y}", "jnp.abs({z}) ** 2", "jnp.exp({z}).real", "jnp.log({z}).imag", "jnp.real({z} * jnp.conj({z}))", "jnp.angle({z})", "jnp.sqrt({z}).real", "jnp.sum({z}).imag", "({z} / (1 + {y} * {y})).real",
        "jax.grad(lambda t: jnp.sum(jnp.abs(t + 1j) ** 2))({x})", "jnp.tanh({z}).real", "jnp.power({z}, 2).imag", "lax.scan(lambda c, _: (c * c * 0.5, c.real), {z}, length=2)[1]", "lax.fori_loop(0, 3, lambda i, c: c * 1j + 1, {z}).imag",
    ).format(x=x, y=y, z=z)  # fmt: skip


NESTS: tuple[Template, ...] = (
    *(_of(_SPECIAL),) * 5, _of(_BITS), *(_modes,) * 5, *(_of(_WINDOWS, 1),) * 4, *(_of(_FACTORED, 2, 2),) * 2, *(_einsum,) * 3, *(_nest,) * 6, *(_casts,) * 2, *(_mixed,) * 3, _random, _complex,
    *(_of(VECTORS, 1, 1),) * 3, *(_of(MATRICES, 2, 2),) * 3,
)  # fmt: skip
