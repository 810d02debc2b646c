"""scalify-opt and scalify_exported make the same of a file: the same module, in the same calling convention."""

import dataclasses
import functools
import pathlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from click.testing import CliRunner
from jax import export
from scalify_hlo.tools.scalify_opt import main as scalify_opt

import scalify_hlo as sc

RNG = np.random.default_rng(0)
W, X = (np.float32(RNG.standard_normal(shape)) for shape in ((3, 4), (2, 3)))
TABLE = np.float32(RNG.standard_normal((64, 3)))  # large enough not to be written into the program as a literal


def layer(w, x, unused=None, *, factor=1.0):
    del unused
    return {"y": jax.nn.gelu(x @ w) * factor, "index": jnp.argmax(x)}


def training_step(w, x):
    def loss(w):
        hidden = sc.nn.layer_norm(sc.nn.gelu(x @ w))
        return jnp.mean(sc.ops.dynamic_rescale_l2_grad(hidden) ** 2)

    value, gradient = jax.value_and_grad(loss)(w)
    return w - sc.set_scaling(gradient, 2.0**-3), value


def with_constants(x):
    return x @ jnp.asarray(TABLE).T, jnp.asarray(TABLE), x


def loop(w, x):
    return jax.lax.fori_loop(0, 3, lambda _, x: jnp.tanh(x @ w)[:, :3], x)


def random(key, x):
    return x * jax.random.normal(key, x.shape)


def symbolic():
    rows, columns = export.symbolic_shape("rows, columns")
    return jax.ShapeDtypeStruct((columns, 4), jnp.float32), jax.ShapeDtypeStruct((rows, columns), jnp.float32)


CASES = {
    "constants": lambda: export.export(jax.jit(with_constants))(X),
    "derivative": lambda: export.export(jax.jit(lambda w, x: jnp.sum(jnp.sin(x @ w))))(W, X).vjp(),
    "donation": lambda: export.export(jax.jit(loop, donate_argnums=1))(W, X),
    "dropped and keyword arguments": lambda: export.export(jax.jit(layer))(W, X, X, factor=np.float32(2)),
    "key": lambda: export.export(jax.jit(random))(jax.random.key(0), X),
    "markers and rules": lambda: export.export(jax.jit(training_step), platforms=["cpu", "cuda", "tpu"])(W, X),
    "symbolic": lambda: export.export(jax.jit(training_step), platforms=["cpu", "cuda"])(*symbolic()),
}


@functools.cache
def case(name: str) -> export.Exported:
    return CASES[name]()


def by_command(exported: export.Exported, folder: pathlib.Path, *flags: str) -> export.Exported:
    source, target = folder / "in.bin", folder / "out.bin"
    source.write_bytes(exported.serialize())
    assert CliRunner().invoke(scalify_opt, [str(source), "-o", str(target), *flags]).exit_code == 0
    return export.deserialize(bytearray(target.read_bytes()))


@pytest.mark.parametrize("name", CASES)
def test_same_file(name, tmp_path):
    ours = export.deserialize(sc.scalify_exported(case(name), container="tuple").serialize())
    theirs = by_command(case(name), tmp_path)
    assert ours.mlir_module() == theirs.mlir_module()
    assert "scalify.role" in ours.mlir_module()
    for field in dataclasses.fields(export.Exported):
        if field.name not in ("mlir_module_serialized", "_get_vjp"):
            # As text: symbolic dimensions of two files are never equal.
            assert str(getattr(ours, field.name)) == str(getattr(theirs, field.name)), field.name


def test_same_file_with_options(tmp_path):
    options = sc.ScalifyOptions(rounding="up", plain_results=True)
    ours = sc.scalify_exported(case("donation"), "w", options, container="tuple")
    theirs = by_command(case("donation"), tmp_path, "--args=w", "--rounding=up", "--plain-results")
    assert export.deserialize(ours.serialize()).mlir_module() == theirs.mlir_module()


@pytest.mark.parametrize("name", ["constants", "donation", "symbolic"])
def test_same_packed_file(name, tmp_path):
    ours = sc.pack_exported(sc.scalify_exported(case(name), container="tuple"))
    theirs = by_command(case(name), tmp_path, "--pack-scales")
    assert export.deserialize(ours.serialize()).mlir_module() == theirs.mlir_module()
    assert 'scalify.role = "scales"' in theirs.mlir_module()
    assert "scalify.next" not in theirs.mlir_module()


@pytest.mark.parametrize("name", ["constants", "donation", "symbolic"])
def test_value(name):
    """What the file computes is what the function computes."""
    arguments = (X,) if name == "constants" else (W, X)
    expected = {"constants": with_constants, "donation": loop}.get(name, training_step)(*arguments)
    scaled = export.deserialize(sc.scalify_exported(case(name)).serialize())
    result = scaled.call(*(jax.tree.map(jnp.asarray, sc.as_scaled_array(a)) for a in arguments))
    for r, e in zip(sc.tree.leaves(result), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(np.asarray(r), e, rtol=1e-4, atol=1e-5)


def test_an_export_that_cannot_be_written_back_is_one_line(tmp_path, monkeypatch):
    """Those for several devices by older jax have no named shardings, without which jax.export writes none."""
    import jax
    import numpy as np
    from click.testing import CliRunner
    from jax import export
    from scalify_hlo.tools.scalify_opt import main

    def refuse(*_args, **_kwargs):
        raise ValueError("Exported being serialized must have named shardings")

    file = tmp_path / "old.exp"
    file.write_bytes(export.export(jax.jit(lambda x: x * 2))(jax.ShapeDtypeStruct((4,), np.float32)).serialize())
    monkeypatch.setattr(export.Exported, "serialize", refuse)
    done = CliRunner().invoke(main, [str(file), "--scalify", "--emit=exported", "-o", str(tmp_path / "new.exp")])
    assert done.exit_code == 1 and not (tmp_path / "new.exp").exists()
    (line,) = [line for line in done.output.splitlines() if "error" in line]
    assert "old.exp:1:1: error: jax.export does not write this back: Exported being" in line
    assert "--emit=artifact" in line
