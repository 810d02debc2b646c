"""Exports for several devices in GSPMD form, as jax wrote them up to 0.6: `mhlo.sharding` and `@Sharding` calls."""

import textwrap

import pytest

from tests.frontend.test_devices import run

PROGRAM = """
import collections, warnings
warnings.simplefilter("ignore")
jax.config.update("jax_use_shardy_partitioner", False)
from scalify_hlo.analysis.calls import walk
from scalify_hlo.bindings import ir, make_context
from scalify_hlo.passes.pipeline import Pipeline
from scalify_hlo.passes.precision_pipeline import precision_pipeline
ns = lambda *spec: NamedSharding(mesh, P(*spec))
rng = np.random.default_rng(0)
w, x = np.float32(rng.standard_normal((64, 64)) / 8), np.float32(rng.standard_normal((32, 64)))
def step(constrain, w, x):
    def loss(w):
        h = constrain(jnp.tanh(x @ w))
        return jnp.mean(constrain(x + h @ w) ** 2)
    return w - 0.1 * jax.grad(loss)(w)
cut = lambda x: jax.lax.with_sharding_constraint(x, ns("i"))
function = jax.jit(lambda w, x: step(cut, w, x), in_shardings=(ns(), ns("i")), out_shardings=ns())
exported = export.export(function)(w, x)
alone = export.export(jax.jit(lambda w, x: step(lambda x: x, w, x)))(w, x)
expected = step(lambda x: x, w, x)
"""


@pytest.mark.parametrize("precision", [None, "fp16", "fp8"])
def test_the_rewritten_module_is_the_one_without_shardings(precision):
    """Operations, types and FP8 products; the calls that only carry a value stay behind the data.

    Constant factors of both sides of such a call are not brought together."""
    run(f"""{textwrap.indent(PROGRAM, "    ")}
    def operations(text):
        with make_context():
            module = ir.Module.parse(text)
            # As for one device, for which some passes are: what the calls hide is what is asked. Of a product whose
            # factor stands behind such a call the result stays wide, which partitioned programs never narrow.
            module.operation.attributes["mhlo.num_partitions"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 1)
            passes = precision_pipeline({precision!r}).elements
            Pipeline(tuple(p for p in passes if p.name != "scalify-narrow-results")).run(module, [])
            return collections.Counter(
                (op.name, str(op.results[0].type)) for op in walk(module.operation)
                if len(op.results) and "@Sharding" not in str(op))
    assert exported.mlir_module().count("@Sharding") >= 4
    with_calls, without = operations(exported.mlir_module()), operations(alone.mlir_module())
    assert not without - with_calls
    kinds = {{name for name, _ in with_calls - without}}
    assert kinds <= {{"stablehlo.constant", "stablehlo.broadcast_in_dim", "stablehlo.multiply"}}
    assert ("stablehlo.multiply", "tensor<32x64xf16>") not in with_calls - without
    assert (with_calls - without).total() <= 5
    """)


def test_the_rewritten_export_runs_on_its_devices():
    run(f"""{textwrap.indent(PROGRAM, "    ")}
    scaled = export.deserialize(sc.scalify_exported(exported).serialize())
    assert scaled.nr_devices == 4 and scaled.mlir_module().count("@Sharding") >= 4
    arguments = sc.as_scaled_array((w, x))
    placed = jax.device_put(arguments, sc.scaled_shardings((ns(), ns("i")), arguments))
    jax.config.update("jax_use_shardy_partitioner", True)  # as the jax that reads old exports has it
    y = jax.jit(scaled.call)(*placed)
    np.testing.assert_allclose(np.asarray(y), expected, rtol=1e-5, atol=1e-6)
    """)
