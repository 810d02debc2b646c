"""A mutational fuzzer of what commands read besides programs: `python -m tests.fuzz.files --seed 7 --seconds 60`.

Arrays (.npz, .safetensors), files of scales and the texts of options (pipelines, precisions, selections, versions) are
damaged in seeded ways, given to what reads them, and used: scales are pinned to a module, arrays packed and unpacked.
Input `k` of a seed is always the same one. Whatever is no ScalifyError is a finding; the exit status is 1 then.
"""

import io
import json
import pathlib
import random
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
from collections.abc import Callable, Iterator
from typing import Any

import click
import jax
import jax.export
import jax.numpy as jnp
import numpy as np
from scalify_hlo.tools.inputs import load_inputs

from scalify_hlo.bindings import ir, make_context
from scalify_hlo.errors import ScalifyError
from scalify_hlo.execution.element_types import ELEMENT_TYPES
from scalify_hlo.execution.signature import entry_signature
from scalify_hlo.io.scales_file import read_scales
from scalify_hlo.io.serialization import to_artifact
from scalify_hlo.options import ScalifyOptions
from scalify_hlo.passes.pipeline import Pipeline, parse_pipeline
from scalify_hlo.passes.precision_pipeline import parse_precision, precision_pipeline
from scalify_hlo.passes.scalify import Scalify
from scalify_hlo.serving.calibration import Calibration
from scalify_hlo.serving.keep_wide import parse_budget
from scalify_hlo.serving.packing import pack, unpack
from scalify_hlo.serving.tensors import Batches, read_with_metadata, tensor_bytes

# fmt: off
_VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 3, 1.5, -0.0, 1e-40, 1e300, 10**400, float("inf"), float("nan"), "", "x", "\0", "é", "1", [],
    [1.0], [[1], [2, 3]], ["x"], {}, {"x": 1}, [None],
    -(2**63), 2**64,
)
_TEXTS = {
    "pipeline": ("scalify", "builtin.module(scalify{args=0,1 rounding=up},cse)", "scalify-fp8-dots{target=h100},inline",
                 "canonicalize{max-iterations=3},scalify{scale-dims={all=-1}}", "func.func(cse),scalify-instrument"),
    "precision": ("fp8", "fp8 moments=f16 target=h100", "fp16-state parameter-names=w*,b*", "bf16 rescaling=scores"),
    "args": ("all", "none", "0,1", "0-2", "p*", "p['w1'],x", "1-0"),
    "scale-dims": ("all=0", "0=-1", "p*=-1,x=0+1", "x=1"),
    "types": ("f16,bf16", "f32", "f8E4M3FN,f32"),
    "target": ("1.2.0", "minimum", "4weeks", "current"),
    "budget": ("auto", "3", "2.5%"),
}
_TOKENS = (
    "", ",", "=", "{", "}", "(", ")", "'", '"', " ", "-", "*", "?", "[", "]", "\\", "\n", "\0", "é", "\ud800", "0",
    "9" * 30, "²", "-1", "nan", "inf", "1e999", "all", "none", "+", "%", "..", ":", "true", "f16", "cse", "scalify",
    "\t", "@", "x" * 99,
)
# fmt: on


class Files:
    """What inputs are made of, and used on: a small model, its weights, scales and the module pinned to them."""

    def __init__(self, folder: pathlib.Path):
        self.folder = folder
        rng = np.random.default_rng(0)
        self.weights = {f"p['{name}']": np.float32(rng.standard_normal((8, 8))) for name in ("v", "w")}
        self.batch = {"x": np.float32(rng.standard_normal((4, 8)))}

        def model(p: dict[str, jax.Array], x: jax.Array) -> jax.Array:
            return jnp.tanh(x @ p["v"]) @ p["w"]

        shapes = {name: jax.ShapeDtypeStruct((8, 8), jnp.float32) for name in ("v", "w")}
        x = jax.ShapeDtypeStruct((4, 8), jnp.float32)
        self.text = jax.export.export(jax.jit(model), platforms=["cpu"])(shapes, x).mlir_module()
        calibration = Calibration(self.module(), "fp8 parameter-names=p*")
        arguments = entry_signature(self.module()).arguments
        for name, arrays in (("weights.npz", self.weights), ("batch.npz", self.batch)):
            (folder / name).write_bytes(tensor_bytes(arrays, {}, name))
        calibration.arguments(Batches(arguments, [str(folder / "weights.npz")], [str(folder / "batch.npz")]))
        calibration.prepare()
        self.scales: dict[str, Any] = json.loads(calibration.scales.to_json())
        self.pinned = self.module()
        (folder / "scales.json").write_bytes(calibration.scales.to_json())
        self.pipeline(str(folder / "scales.json")).run(self.pinned, [])

    def module(self) -> ir.Module:
        return ir.Module.parse(self.text, context=make_context())

    def pipeline(self, scales: str) -> Pipeline:
        return precision_pipeline("fp8 parameter-names=p*", pin_scales=scales)


# --- mutations ----------------------------------------------------------------------------------------------------


def damaged(data: bytes, rng: random.Random) -> bytes:
    """Bytes flipped, written over, put in or cut off."""
    at = rng.randrange(len(data))
    junk = rng.randbytes(rng.choice((1, 1, 2, 8)))
    flipped = bytes([data[at] ^ 1 << rng.randrange(8)])
    return rng.choice((
        data[:at] + flipped + data[at + 1 :], data[:at] + junk + data[at + len(junk) :],
        data[:at] + junk + data[at:], data[:at] + data[at + len(junk) :], data[:at],
    ))  # fmt: skip


def mutated_text(text: str, rng: random.Random) -> str:
    for _ in range(rng.choice((1, 1, 2, 3))):
        at, upto = sorted((rng.randrange(len(text) + 1), rng.randrange(len(text) + 1)))
        match rng.randrange(4):
            case 0:
                text = text[:at] + text[upto:]
            case 1:
                text = text[:upto] + text[at:]
            case _:
                text = text[:at] + rng.choice(_TOKENS) + text[at + rng.choice((0, 0, 1)) :]
    return text


def mutated_json(document: Any, rng: random.Random) -> Any:
    """A copy with an entry somewhere in it replaced, left out, doubled or called something else."""
    document = json.loads(json.dumps(document))
    places: list[tuple[Any, Any]] = []

    def visit(node: Any) -> None:
        keys = list(node) if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
        for key in keys:
            places.append((node, key))
            visit(node[key])

    visit(document)
    node, key = rng.choice(places)
    match rng.randrange(4):
        case 0 if isinstance(node, dict):
            del node[key]
        case 1 if isinstance(node, dict):
            node[rng.choice(("x", "", "p['v']", "p['w']", str(key) + "é", "others"))] = node[key]
        case _:
            node[key] = rng.choice(_VALUES)
    return document


def _members(arrays: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """Arrays of which one is something else."""
    arrays = dict(arrays)
    name = rng.choice(list(arrays))
    x = arrays[name]
    odd: tuple[Any, ...] = (
        x.astype(np.float64), x.astype(np.complex64), x.astype(np.int8), x > 0, x.T[:3], x[None], x * np.nan,
        x * 1e38, x[:0], np.array(["a", "b"]), np.array(1.0), np.zeros((8, 8), "M8[s]"), np.array([b"x"]),
        np.zeros((8, 8), [("a", "f4")]), np.asfortranarray(x), x.astype(">f4"), x.astype(np.float16).view("V2"),
        x.view("V4"), x.astype(np.longdouble),
    )  # fmt: skip
    match rng.randrange(4):
        case 0:
            del arrays[name]
        case 1:
            other = rng.choice(
                ("0", "arg1", "arr_0", "x", "w", "é", "", "a/b", "p.w", "p", "__types__", "__metadata__")
            )
            text = rng.choice(("{}", "[]", "{", "3", '{"x": 1}', '{"x": "f9"}', '{"scale.x": "2"}'))
            arrays[other] = rng.choice((x, np.array(text)))
        case _:
            arrays[name] = rng.choice(odd)
    return arrays


def _npz(arrays: dict[str, Any], rng: random.Random) -> bytes:
    stream = io.BytesIO()
    method = rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA))
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name, array in arrays.items():
            member = io.BytesIO()
            np.lib.format.write_array(member, np.asarray(array), allow_pickle=True)
            data = damaged(member.getvalue(), rng) if rng.random() < 0.2 else member.getvalue()
            archive.writestr(name + rng.choice((".npy", ".npy", ".npy", "" if name else ".npy")), data)
    return stream.getvalue()


# --- one input ----------------------------------------------------------------------------------------------------


def _arrays(files: Files, rng: random.Random) -> Callable[[], object]:
    """A file of arrays that is read as a batch, as inputs, as weights to pack and as packed ones."""
    arguments = entry_signature(files.module()).arguments
    ending = rng.choice((".npz", ".npz", ".safetensors"))
    chosen = files.weights | (files.batch if rng.random() < 0.5 else {})
    scale = rng.choice(("0.5", "x", "[1, 2]", '"1"', "null", "1e999", "{}"))
    metadata = rng.choice(({}, {"scale.p['w']": scale}))
    arrays = _members(chosen, rng) if rng.random() < 0.6 else chosen
    if ending == ".npz":
        data = _npz(arrays, rng)
    else:
        known = {
            name: array for name, array in arrays.items() if array.dtype.kind in "fiub" and array.dtype in ELEMENT_TYPES
        }
        data = tensor_bytes(known, metadata, ending)
    if rng.random() < 0.5:
        data = damaged(data, rng)
    path = files.folder / f"arrays{ending}"
    path.write_bytes(data)
    uses: tuple[Callable[[], object], ...] = (
        lambda: list(Batches(arguments, [], [str(path)])), lambda: load_inputs(str(path), arguments),
        lambda: pack(files.pinned, read_with_metadata(str(path))[0], str(path)).metadata,
        lambda: tensor_bytes(unpack(*read_with_metadata(str(path))), {}, "out.npz"),
    )  # fmt: skip
    return rng.choice(uses)


def _scales(files: Files, rng: random.Random) -> Callable[[], object]:
    """A file of scales that is read, written again, gone on from, and pinned."""
    document: Any = dict(files.scales)
    if rng.random() < 0.2:
        document["others"] = [mutated_json(files.scales, rng)]
    for _ in range(rng.choice((1, 1, 2))):
        document = mutated_json(document, rng)
    data = json.dumps(document).encode()
    if rng.random() < 0.15:
        data = rng.choice((damaged(data, rng), b"\xef\xbb\xbf" + data, data.decode().encode("utf-16"), b"[" * 100_000))
    path = str(files.folder / "damaged.json")
    pathlib.Path(path).write_bytes(data)

    def resume() -> object:
        calibration = Calibration(files.module(), "fp8 parameter-names=p*")
        calibration.resume(read_scales(path))
        return calibration.prepare()

    def pin() -> None:
        module = files.module()
        files.pipeline(path).run(module, [])
        assert module.operation.verify()

    return rng.choice((lambda: read_scales(path).to_json(), resume, pin, pin))


def _text(files: Files, rng: random.Random) -> Callable[[], object]:
    kind = rng.choice(tuple(_TEXTS))
    text = mutated_text(rng.choice(_TEXTS[kind]), rng)

    def rewrite(**options: Any) -> None:
        Pipeline((Scalify(**vars(ScalifyOptions(**options))),)).run(files.module(), [])

    uses: dict[str, Callable[[], object]] = {
        "pipeline": lambda: str(parse_pipeline(text)), "precision": lambda: parse_precision(text),
        "args": lambda: rewrite(args=text), "scale-dims": lambda: rewrite(scale_dims=text),
        "types": lambda: parse_pipeline(f"scalify{{scaled-types={text}}}").run(files.module(), []),
        "target": lambda: to_artifact(files.module(), text), "budget": lambda: parse_budget(text),
    }  # fmt: skip
    return uses[kind]


def outcome(files: Files, seed: int, k: int) -> str:
    """What becomes of input `k` of a seed: "ok", "refused", or what is wrong with this package."""
    rng = random.Random(f"{seed}:{k}")
    use = rng.choice((_arrays, _arrays, _scales, _text))(files, rng)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            use()
    except ScalifyError:
        return "refused"
    except Exception as error:  # noqa: BLE001 - what is looked for
        frames = traceback.extract_tb(error.__traceback__)
        frame = next((f for f in reversed(frames) if "scalify" in f.filename or "/tools/" in f.filename), frames[-1])
        return f"{type(error).__name__} in {pathlib.Path(frame.filename).name}:{frame.name}"
    return "ok"


def findings(seed: int, seconds: float, most: int = sys.maxsize) -> Iterator[tuple[int, str]]:
    """(k, outcome) of every input until the time is up."""
    end = time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as folder:
        files = Files(pathlib.Path(folder))
        for k in range(most):
            if time.monotonic() > end:
                return
            yield k, outcome(files, seed, k)


@click.command(help=__doc__)
@click.option("--seed", default=0, help="Of the inputs.")
@click.option("--seconds", default=60.0, help="When to stop.")
@click.option("--most", default=sys.maxsize, help="Of the inputs, whatever the time.", show_default=False)
def main(seed: int, seconds: float, most: int) -> None:
    counts: dict[str, int] = {}
    for k, found in findings(seed, seconds, most):
        if found not in counts and found not in ("ok", "refused"):
            click.echo(f"--- {found} (k={k})")
        counts[found] = counts.get(found, 0) + 1
    click.echo(f"{sum(counts.values())} inputs of seed {seed}: {counts}")
    sys.exit(1 if counts.keys() - {"ok", "refused"} else 0)


if __name__ == "__main__":
    main()
