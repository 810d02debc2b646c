"""Random JAX programs: jax.numpy, lax, nn, control flow, transformations, linear algebra, in all types.

A program is Python source, a line for each value, so that it can be read, run and made smaller:

    def f(a0, a1):
        v0 = jnp.tanh(a0)
        v1 = jax.lax.fori_loop(0, 3, lambda i, c: (c * v0).astype(c.dtype), a1)
        return v1

Lines are drawn from TEMPLATES and kept where JAX can tell a shape for them. Program `k` of a seed is always the same.
"""

import dataclasses
import random
import re
from collections.abc import Callable
from typing import Any

import jax
import ml_dtypes
import numpy as np

from tests.fuzz.custom import NAMESPACE

Spec = jax.ShapeDtypeStruct
_NAME = re.compile(r"\b[av]\d+\b")
_LARGEST = 600
_LITERALS = ("0.5", "2.0", "-1.5", "0.0", "1.0", "3.0", "1e-3", "1e-6", "100.0", "1e4", "-0.1", "jnp.inf")
_VALUES = ("normal",) * 8 + ("positive",) * 2 + ("small", "large", "zeros", "some zeros", "special", "equal", "mixed")
_RARE = ("subnormal", "huge", "integers")


@dataclasses.dataclass(frozen=True)
class Argument:
    name: str
    shape: tuple[int, ...]
    dtype: str
    values: str = "normal"

    def array(self, seed: int) -> np.ndarray:
        """Seeded values of its kind."""
        rng = np.random.default_rng([seed, int(self.name[1:])])
        dtype = _dtype(self.dtype)
        if dtype == np.bool_:
            return np.asarray(rng.integers(0, 2, self.shape), np.bool_)
        if dtype.kind in "iu":
            return np.asarray(rng.integers(0, 5, self.shape)).astype(dtype)
        x = np.asarray(rng.standard_normal(self.shape))
        match self.values:
            case "positive":
                x = 0.1 + np.abs(x)
            case "small":
                x = x * 2.0**-9
            case "large":
                x = x * 2.0**7
            case "zeros":
                x = x * 0
            case "equal":
                x = np.full(self.shape, 1.5)
            case "mixed":
                x = x * 2.0 ** rng.integers(-8, 8, self.shape)
            case "subnormal":
                x = x * 2.0 ** (-22 if dtype == np.float16 else -124)
            case "huge":
                x = x * 2.0 ** (13 if dtype == np.float16 else 60)
            case "integers":
                x = np.round(4 * x)
            case "some zeros":
                x = np.where(rng.random(self.shape) < 0.4, 0, x)
            case "special":
                chosen = rng.choice([np.inf, -np.inf, np.nan, -0.0, 2.0**-133, 2.0**-24], self.shape)
                x = np.where(rng.random(self.shape) < 0.15, chosen, x)
        return x.astype(dtype)


@dataclasses.dataclass(frozen=True)
class Program:
    """Arguments; lines "v0 = ..." in order; the names that are returned; whether f64 is enabled."""

    arguments: tuple[Argument, ...]
    lines: tuple[tuple[tuple[str, ...], str], ...]
    results: tuple[str, ...]
    x64: bool = False

    def source(self) -> str:
        body = [f"    {', '.join(names)} = {expression}" for names, expression in self.lines]
        head = f"def f({', '.join(a.name for a in self.arguments)}):"
        return "\n".join([head, *body, f"    return {', '.join(self.results)},"])

    def function(self) -> Callable[..., Any]:
        space = dict(NAMESPACE)
        exec(self.source(), space)
        return space["f"]

    def lowered(self) -> str:
        """The StableHLO module."""
        with jax.enable_x64(self.x64):
            specs = [Spec(a.shape, _dtype(a.dtype)) for a in self.arguments]
            return jax.jit(self.function(), keep_unused=True).lower(*specs).as_text()

    def pruned(self) -> "Program":
        """Without lines and arguments that no result needs."""
        needed, kept = set(self.results), []
        for names, expression in reversed(self.lines):
            if needed.intersection(names):
                kept.append((names, expression))
                needed.update(_NAME.findall(expression))
        arguments = tuple(a for a in self.arguments if a.name in needed)
        return dataclasses.replace(self, arguments=arguments, lines=tuple(reversed(kept)))


def _dtype(name: str) -> "np.dtype[Any]":
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


class Builder:
    """Draws lines; knows the type of every name."""

    def __init__(self, rng: random.Random, x64: bool, nests: bool = False):
        self.rng, self.x64, self.nests = rng, x64, nests
        self.types: dict[str, Any] = {}

    def pick(self, wanted: Callable[[Any], bool]) -> str:
        """A name of a wanted type, the later ones more often. Raises LookupError."""
        found = [name for name, spec in self.types.items() if wanted(spec)]
        if not found:
            raise LookupError
        return found[max(self.rng.randrange(len(found)) for _ in range(2))]

    def f(self, low: int = 0, high: int = 9) -> str:
        """A float of some rank."""
        return self.pick(lambda t: jax.numpy.issubdtype(t.dtype, jax.numpy.floating) and low <= len(t.shape) <= high)

    def i(self) -> str:
        return self.pick(lambda t: t.dtype.kind in "iu" and t.dtype != np.bool_)

    def p(self) -> str:
        return self.pick(lambda t: t.dtype == np.bool_)

    def c(self) -> str:
        return self.pick(lambda t: t.dtype.kind == "c")

    def like(self, x: str) -> str:
        """A float that goes with x in elementwise operations: a name or a literal."""
        if self.rng.random() < 0.3:
            return self.literal()
        shape = self.types[x].shape
        return self.pick(lambda t: t.shape in (shape, ()) and jax.numpy.issubdtype(t.dtype, jax.numpy.floating))

    def literal(self) -> str:
        return self.rng.choice(_LITERALS)

    def axis(self, x: str) -> int:
        rank = len(self.types[x].shape)
        if not rank:
            raise LookupError
        return self.rng.randrange(-rank, rank)

    def choice(self, *texts: str) -> str:
        return self.rng.choice(texts)

    def body(self, x: str, like: str, depth: int = 2) -> str:
        """A function of `x`, of the type of `like`, which gives the same type."""
        from tests.fuzz.templates import BODIES

        text = x
        for _ in range(self.rng.randrange(1, depth + 1)):
            text = self.rng.choice(BODIES).format(x=text, y=self.like(like), l=self.rng.choice(_LITERALS[:6]))
        return f"({text}).astype({x}.dtype)"

    def line(self) -> tuple[tuple[str, ...], str] | None:
        """A line that JAX accepts, or None after one that it does not."""
        from tests.fuzz.nests import NESTS
        from tests.fuzz.templates import TEMPLATES

        template = self.rng.choice(NESTS if self.nests and self.rng.random() < 0.8 else TEMPLATES)
        try:
            expression = template(self)
            names = sorted(set(_NAME.findall(expression)))
            function = eval(f"lambda {', '.join(names)}: {expression}", dict(NAMESPACE))
            made = jax.eval_shape(function, *(self.types[n] for n in names))
        except Exception:  # noqa: BLE001 - whatever JAX says of it
            return None
        leaves = list(made) if isinstance(made, tuple | list) else [made]
        for leaf in leaves:
            if not isinstance(leaf, Spec) or np.prod(leaf.shape) > _LARGEST or len(leaf.shape) > 5:
                return None
            if jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.extended):
                return None
        first = sum(name[0] == "v" for name in self.types)
        new = tuple(f"v{first + i}" for i in range(len(leaves)))
        self.types.update(zip(new, leaves, strict=True))
        if isinstance(made, tuple | list) and len(new) == 1:
            expression = f"({expression})[0]"
        return new, expression


def draw(seed: int, k: int, nests: bool = False) -> Program:
    """Program `k` of a seed; with `nests` most lines are those of tests/fuzz/nests.py."""
    rng = random.Random(f"{seed}/{k}" + "/nests" * nests)
    x64 = rng.random() < (0.25 if nests else 0.12)
    builder = Builder(rng, x64, nests)
    floats = ["float32"] * 5 + ["float16"] * 3 + ["bfloat16"] * 2 + (["float64"] * 4 if x64 else [])
    main = rng.choice(floats)
    sizes = [rng.choice((1, 2, 3, 4, 5, 8)) for _ in range(3)]
    if rng.random() < 0.03:
        sizes[0] = 0
    arguments = []
    for n in range(rng.randrange(1, 5)):
        dtype = main if rng.random() < 0.75 else rng.choice([*floats, "int32", "int32", "bool", "uint8", "complex64"])
        shape = tuple(rng.choice(sizes) for _ in range(rng.choice((0, 1, 1, 2, 2, 2, 3, 4))))
        arguments.append(Argument(f"a{n}", shape, dtype, rng.choice(_VALUES + _RARE if nests else _VALUES)))
    if not any(a.dtype in ("float16", "bfloat16", "float32", "float64") for a in arguments):
        arguments[0] = dataclasses.replace(arguments[0], dtype=main)
    builder.types.update({a.name: Spec(a.shape, _dtype(a.dtype)) for a in arguments})
    lines: list[tuple[tuple[str, ...], str]] = []
    wanted = rng.choice((1, 1, 2, 2, 3, 5) if nests else (1, 2, 3, 4, 6, 9, 14))
    with jax.enable_x64(x64):
        for _ in range(20 * wanted):
            made = builder.line()
            if made:
                lines.append(made)
            if len(lines) == wanted:
                break
    made_names = [name for names, _ in lines for name in names] or [arguments[0].name]
    results = made_names[-1:] + [name for name in made_names[:-1] if rng.random() < 0.3]
    return Program(tuple(arguments), tuple(lines), tuple(results), x64).pruned()
