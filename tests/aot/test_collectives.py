"""What small steps move between 8 H200, to the byte, as compiled ahead of time: rewritten, and as bf16 programs."""

import dataclasses
import functools
import pathlib
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from click.testing import CliRunner
from jax.sharding import AbstractMesh, NamedSharding, PartitionSpec
from scalify_hlo.tools.cost import main as cost_main
from scalify_hlo.tools.cost import table as cost_table
from scalify_hlo.tools.fp8_lint import main

from scalify_hlo.aot.collectives import Collective, collectives, total, wide
from scalify_hlo.aot.compiler import compile_for
from scalify_hlo.aot.cost import read_cost
from scalify_hlo.aot.hlo_text import parse
from scalify_hlo.aot.targets import target
from scalify_hlo.bindings import ir, make_context
from scalify_hlo.execution.memory import Memory
from scalify_hlo.passes.precision_pipeline import precision_pipeline
from tests.aot.extra import needs_compiler

TEXT = """HloModule jit_f, entry_computation_layout={(f32[8,4]{1,0})->f32[8,4]{1,0}}

%sum (p: f32[], q: f32[]) -> f32[] {
  %p = f32[] parameter(0)
  %q = f32[] parameter(1)
  ROOT %add.1 = f32[] add(%p, %q)
}

ENTRY %main (a: f32[8,4], b: f16[2,4]) -> f32[8,4] {
  %a = f32[8,4]{1,0} parameter(0)
  %b = f16[2,4]{1,0} parameter(1)
  %all-reduce-start = f32[8,4]{1,0} all-reduce-start(%a), replica_groups={{0,1,2,3}}, to_apply=%sum, METADATA
  %all-gather-start = (f16[2,4]{1,0}, f16[8,4]{1,0}) all-gather-start(%b), replica_groups={{0,1,2,3}}, dimensions={0}
  %reduce-scatter = f32[2,4]{1,0} reduce-scatter(%a), replica_groups={{0,1,2,3}}, dimensions={0}, to_apply=%sum
  ROOT %all-reduce-done = f32[8,4]{1,0} all-reduce-done(%all-reduce-start)
}
""".replace("METADATA", 'metadata={op_name="jit(f)/dot_general/scalify.op.1"}')


def test_collectives_have_kinds_bytes_and_sources() -> None:
    assert collectives(parse(TEXT), ["a.py:1", "a.py:2"]) == (
        Collective("all-reduce", "f32", 1, 128, 1, "a.py:2"),
        Collective("all-gather", "f16", 1, 64, 1, ""),
        Collective("reduce-scatter", "f32", 1, 128, 1, ""),
    )
    large = [Collective(kind, element, 1, 4096, 2, "") for kind, element in (("a", "f32"), ("b", "bf16"), ("c", "s32"))]
    assert [each.kind for each in wide(large, 16)] == ["a"] and [each.kind for each in wide(large, 8)] == ["a", "b"]
    assert not wide(collectives(parse(TEXT)), 8) and total(large) == 3 * 8192  # small ones are statistics


def test_the_cost_has_collectives() -> None:
    cost = read_cost(TEXT, Memory(0, 0, 0, 0), "h200", 0.0, 0.0, ["a.py:1", "a.py:2"]).cost
    assert total(cost.collectives) == 320
    alone = cost_table([cost], None, 0)
    assert "between devices" in alone and "    1        128        1  all-reduce f32  a.py:2" in alone
    both = cost_table([dataclasses.replace(cost, collectives=()), cost], None, 0).splitlines()
    assert [line.split()[2:] for line in both if line.startswith("between devices")] == [["0", "B", "320", "B"]]
    none = cost_table([dataclasses.replace(cost, collectives=())], None, 0)
    assert "between devices" not in none


MESHES = {"two_by_four": AbstractMesh((2, 4), ("d", "i"))}
MESH = AbstractMesh((8,), ("i",))
# Where the two weights of a layer are cut, its input, and its hidden units.
STRATEGIES: dict[str, tuple[tuple[Any, ...], ...]] = {
    "data": ((), (), ("i",), ("i",)),
    "tensor": ((None, "i"), ("i",), (), (None, "i")),
    "sequence": ((None, "i"), ("i",), ("i",), (None, "i")),
    "zero": (("i",), ("i",), ("i",), ("i",)),
    "two_by_four": ((None, "i"), ("i",), ("d",), ("d", "i")),
}
# Weights are gathered in FP8, but the first and the last layer's; activations and their gradients are, where they are
# cut between layers: of the bf16 program's bytes.
FP8_GATHERS = {"zero": Fraction(7, 8), "sequence": Fraction(6, 7)}
WIDTH, HIDDEN, BATCH, VOCABULARY = 128, 256, 64, 32


def _step(w: Any, x: jax.Array, dtype: Any, rows: Any) -> Any:
    def loss(w: Any) -> jax.Array:
        y = x.astype(dtype)
        for a, b in w:
            h = jax.lax.with_sharding_constraint(jnp.tanh(y @ a.astype(dtype)), rows[0])
            y = jax.lax.with_sharding_constraint(y + h @ b.astype(dtype), rows[1])
        return jnp.mean(y.astype(jnp.float32) ** 2)

    return jax.tree.map(lambda w, g: w - 0.125 * g, w, jax.grad(loss)(w))


@functools.cache
def lowered(strategy: str, dtype: str) -> str:
    mesh = MESHES.get(strategy, MESH)

    def array(shape: tuple[int, ...], *spec: Any) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(shape, np.float32, sharding=NamedSharding(mesh, PartitionSpec(*spec)))

    a, b, x, hidden = STRATEGIES[strategy]
    w = [(array((WIDTH, HIDDEN), *a), array((HIDDEN, WIDTH), *b))] * 2
    rows = [NamedSharding(mesh, PartitionSpec(*spec)) for spec in (hidden, x)]
    step = jax.jit(functools.partial(_step, dtype=jnp.dtype(dtype), rows=rows))
    return step.trace(w, array((BATCH, WIDTH), *x)).lower(lowering_platforms=("cuda",)).as_text()


def moved(strategy: str, precision: str | None, dtype: str = "float32") -> tuple[dict[tuple[str, str], int], int]:
    """Bytes by kind and type, and in all."""
    with make_context():
        module = ir.Module.parse(lowered(strategy, dtype))
        if precision is not None:
            precision_pipeline(precision).run(module, [])
        found = collectives(parse(compile_for(module, target("h200")).text))
    sizes: dict[tuple[str, str], int] = {}
    for each in found:
        if each.size > 1024:
            key = each.kind, each.element
            sizes[key] = sizes.get(key, 0) + each.size * each.times
    return sizes, sum(sizes.values())


def _scanned_step(w: Any, x: jax.Array, dtype: Any) -> Any:
    rows = NamedSharding(MESH, PartitionSpec("i"))

    def layer(y: jax.Array, each: Any) -> tuple[jax.Array, None]:
        h = jax.lax.with_sharding_constraint(jnp.tanh(y @ each[0].astype(dtype)), rows)
        return jax.lax.with_sharding_constraint(y + h @ each[1].astype(dtype), rows), None

    def loss(w: Any) -> jax.Array:
        return jnp.mean(jax.lax.scan(layer, x.astype(dtype), w)[0].astype(jnp.float32) ** 2)

    return jax.tree.map(lambda w, g: w - 0.125 * g, w, jax.grad(loss)(w))


@needs_compiler
@pytest.mark.parametrize(
    ("spec", "of_bf16"), [((), Fraction(1)), ((None, "i"), Fraction(5, 6)), ((None, None, "i"), Fraction(5, 6))]
)
def test_layers_under_scan_move_no_more(spec: tuple[Any, ...], of_bf16: Fraction) -> None:
    """Data parallel, and ZeRO-3 with weights cut along either side: fp8 gathers half of them in FP8."""

    def size(dtype: Any, precision: str | None) -> int:
        def array(shape: tuple[int, ...], spec: tuple[Any, ...]) -> jax.ShapeDtypeStruct:
            return jax.ShapeDtypeStruct(shape, np.float32, sharding=NamedSharding(MESH, PartitionSpec(*spec)))

        w = array((3, WIDTH, HIDDEN), spec), array((3, HIDDEN, WIDTH), spec)
        step = jax.jit(functools.partial(_scanned_step, dtype=dtype))
        text = step.trace(w, array((BATCH, WIDTH), ("i",))).lower(lowering_platforms=("cuda",)).as_text()
        with make_context():
            module = ir.Module.parse(text)
            if precision is not None:
                precision_pipeline(precision).run(module, [])
            found = collectives(parse(compile_for(module, target("h200")).text))
        return sum(each.size * each.times for each in found if each.size > 1024)

    narrow = size(jnp.bfloat16, None)
    assert size(jnp.float32, "fp16") == narrow
    assert size(jnp.float32, "fp8") == narrow * of_bf16


def _embedding_step(p: Any, tokens: jax.Array) -> Any:
    def loss(p: Any) -> jax.Array:
        return jnp.mean(jnp.tanh(p["e"][tokens] @ p["w"] + p["b"]) ** 2)

    return jax.tree.map(lambda w, g: w - 0.125 * g, p, jax.grad(loss)(p))


@needs_compiler
@pytest.mark.parametrize("precision", ["fp16", "fp8"])
def test_gradients_of_embeddings_and_biases_are_summed_in_f16(precision: str) -> None:
    """Biases too, whose gradients nothing rounds: the type is that of the policy's sums."""
    whole, rows = NamedSharding(MESH, PartitionSpec()), NamedSharding(MESH, PartitionSpec("i"))
    shapes = {"e": (VOCABULARY, WIDTH), "w": (WIDTH, HIDDEN), "b": (HIDDEN,)}
    p = {name: jax.ShapeDtypeStruct(shape, np.float32, sharding=whole) for name, shape in shapes.items()}
    tokens = jax.ShapeDtypeStruct((BATCH,), np.int32, sharding=rows)
    step = jax.jit(_embedding_step)
    text = step.trace(p, tokens).lower(lowering_platforms=("cuda",)).as_text()
    with make_context():
        module = ir.Module.parse(text)
        precision_pipeline(precision).run(module, [])
        found = collectives(parse(compile_for(module, target("h200")).text))
    sizes = dict.fromkeys(("f16", "f32"), 0)
    for each in found:
        assert each.kind == "all-reduce"
        sizes[each.element] += each.size if each.size >= HIDDEN else 0
    assert sizes == {"f16": ((VOCABULARY + HIDDEN) * WIDTH + HIDDEN) * 2, "f32": 0}


@needs_compiler
def test_a_weight_is_gathered_once_for_a_layer_and_its_gradient() -> None:
    """Cut along both axes of a mesh, and contracted along one of them: the gradient's product is summed in parts."""
    mesh = MESHES["two_by_four"]
    cut = {name: NamedSharding(mesh, PartitionSpec(*spec)) for name, spec in {"a": ("d", "i"), "b": ("i", "d")}.items()}
    rows, units = (NamedSharding(mesh, PartitionSpec(*spec)) for spec in (("d",), ("d", "i")))

    def step(p: Any, x: jax.Array, dtype: Any) -> Any:
        def loss(p: Any) -> jax.Array:
            y = x.astype(dtype)
            h = jax.lax.with_sharding_constraint(jnp.tanh(jnp.sin(y) @ p["a"].astype(dtype)), units)
            y = jax.lax.with_sharding_constraint(y + h @ p["b"].astype(dtype), rows)
            h = jax.lax.with_sharding_constraint(jnp.tanh(jnp.sin(y) @ p["a"].astype(dtype)), units)
            return jnp.mean(h.astype(jnp.float32) ** 2)

        return jax.tree.map(lambda w, g: w - 0.125 * g, p, jax.grad(loss)(p))

    shapes = {"a": (WIDTH, HIDDEN), "b": (HIDDEN, WIDTH)}
    p = {name: jax.ShapeDtypeStruct(shape, np.float32, sharding=cut[name]) for name, shape in shapes.items()}
    x = jax.ShapeDtypeStruct((BATCH, WIDTH), np.float32, sharding=rows)

    def gathered(dtype: Any, precision: str | None) -> int:
        lowering = jax.jit(functools.partial(step, dtype=dtype)).trace(p, x).lower(lowering_platforms=("cuda",))
        with make_context():
            module = ir.Module.parse(lowering.as_text())
            if precision is not None:
                precision_pipeline(precision).run(module, [])
            found = collectives(parse(compile_for(module, target("h200")).text))
        return sum(each.size for each in found if each.kind == "all-gather")

    weights = 2 * WIDTH * HIDDEN // 4
    assert gathered(jnp.float32, None) == gathered(jnp.float32, "f32") == 4 * weights
    assert gathered(jnp.float32, "fp16") == 2 * weights <= gathered(jnp.bfloat16, None)


@needs_compiler
def test_a_table_of_master_weights_is_gathered_as_it_is_rounded() -> None:
    """ZeRO-3: all rows of an embedding in f32 are cut over the devices, and rows of it are read in f16."""
    rows = NamedSharding(MESH, PartitionSpec("i"))
    shapes = {"e": (VOCABULARY, WIDTH), "w": (WIDTH, HIDDEN), "b": (HIDDEN,)}
    p = {name: jax.ShapeDtypeStruct(shape, np.float32, sharding=rows) for name, shape in shapes.items()}
    tokens = jax.ShapeDtypeStruct((BATCH,), np.int32, sharding=rows)
    text = jax.jit(_embedding_step).trace(p, tokens).lower(lowering_platforms=("cuda",)).as_text()
    with make_context():
        module = ir.Module.parse(text)
        precision_pipeline("fp16").run(module, [])
        found = collectives(parse(compile_for(module, target("h200")).text))
    gathered = [each for each in found if each.kind == "all-gather" and each.size >= VOCABULARY * WIDTH]
    assert gathered and all(each.element == "f16" for each in gathered), found


@needs_compiler
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_no_more_bytes_than_the_original_and_the_bf16_program(strategy: str) -> None:
    original, narrow = moved(strategy, None), moved(strategy, None, "bfloat16")
    assert narrow[1] * 2 == original[1]
    assert moved(strategy, "f32") == original
    assert moved(strategy, "bf16") == narrow
    for precision in ("fp16", "fp8"):
        sizes, size = moved(strategy, precision)
        of_bf16 = FP8_GATHERS.get(strategy, Fraction(1)) if precision == "fp8" else 1
        assert size == narrow[1] * of_bf16, sizes
        assert all(element in ("f16", "f8e4m3fn", "f8e5m2") for _, element in sizes)


@needs_compiler
@pytest.mark.parametrize(
    ("strategy", "precision", "expected"),
    [("tensor", "fp8", [4]), ("zero", "fp8", [1, 4]), ("tensor", "fp8-fp16-state", [4, 4]),
     ("zero", "fp8-fp16-state", [1, 4, 4]), ("two_by_four", "fp8-fp16-state", [1, 4, 4])],
)  # fmt: skip
def test_statistics_of_one_place_are_one_vector(strategy: str, precision: str, expected: list[int]) -> None:
    """Of the logits' gradient, of the four gradients of weights, and of the four new weights: numbers in each."""
    with make_context():
        module = ir.Module.parse(lowered(strategy, "float32"))
        precision_pipeline(precision).run(module, [])
        found = collectives(parse(compile_for(module, target("h200")).text))
    small = [each for each in found if each.size <= 1024]
    assert {(each.kind, each.element) for each in small} == {("all-reduce", "f32")}
    assert [each.size // 4 for each in small] == expected


@needs_compiler
def test_the_commands_list_collectives_and_the_lint_forbids_wide_ones(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "step.mlir"
    path.write_text(lowered("data", "bfloat16"))
    passed = CliRunner().invoke(main, [str(path), "--forbid-wide-collectives=f16"])
    assert passed.exit_code == 0 and "all-reduce bf16" in passed.output
    assert "262,144 bytes between devices" in passed.output
    cost = CliRunner().invoke(cost_main, [str(path), "--only", "--target=h200"])
    assert cost.exit_code == 0 and "262,144 bytes between devices" in cost.output
    path.write_text(lowered("data", "float32"))
    refused = CliRunner().invoke(main, [str(path), "--forbid-wide-collectives=f16"])
    assert refused.exit_code == 1 and "wider than f16" in refused.output
