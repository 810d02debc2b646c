"""scalify_exported: an Exported over pairs, with JAX's calling convention around it."""

import dataclasses
import subprocess
import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export
from jax.sharding import AxisType, NamedSharding, PartitionSpec

import scalify_hlo as sc
from scalify_hlo import ScaledArray
from scalify_hlo.bindings import ir, make_context, stablehlo

RNG = np.random.default_rng(0)
PARAMS = {"w": np.float32(RNG.standard_normal((3, 4))), "b": np.float32(RNG.standard_normal(4))}
X = np.float32(RNG.standard_normal((2, 3)))


def model(params, x, unused=None, *, factor=1.0):
    del unused
    y = jnp.tanh(x @ params["w"] + params["b"]) * factor
    return {"y": y, "index": jnp.argmax(y)}


def arguments():
    return sc.as_scaled_array(PARAMS), sc.as_scaled_array(X)


def close(result, **others):
    expected = model(PARAMS, X, **others)
    np.testing.assert_allclose(np.asarray(result["y"]), expected["y"], rtol=1e-5, atol=1e-6)
    assert int(result["index"]) == int(expected["index"])


def test_call():
    scaled = sc.scalify_exported(export.export(jax.jit(model))(PARAMS, X))
    assert isinstance(scaled, export.Exported)
    result = scaled.call(*arguments())
    assert isinstance(result["y"], ScaledArray) and isinstance(result["index"], jax.Array)
    close(result)
    close(jax.jit(scaled.call)(*arguments()))


def test_serialised_and_loaded():
    scaled = sc.scalify_exported(export.export(jax.jit(model))(PARAMS, X))
    loaded = export.deserialize(scaled.serialize())
    close(loaded.call(*arguments()))
    assert loaded.in_tree == scaled.in_tree and loaded.out_tree == scaled.out_tree


def test_loaded_where_only_jax_is_known(tmp_path):
    """Pairs as tuples: the process that loads the file does not import this package."""
    scaled = sc.scalify_exported(export.export(jax.jit(model))(PARAMS, X), container="tuple")
    (tmp_path / "model.bin").write_bytes(scaled.serialize())
    params, x = jax.tree.map(lambda v: (v.data, v.scale), arguments(), is_leaf=lambda v: isinstance(v, ScaledArray))
    np.savez(tmp_path / "in.npz", w=params["w"][0], ws=params["w"][1], b=params["b"][0], bs=params["b"][1],
             x=x[0], xs=x[1])  # fmt: skip
    program = f"""
import sys, jax, numpy as np
exported = jax.export.deserialize(bytearray(open({str(tmp_path / "model.bin")!r}, "rb").read()))
a = np.load({str(tmp_path / "in.npz")!r})
result = exported.call({{"w": (a["w"], a["ws"]), "b": (a["b"], a["bs"])}}, (a["x"], a["xs"]))
data, scale = result["y"]
np.save({str(tmp_path / "out.npy")!r}, np.asarray(data) * np.asarray(scale))
assert not any(name.startswith("scalify") for name in sys.modules)
"""
    subprocess.run([sys.executable, "-c", "import jax.export\n" + program], check=True, cwd=tmp_path)
    np.testing.assert_allclose(np.load(tmp_path / "out.npy"), model(PARAMS, X)["y"], rtol=1e-5, atol=1e-6)


def test_loaded_where_this_package_is_imported(tmp_path):
    scaled = sc.scalify_exported(export.export(jax.jit(model))(PARAMS, X))
    (tmp_path / "model.bin").write_bytes(scaled.serialize())
    program = f"""
import jax.export, numpy as np, scalify_hlo as sc
exported = jax.export.deserialize(bytearray(open({str(tmp_path / "model.bin")!r}, "rb").read()))
assert "ScaledArray" in str(exported.in_tree)
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_keyword_and_unused_arguments():
    unused = np.ones(5, np.float32)
    exported = export.export(jax.jit(model))(PARAMS, X, unused, factor=np.float32(3))
    assert exported.module_kept_var_idx == (0, 1, 2, 4)
    scaled = sc.scalify_exported(exported)
    assert scaled.module_kept_var_idx == (0, 1, 2, 3, 4, 5, 8, 9)
    others = sc.as_scaled_array(unused), sc.as_scaled_array(np.float32(3))
    close(scaled.call(*arguments(), others[0], factor=others[1]), factor=np.float32(3))


def test_platforms():
    exported = export.export(jax.jit(model), platforms=["cpu", "cuda"])(PARAMS, X)
    scaled = sc.scalify_exported(exported)
    assert scaled.platforms == ("cpu", "cuda")
    close(scaled.call(*arguments()))
    loaded = export.deserialize(scaled.serialize())
    close(loaded.call(*arguments()))


def test_symbolic_shapes():
    rows, columns = export.symbolic_shape("rows, columns")
    exported = export.export(jax.jit(lambda x, w: jnp.sin(x) @ w))(
        jax.ShapeDtypeStruct((rows, columns), jnp.float32), jax.ShapeDtypeStruct((columns, 4), jnp.float32)
    )
    scaled = export.deserialize(sc.scalify_exported(exported).serialize())
    result = scaled.call(arguments()[1], arguments()[0]["w"])
    np.testing.assert_allclose(np.asarray(result), np.sin(X) @ PARAMS["w"], rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match="columns"):
        scaled.call(arguments()[1], sc.as_scaled_array(np.ones((7, 4), np.float32)))


def _error(scaled: Any, exported: Any, *arrays: np.ndarray) -> float:
    """Of what a rewritten export gives for arrays, stored in the types that it takes, relative to the original."""
    pairs = [sc.as_scaled_array(array) for array in arrays]
    stored = [aval.dtype for aval in scaled.in_avals[::2]]
    pairs = [ScaledArray(p.data.astype(d), p.scale) for p, d in zip(pairs, stored, strict=True)]
    expected = np.asarray(exported.call(*arrays))
    return float(np.linalg.norm(np.asarray(scaled.call(*pairs)) - expected) / np.linalg.norm(expected))


@pytest.mark.parametrize("precision", ["fp16-state", "fp8", "mxfp8", "nvfp4"])
def test_weights_of_symbolic_shape_are_stored_in_narrow_types(precision: Any):
    """A weight's new type had the size -1 where the size is unknown: an error of MLIR."""
    rows, columns = export.symbolic_shape("rows, columns")
    exported = export.export(jax.jit(lambda w, x: jax.nn.gelu(x @ w) @ w))(
        jax.ShapeDtypeStruct((columns, columns), jnp.float32), jax.ShapeDtypeStruct((rows, columns), jnp.float32)
    )
    scaled = sc.scalify_exported(exported, precision=precision)
    w, x = (
        np.linspace(-1, 1, 64, dtype=np.float32).reshape(8, 8),
        np.linspace(-2, 2, 24, dtype=np.float32).reshape(3, 8),
    )
    assert _error(scaled, exported, w, x) <= (0.01 if precision == "fp16-state" else 0.1)


def test_products_of_symbolic_sizes_are_fp8():
    """A size that is not known counted as 1, of which FP8 gains nothing."""
    rows, time = export.symbolic_shape("rows, time")
    weight = jax.ShapeDtypeStruct((64, 64), jnp.float32)
    exported = export.export(jax.jit(lambda w, v, x: jax.nn.gelu(jax.nn.gelu(x @ w) @ v) @ w))(
        weight, weight, jax.ShapeDtypeStruct((rows, time, 64), jnp.float32)
    )
    scaled = sc.scalify_exported(exported, precision="fp8")
    products = [line for line in scaled.mlir_module().splitlines() if "stablehlo.dot_general" in line]
    assert sum(line.count("f8E4M3FN") >= 2 for line in products) == 3
    generator = np.random.default_rng(0)
    w, v = (np.float32(generator.standard_normal((64, 64)) / 8) for _ in range(2))
    x = np.float32(generator.standard_normal((2, 3, 64)))
    assert _error(scaled, exported, w, v, x) <= 0.1


def test_choice_of_inputs():
    exported = export.export(jax.jit(model))(PARAMS, X)
    for scaled in ("1", "params*", [0, 1], lambda name, _: name.startswith("args[0]")):
        tree = sc.scalify_exported(exported, scaled).in_tree
        (params, x), _ = jax.tree.unflatten(tree, range(tree.num_leaves))
        pairs = isinstance(params["b"], ScaledArray), isinstance(params["w"], ScaledArray), isinstance(x, ScaledArray)
        assert pairs == ((False, True, False) if scaled == "1" else (True, True, False))
    untouched = sc.scalify_exported(exported, "none")
    assert untouched.mlir_module() == exported.mlir_module()
    assert untouched.in_tree == exported.in_tree


def test_wrong_choices_are_refused():
    exported = export.export(jax.jit(lambda x, n: x * n))(X, np.int32(1))
    with pytest.raises(sc.ScalifyError, match=r"has 2 inputs, 0 to 1; there is no input 7"):
        sc.scalify_exported(exported, [0, 7])
    with pytest.raises(sc.ScalifyError, match=r"input 1 \(args\[1\]\) of .* is i(nt)?32.* cannot be scaled"):
        sc.scalify_exported(exported, [1])
    with pytest.raises(sc.ScalifyError, match="no argument is called 'nothing'"):
        sc.scalify_exported(exported, "nothing")


def test_types_with_keys():
    """A PRNG key is one input of an extended type."""
    exported = export.export(jax.jit(lambda key, x: x * jax.random.normal(key, x.shape)))(jax.random.key(0), X)
    result = sc.scalify_exported(exported).call(jax.random.key(0), arguments()[1])
    np.testing.assert_allclose(np.asarray(result), X * jax.random.normal(jax.random.key(0), X.shape), rtol=1e-6)


def test_plain_results_and_e8m0():
    exported = export.export(jax.jit(model))(PARAMS, X)
    plain = sc.scalify_exported(exported, options=sc.ScalifyOptions(plain_results=True))
    assert isinstance(plain.call(*arguments())["y"], jax.Array)
    e8m0 = sc.scalify_exported(exported, options=sc.ScalifyOptions(scale_dtype="e8m0"))
    params, x = (sc.as_scaled_array(tree, scale_dtype=jnp.float8_e8m0fnu) for tree in (PARAMS, X))
    result = e8m0.call(params, x)
    assert result["y"].scale.dtype == jnp.float8_e8m0fnu
    close(result)


def test_scales_with_a_shape():
    """One scale for each column of the weights; the bias keeps those of its only dimension."""
    exported = export.export(jax.jit(lambda p: jax.tree.map(lambda v: v - v / 4, p)))(PARAMS)
    scaled = sc.scalify_exported(
        exported, scale_shapes=lambda name, aval: (1, 4) if "w" in name else (4,) if aval.shape == (4,) else ()
    )
    loaded = export.deserialize(scaled.serialize())
    scales = np.float32([1, 2.0**-10, 2.0**10, 4])
    params = {"w": ScaledArray(PARAMS["w"], scales[None]), "b": ScaledArray(PARAMS["b"], scales)}
    for _ in range(2):
        expected = jax.tree.map(lambda v: 0.75 * np.asarray(v), params, is_leaf=lambda v: isinstance(v, ScaledArray))
        params = loaded.call(params)
        assert params["w"].scale.shape == (1, 4) and params["b"].scale.shape == (4,)
        np.testing.assert_array_equal(np.asarray(params["w"]), expected["w"])
        np.testing.assert_array_equal(np.asarray(params["b"]), expected["b"])
    with pytest.raises(sc.ScalifyError, match=r"input 1 \(args\[0\]\['w'\]\) of .*shape \(2, 4\) does not belong"):
        sc.scalify_exported(exported, scale_shapes=lambda name, _: (2, 4) if "w" in name else ())


def test_donation_is_kept():
    # The second argument may be reused for the first result of its type, result 1; which is result 2 of pairs.
    exported = export.export(jax.jit(lambda x, y: (jnp.sum(x), y + 1), donate_argnums=1))(X, X)
    assert "tf.aliasing_output = 1" in exported.mlir_module()
    assert "tf.aliasing_output = 2" in sc.scalify_exported(exported).mlir_module()


def test_shardings_are_kept():
    """Shardings of data are kept, scales are replicated."""
    mesh = jax.make_mesh((1,), ("i",), axis_types=(AxisType.Auto,))
    sharding = NamedSharding(mesh, PartitionSpec("i"))
    exported = export.export(jax.jit(lambda x: x * 2, in_shardings=sharding, out_shardings=sharding))(X)
    scaled = sc.scalify_exported(exported)
    specs = [s.spec for s in scaled.in_shardings_jax(mesh)]
    assert specs == [PartitionSpec("i"), PartitionSpec()]
    assert [s.spec for s in scaled.out_shardings_jax(mesh)] == specs
    np.testing.assert_array_equal(np.asarray(scaled.call(arguments()[1])), 2 * X)
    np.testing.assert_array_equal(np.asarray(export.deserialize(scaled.serialize()).call(arguments()[1])), 2 * X)


def test_derivative_is_dropped_and_says_so():
    exported = export.export(jax.jit(lambda x: jnp.sum(jnp.sin(x))))(X)
    scaled = sc.scalify_exported(exported)
    assert exported.has_vjp() and not scaled.has_vjp()
    with pytest.raises(NotImplementedError, match=r"scalify_exported\(exported.vjp\(\)\)"):
        jax.grad(lambda x: scaled.call(x).data)(arguments()[1])
    with pytest.raises(ValueError, match="vjp"):
        scaled.serialize(vjp_order=1)


def test_exported_derivative_is_transformed():
    exported = export.export(jax.jit(lambda x: jnp.sum(jnp.sin(x))))(X)
    pullback = sc.scalify_exported(exported.vjp())
    (gradient,) = jax.tree.leaves(
        pullback.call(arguments()[1], sc.as_scaled_array(np.float32(1))), is_leaf=lambda v: isinstance(v, ScaledArray)
    )
    np.testing.assert_allclose(np.asarray(gradient), np.cos(X), rtol=1e-6)


def test_same_module_as_the_engine_makes():
    exported = export.export(jax.jit(model))(PARAMS, X)
    assert sc.scalify_exported(exported).mlir_module().count("stablehlo.") > 0
    rewritten = sc.rewrite_module(exported.mlir_module())
    ours = sc.scalify_exported(exported).mlir_module()

    def operations(text):
        return [line.split(" loc(")[0] for line in text.splitlines() if not line.startswith("#loc")]

    body = [line for line in operations(ours) if "stablehlo." in line]
    assert body == [line for line in operations(rewritten) if "stablehlo." in line]


@pytest.mark.parametrize("given", [3, jax.jit(model), b"module {}"])
def test_what_is_no_exported(given: Any):
    with pytest.raises(
        TypeError, match=f"takes a jax.export.Exported, as .*, not {type(given).__name__}: .*rewrite_module"
    ):
        sc.scalify_exported(given)


def test_bf16_without_pairs():
    """Plain arrays in and out, where nothing needs a scale."""
    w = np.eye(16, dtype=np.float32) / 3
    exported = export.export(jax.jit(lambda w, x: x @ w @ w))(w, w)
    plain = sc.scalify_exported(exported, "none", precision="bf16")
    assert plain.in_tree == exported.in_tree and "bf16" in plain.mlir_module()
    np.testing.assert_allclose(plain.call(w, w), w / 9, rtol=0.02)


def test_unsupported_operation():
    def function(x):
        return jax.ffi.ffi_call("unknown", jax.ShapeDtypeStruct(x.shape, x.dtype))(x * 2)

    allowed = [export.DisabledSafetyCheck.custom_call("unknown")]
    exported = export.export(jax.jit(function), disabled_checks=allowed)(X)
    with pytest.raises(sc.ScalifyError, match="no scale rule for custom call 'unknown'"):
        sc.scalify_exported(exported)
    remarks = []
    relaxed = sc.scalify_exported(exported, options=sc.ScalifyOptions(on_unsupported="unscale"), remarks=remarks)
    assert "unknown" in remarks[0].message
    assert "custom_call @unknown" in relaxed.mlir_module()
    assert relaxed.disabled_safety_checks == tuple(allowed)


def test_tokens_stay_in_front():
    """Ordered effects are tokens before the arrays. JAX exports no program that has one: the module is made by hand."""
    exported = export.export(jax.jit(lambda x: x * 2))(X)
    with make_context() as context:
        module = ir.Module.parse(
            """
        func.func public @main(%t: !stablehlo.token, %x: tensor<2x3xf32>) -> (!stablehlo.token, tensor<2x3xf32>) {
          %0 = stablehlo.after_all %t, %t : !stablehlo.token
          %1 = stablehlo.add %x, %x : tensor<2x3xf32>
          return %0, %1 : !stablehlo.token, tensor<2x3xf32>
        }""",
            context,
        )
        artifact = stablehlo.serialize_portable_artifact(module, stablehlo.get_current_version())
    exported = dataclasses.replace(exported, mlir_module_serialized=artifact, ordered_effects=("an effect",))
    scaled = sc.scalify_exported(exported)
    assert scaled.out_tree == jax.tree.structure(ScaledArray(0, 0))
    main = next(line for line in scaled.mlir_module().splitlines() if "@main" in line)
    arguments, results = main.split("->")
    for part in (arguments, results):
        assert part.index("token") < part.index("tensor<2x3xf32>") < part.index("tensor<f32>")


def test_scales_with_a_shape_by_option():
    """One scale for each output channel of the weights; an input that the module does not use has one."""
    exported = export.export(jax.jit(lambda x, w, _: (x @ w, w)))(X, X.T.copy(), X)
    result = sc.scalify_exported(exported, options=sc.ScalifyOptions(scale_dims="w=-1"), container="tuple")
    channels = X.shape[0]
    scales = [aval.shape for aval in result.in_avals[1::2]], [aval.shape for aval in result.out_avals[1::2]]
    assert scales == ([(), (1, channels), ()], [(1, channels), (1, channels)])
    factors = np.ldexp(np.float32(1), np.arange(channels)).reshape(1, channels)
    one = np.float32(1)
    reread = export.deserialize(result.serialize())
    (product, scale), (weights, own) = reread.call((X, one), (X.T / factors, factors), (X, one))
    np.testing.assert_array_equal(np.asarray(product) * np.asarray(scale), jax.jit(jnp.matmul)(X, X.T))
    np.testing.assert_array_equal(np.asarray(weights) * np.asarray(own), X.T)
