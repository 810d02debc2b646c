"""How the time to rewrite grows with the size of a program: `python -m benchmarks.rewriting_limits [--json FILE]`.

Generated programs of nine kinds at growing sizes: long chains, chains of sums, many functions, many arguments, calls
in calls, regions in regions, many branches, a GPT unrolled to many layers, a large constant. The last column is the
exponent p of time ~ size^p between the two largest sizes: 1 is linear.
"""

import json
import math
import time
from collections.abc import Callable

import click
import numpy as np

from scalify_hlo.bindings import ir, make_context
from scalify_hlo.in_place import scalify_in_place

T = "tensor<4xf32>"


def chain(n: int) -> str:
    """n elementwise operations, one on the result of the other."""
    names = ("add", "multiply", "tanh", "subtract")
    lines = [
        f"%{i + 1} = stablehlo.{names[i % 4]} %{i}{'' if i % 4 == 2 else f', %{i}'} : {T}" for i in range(n)
    ]  # fmt: skip
    return _main([T], lines, f"%{n}")


def sums(n: int) -> str:
    """A running sum of n + 1 arguments."""
    lines = [f"%s{i + 1} = stablehlo.add %{'s' if i else ''}{i}, %{i + 1} : {T}" for i in range(n)]
    return _main([T] * (n + 1), lines, f"%s{n}")


def functions(n: int) -> str:
    """n functions, called one after the other."""
    main = _main([T], [f"%{i + 1} = call @f{i}(%{i}) : ({T}) -> {T}" for i in range(n)], f"%{n}")
    return main + "".join(_private(f"f{i}", f"stablehlo.add %0, %0 : {T}") for i in range(n))


def nested_calls(n: int) -> str:
    """n functions, each calling the next."""
    inner = "".join(_private(f"f{i}", f"call @f{i + 1}(%0) : ({T}) -> {T}") for i in range(n - 1))
    main = _main([T], [f"%1 = call @f0(%0) : ({T}) -> {T}"], "%1")
    return main + inner + _private(f"f{n - 1}", f"stablehlo.add %0, %0 : {T}")


def nested_regions(n: int) -> str:
    """n conditionals, one inside the other."""
    opening = [f'%r{i} = "stablehlo.if"(%1) ({{' for i in range(n)]
    middle = [f"%z = stablehlo.add %0, %0 : {T}", f"stablehlo.return %z : {T}"]
    closing: list[str] = []
    for i in reversed(range(n)):
        closing.append(f"}}, {{ stablehlo.return %0 : {T} }}) : (tensor<i1>) -> {T}")
        closing += [f"stablehlo.return %r{i} : {T}"] if i else []
    return _main([T, "tensor<i1>"], opening + middle + closing, "%r0")


def branches(n: int) -> str:
    """A choice between n branches."""
    lines = [f"%b{i} = stablehlo.add %0, %0 : {T}\n  stablehlo.return %b{i} : {T}" for i in range(n)]
    return _main(
        [T, "tensor<i32>"],
        [f'%r = "stablehlo.case"(%1) ({", ".join(f"{{ {each} }}" for each in lines)}) : (tensor<i32>) -> {T}'],
        "%r",
    )


def arguments(n: int) -> str:
    """n arguments, each returned negated."""
    lines = [f"%r{i} = stablehlo.negate %{i} : {T}" for i in range(n)]
    return _main([T] * n, lines, ", ".join(f"%r{i}" for i in range(n)))


def layers(n: int) -> str:
    """A GPT's forward pass, n layers of attention and feed-forward written out, as `jax.jit` unrolls Python loops."""
    import jax
    import jax.numpy as jnp

    def norm(x: jax.Array) -> jax.Array:
        centred = x - x.mean(-1, keepdims=True)
        return centred * jax.lax.rsqrt(jnp.mean(centred**2, -1, keepdims=True) + 1e-5)

    def forward(weights: list[dict[str, jax.Array]], x: jax.Array) -> jax.Array:
        for w in weights:
            q, k, v = jnp.split(norm(x) @ w["qkv"], 3, -1)
            x = x + jax.nn.softmax(q @ k.T / 4.0) @ v @ w["out"]
            x = x + jax.nn.gelu(norm(x) @ w["up"]) @ w["down"]
        return x

    def of(*shape: int) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(shape, np.float32)

    layer = {"qkv": of(16, 48), "out": of(16, 16), "up": of(16, 64), "down": of(64, 16)}
    return jax.jit(forward).lower([layer] * n, of(8, 16)).as_text()


def constant(n: int) -> str:
    """A dense constant of n megabytes."""
    matrix = f"tensor<{n}x262144xf32>"
    data = np.arange(n << 18, dtype=np.float32).tobytes().hex()
    lines = [f'%1 = stablehlo.constant dense<"0x{data}"> : {matrix}', f"%2 = stablehlo.add %0, %1 : {matrix}"]
    return _main([matrix], lines, "%2", matrix)


def _main(types: list[str], lines: list[str], returned: str, result: str = T) -> str:
    taken = ", ".join(f"%{i}: {each}" for i, each in enumerate(types))
    results = ", ".join([result] * len(returned.split(",")))
    body = "\n".join(lines)
    return f"func.func @main({taken}) -> ({results}) {{\n{body}\nreturn {returned} : {results}\n}}\n"


def _private(name: str, operation: str) -> str:
    return f"func.func private @{name}(%0: {T}) -> {T} {{\n%1 = {operation}\nreturn %1 : {T}\n}}\n"


KINDS: dict[str, tuple[Callable[[int], str], tuple[int, ...]]] = {
    "operations in a chain": (chain, (2_000, 20_000, 200_000)),
    "a running sum": (sums, (100, 500, 1_000)),
    "functions": (functions, (1_000, 10_000)),
    "calls in calls": (nested_calls, (100, 1_000, 10_000)),
    "regions in regions": (nested_regions, (50, 200)),
    "branches": (branches, (1_000, 5_000)),
    "arguments": (arguments, (1_000, 10_000)),
    "layers of a GPT": (layers, (8, 32, 128)),
    "megabytes of a constant": (constant, (10, 100)),
}


def seconds(text: str) -> float:
    """Processor seconds of one rewriting, parsing and printing left out."""
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        start = time.process_time()
        scalify_in_place(module)
        taken = time.process_time() - start
        assert module.operation.verify()
    return taken


@click.command(help=__doc__)
@click.option("--kind", "kinds", multiple=True, type=click.Choice(list(KINDS)), help="Only these kinds.")
@click.option("--most", default=math.inf, help="Leave out larger sizes.")
@click.option("--json", "path", help="Write the rows to this file.")
def main(kinds: tuple[str, ...], most: float, path: str | None) -> None:
    seconds(chain(10))  # rules are loaded once
    rows: list[dict[str, object]] = []
    for name in kinds or KINDS:
        make, sizes = KINDS[name]
        measured = [(n, seconds(make(n))) for n in sizes if n <= most]
        power = None
        if len(measured) > 1:
            (n, t), (m, u) = measured[-2:]
            power = round(math.log(u / t) / math.log(m / n), 2)
        rows.append({"kind": name, "seconds": dict(measured), "power": power})
        click.echo(f"{name:26}" + "".join(f"{n:>9,}: {s:7.3f} s" for n, s in measured) + f"   p = {power}")
    if path is not None:
        with open(path, "w") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
