"""What a training step costs in f32, bf16, f16 and FP8, on the accelerator that JAX finds.

    python -m benchmarks.gpu_training                              # GPT-2 168M (paper, table 2)
    python -m benchmarks.gpu_training --model=llama --preset=1b    # blocks as wide as those of a 1B model
    python -m benchmarks.gpu_training --preset=tiny --no-products  # seconds on a CPU: that the script works
    python -m benchmarks.gpu_training --ahead=h200 --layers=2      # compiled ahead of time, nothing is run
    python -m benchmarks.gpu_training --train=200 --text=FOLDER    # and trained on the words of FOLDER/*.txt

For each row of `experiments.recipes`: time of a step whose loss is read before the next (median) and of one among many
that are not waited for, tokens per second, memory of the compiled program, kernels and FP8 GEMMs in the optimised HLO,
and time to compile. Then products alone, one matrix size of the model in each type.
Needs nothing but jax, numpy and click. Writes a JSON with versions and device after each row. `--keep=DIR` leaves each
row's optimised HLO there and a profile of three steps, which say where the time goes.

f32 products use TF32 on NVIDIA GPUs unless --f32-products=highest.
"""

import dataclasses
import functools
import gzip
import pathlib
import statistics
import time
from typing import Any, Literal

import click
import jax
import jax.numpy as jnp
import numpy as np
from scalify_hlo.tools.command_line import flags_of

import scalify_hlo
from benchmarks.gpu_words import Words, train, words_of
from benchmarks.records import RESULTS, environment, write_json
from experiments.layers import MixedLayers
from experiments.models import ModelName, Size, initial_parameters
from experiments.recipes import RECIPES, Recipe, first_state, train_step
from scalify_hlo.aot.cost import measure_cost
from scalify_hlo.bindings import ir, make_context
from scalify_hlo.execution.xla import count_cost
from scalify_hlo.frontend.scaled_array import is_scaled

# (size, sequences in a batch). 168m is the paper's model at its 32,768 tokens a step.
PRESETS: dict[str, tuple[Size, int]] = {
    "tiny": (Size(1, 32, 2, 1, 16, 64), 2),
    "168m": (Size(8, 1024, 16, 4, 1024, 50304), 32),
    "1b": (Size(2, 2048, 32, 8, 2048, 32000), 8),
}

# Of experiments/recipes.py; f32 and bf16 under `scalify` with their types unchanged, which is what rewriting alone
# costs; and bf16 whose gradients are bf16 too: f32 ones are multiplied in TF32 on NVIDIA GPUs.
_BF16_PRODUCTS = functools.partial(MixedLayers, results=jnp.bfloat16)
ALL_ROWS = RECIPES | {
    "rewritten-f32": Recipe("f32, rewritten", scaled=True),
    "rewritten-bf16": Recipe("bf16 mixed precision, rewritten", MixedLayers, scaled=True),
    "bf16-products": Recipe("bf16 mixed precision, gradients of products in bf16", _BF16_PRODUCTS),
    "packed-compiler-3": dataclasses.replace(RECIPES["compiler-3"], title="#3 FP8, all scales in one vector"),
}
ROWS = (
    "f32", "rewritten-f32", "bf16", "bf16-products", "rewritten-bf16", "compiler-1", "compiler-2", "compiler-3",
    "compiler-4", "packed-compiler-3", "fp8-current",
)  # fmt: skip
_FP8_CALL = "__cublas$lt$matmul$f8"


@dataclasses.dataclass(frozen=True)
class Settings:
    """What is measured. Every field has a `--flag`."""

    model: ModelName = "gpt2"
    # The model's size: the paper's, two blocks as wide as a 1B model's, or one that runs anywhere.
    preset: Literal["168m", "1b", "tiny"] = "168m"
    # Rows of experiments/recipes.py, and `rewritten-f32`, `rewritten-bf16` and `bf16-products`.
    rows: tuple[str, ...] = ROWS
    # Sequences in a batch; 0: the preset's.
    batch: int = 0
    # Layers; 0: the preset's.
    layers: int = 0
    # Compile for this GPU without having one, and estimate the step; needs the extra [aot].
    ahead: Literal["", "h200", "b200", "a100"] = ""
    # Steps that are timed, after two that are not.
    steps: int = 20
    # Matrix products from cuBLASLt instead of Triton, on a GPU: only there do FP8 products with scales become GEMMs.
    cublas: bool = True
    # XLA may keep f16 and bf16 values in f32 within a kernel, as it does by default.
    excess_precision: bool = True
    # Precision of f32 products.
    f32_products: Literal["default", "highest"] = "default"
    # Time products alone, too.
    products: bool = True
    # Steps of training on text, after those that are timed.
    train: int = 0
    # The folder of that text.
    text: str = ""
    # A folder for optimised HLO and profiles; none if empty.
    keep: str = ""


def compiler_options(settings: Settings) -> dict[str, Any]:
    """XLA's options, JAX's own but for what the settings say."""
    options: dict[str, Any] = {"xla_allow_excess_precision": settings.excess_precision}
    if settings.cublas and jax.default_backend() == "gpu":
        options["xla_gpu_enable_triton_gemm"] = False
    return options


def sizes(settings: Settings) -> tuple[Size, int]:
    """The model's size, and sequences in a batch."""
    size, batch = PRESETS[settings.preset]
    return dataclasses.replace(size, layers=settings.layers or size.layers), settings.batch or batch


def _step_of(settings: Settings, row: str) -> tuple[Any, Any, jax.Array, Any]:
    """One step of a row, to be compiled, and what it is called with: state, tokens, learning rate."""
    (size, batch), recipe = sizes(settings), ALL_ROWS[row]
    step: Any = train_step(settings.model, size, recipe)
    generator = np.random.default_rng(0)
    tokens = jnp.asarray(generator.integers(0, size.vocabulary, (batch, size.context + 1)), jnp.int32)
    rate: Any = np.float32(1e-4)
    state = first_state(settings.model, size, recipe, 0)
    if row.startswith("packed-"):
        step, state, rate = _packed(settings, step, recipe.precision, state, tokens, rate)
    elif recipe.scaled:
        step, rate = scalify_hlo.scalify(step, precision=recipe.precision), scalify_hlo.as_scaled_array(rate)
    return jax.jit(step, donate_argnums=0, keep_unused=True), state, tokens, rate


def _packed(settings: Settings, step: Any, precision: Any, state: Any, tokens: Any, rate: Any) -> tuple[Any, Any, Any]:
    """The step exported, rewritten and packed; the state and all scales; the rate's data."""
    platform = "cuda" if settings.ahead or jax.default_backend() == "gpu" else "cpu"
    plain = jax.tree.map(_plain, state, is_leaf=is_scaled)
    exported = jax.export.export(jax.jit(step), platforms=[platform])(plain, tokens, rate)
    packed = scalify_hlo.pack_exported(scalify_hlo.scalify_exported(exported, precision=precision))
    (state, _, rate), scales = scalify_hlo.pack_scales((state, tokens, scalify_hlo.as_scaled_array(rate)))

    def call(state: Any, tokens: jax.Array, rate: Any) -> Any:
        (new, loss), scales = packed.call(state[0], tokens, rate, state[1])
        return (new, scales), loss

    return call, (state, scales), rate


def _plain(leaf: Any) -> Any:
    return jax.ShapeDtypeStruct(leaf.shape, np.float32 if is_scaled(leaf) else leaf.dtype)


def estimate_row(settings: Settings, row: str) -> dict[str, float]:
    """One row of the table of what is compiled ahead of time."""
    step, *arguments = _step_of(settings, row)
    text = step.trace(*arguments).lower(lowering_platforms=("cuda",)).as_text()
    with make_context():
        cost = measure_cost(ir.Module.parse(text), settings.ahead).cost
    return {
        "kernels": cost.kernels,
        "bytes": cost.bytes_accessed,
        "temporary": cost.memory.temporary,
        "fp8_gemms": cost.fp8_gemms,
        "compile_cpu_seconds": cost.compile_cpu_seconds,
        "step_seconds": 0.0 if cost.step is None else cost.step.seconds,
    }


def measure_row(settings: Settings, row: str, words: Words | None) -> dict[str, Any]:
    """One row of the table. words: to train on, after the steps that are timed."""
    size, batch = sizes(settings)
    step, state, tokens, rate = _step_of(settings, row)
    parameters = sum(leaf.size for leaf in jax.tree.leaves(initial_parameters(settings.model, size, 0)))
    start = time.perf_counter()
    lowered = step.lower(state, tokens, rate)
    traced = time.perf_counter()
    compiled = lowered.compile(compiler_options(settings))
    done = time.perf_counter()
    seconds: list[float] = []
    losses: list[float] = []
    for i in range(settings.steps + 2):
        begin = time.perf_counter()
        state, loss = compiled(state, tokens, rate)
        jax.block_until_ready((state, loss))
        losses.append(float(np.asarray(loss)))
        if i >= 2:
            seconds.append(time.perf_counter() - begin)
    begin = time.perf_counter()
    for _ in range(settings.steps):
        state, loss = compiled(state, tokens, rate)
    jax.block_until_ready((state, loss))
    unread = (time.perf_counter() - begin) / settings.steps
    text = compiled.as_text()
    if settings.keep:
        folder = pathlib.Path(settings.keep) / row
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "optimised.hlo.gz").write_bytes(gzip.compress(text.encode()))
        with jax.profiler.trace(folder):
            for _ in range(3):
                state, loss = compiled(state, tokens, rate)
            jax.block_until_ready((state, loss))
    cost = count_cost(text)
    median = statistics.median(seconds)
    return {
        "step_seconds": median,
        "fastest_step_seconds": min(seconds),
        "unread_step_seconds": unread,
        "tokens_per_second": batch * size.context / median,
        "parameters": parameters,
        "memory": _memory(compiled),
        "state_bytes": sum(leaf.nbytes for leaf in jax.tree.leaves(state)),
        "kernels": cost.kernels,
        "hlo_lines": cost.lines,
        "fp8_gemms": text.count(_FP8_CALL),
        "trace_and_rewrite_seconds": traced - start,
        "compile_seconds": done - traced,
        "losses": losses,
    } | ({} if words is None or row.startswith("packed-") else {"training": _trained(settings, row, compiled, words)})


def _trained(settings: Settings, row: str, compiled: Any, words: Words) -> dict[str, Any]:
    (size, batch), recipe = sizes(settings), ALL_ROWS[row]
    state = first_state(settings.model, size, recipe, 0)
    return train(settings.model, size, compiled, state, words, settings.train, batch, recipe.scaled)


def _memory(compiled: Any) -> dict[str, int]:
    found = compiled.memory_analysis()
    names = ("argument", "output", "alias", "temp")
    return {name: int(getattr(found, f"{name}_size_in_bytes", 0)) for name in names}


# --- products alone -----------------------------------------------------------------------------------------------

_TYPES = {"f32": jnp.float32, "bf16": jnp.bfloat16, "f16": jnp.float16, "fp8": jnp.float8_e4m3fn}


def measure_products(settings: Settings) -> dict[str, Any]:
    """The product of the wide linear layer, [B T, D] x [D, 4 D], in each type: seconds and TFLOP/s."""
    size, batch = sizes(settings)
    rows, inner, columns = batch * size.context, size.width, 4 * size.width
    generator = np.random.default_rng(0)
    results: dict[str, Any] = {"shape": [rows, inner, columns]}
    for name, dtype in _TYPES.items():
        # The second operand transposed, as FP8 GEMMs want it.
        a, b = (jnp.asarray(generator.normal(size=shape), jnp.float32).astype(dtype)
                for shape in ((rows, inner), (columns, inner)))  # fmt: skip
        result = jnp.bfloat16 if name == "fp8" else dtype

        def product(a: jax.Array, b: jax.Array, result: Any = result) -> jax.Array:
            return jax.lax.dot_general(a, b, (((1,), (1,)), ((), ())), preferred_element_type=result)

        compiled = jax.jit(product).lower(a, b).compile(compiler_options(settings))
        jax.block_until_ready(compiled(a, b))
        seconds: list[float] = []
        for _ in range(settings.steps):
            begin = time.perf_counter()
            jax.block_until_ready([compiled(a, b) for _ in range(4)])
            seconds.append((time.perf_counter() - begin) / 4)
        median = statistics.median(seconds)
        results[name] = {
            "seconds": median,
            "tflops": 2 * rows * inner * columns / median / 1e12,
            "is_fp8_gemm": _FP8_CALL in compiled.as_text(),
        }
    return results


# --- the command --------------------------------------------------------------------------------------------------


def estimates(record: dict[str, Any]) -> str:
    """The rows that were compiled ahead of time, as Markdown."""
    lines = ["| row | kernels | GB | temporary, GB | FP8 GEMMs | step, ms |", "|:-|-:|-:|-:|-:|-:|"]
    for row, found in record["rows"].items():
        cells = [
            ALL_ROWS[row].title, str(found["kernels"]), f"{found['bytes'] / 1e9:.1f}",
            f"{found['temporary'] / 1e9:.1f}", str(found["fp8_gemms"]), f"{1e3 * found['step_seconds']:.1f}",
        ]  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def table(record: dict[str, Any]) -> str:
    """The rows, and the products, as Markdown."""
    lines = [
        "| row | step, ms | unread | tokens/s | against f32 | temp, MiB | state, MiB | kernels | FP8 GEMMs | loss |",
        "|:-|-:|-:|-:|-:|-:|-:|-:|-:|-:|",
    ]
    base = record["rows"].get("f32", {}).get("step_seconds")
    for row, found in record["rows"].items():
        speedup = f"{base / found['step_seconds']:.2f}x" if base else "-"
        cells = [
            ALL_ROWS[row].title, f"{1e3 * found['step_seconds']:.2f}", f"{1e3 * found['unread_step_seconds']:.2f}",
            f"{found['tokens_per_second']:,.0f}", speedup,
            f"{found['memory']['temp'] / 2**20:.0f}", f"{found['state_bytes'] / 2**20:.0f}", str(found["kernels"]),
            str(found["fp8_gemms"]), f"{found['losses'][-1]:.3f}",
        ]  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    if "products" in record:
        shape = " x ".join(map(str, record["products"]["shape"]))
        lines += ["", f"| product {shape} | ms | TFLOP/s |", "|:-|-:|-:|"]
        for name in _TYPES:
            found = record["products"][name]
            lines.append(f"| {name} | {1e3 * found['seconds']:.3f} | {found['tflops']:.1f} |")
    return "\n".join(lines)


@click.command(help=__doc__)
@flags_of(Settings, "settings")
@click.option("--out", type=click.Path(path_type=pathlib.Path), help="[default: benchmarks/results/gpu_MODEL_PRESET]")
def main(settings: Settings, out: pathlib.Path | None) -> None:
    unknown = [row for row in settings.rows if row not in ALL_ROWS]
    if unknown:
        raise click.BadParameter(f"unknown row '{unknown[0]}'; known are {', '.join(ALL_ROWS)}", param_hint="--rows")
    name = f"gpu_{settings.model}_{settings.preset}"
    out = out or RESULTS / f"{name}{'-' if settings.ahead else ''}{settings.ahead}.json"
    device = jax.devices()[0]
    record: dict[str, Any] = {
        "settings": dataclasses.asdict(settings),
        "environment": environment() | {"device": device.device_kind, "platform": device.platform},
        "rows": {},
    }
    size, _ = sizes(settings)
    words = words_of(pathlib.Path(settings.text), size.vocabulary) if settings.train else None
    with jax.default_matmul_precision("highest" if settings.f32_products == "highest" else "default"):
        for row in settings.rows:
            click.echo(f"{row} ...", err=True)
            try:
                found = estimate_row(settings, row) if settings.ahead else measure_row(settings, row, words)
                record["rows"][row] = found
            except jax.errors.JaxRuntimeError as error:
                if "RESOURCE_EXHAUSTED" not in str(error):  # out of memory: the other rows may fit
                    raise
                click.echo(f"{row}: {str(error).splitlines()[0]}", err=True)
                continue
            write_json(out, record)
        if settings.products and not settings.ahead:
            record["products"] = measure_products(settings)
            write_json(out, record)
    click.echo((estimates if settings.ahead else table)(record))
    click.echo(f"written to {out}")


if __name__ == "__main__":
    main()
