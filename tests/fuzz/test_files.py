"""A short run of the fuzzer of files and options, with a new seed each day, and what it found."""

import datetime
import io
import json
import pathlib
import zipfile
from typing import Any

import numpy as np
import pytest
from scalify_hlo.tools.inputs import load_inputs

from scalify_hlo.bindings import ir, make_context
from scalify_hlo.errors import ScalifyError
from scalify_hlo.execution.signature import entry_signature
from scalify_hlo.io.npz_file import npz_bytes, read_npz
from scalify_hlo.io.scales_file import read_scales
from scalify_hlo.serving.packing import pack, unpack
from scalify_hlo.serving.tensors import read_tensors
from tests.cli.conftest import PROGRAM
from tests.fuzz.files import findings


def test_some_damaged_files_of_today():
    day = datetime.datetime.now(datetime.UTC).timetuple().tm_yday
    found = {outcome: k for k, outcome in findings(day, 20, 1500)}
    assert found.keys() <= {"ok", "refused"}, f"python -m tests.fuzz.files --seed={day}: {found}"


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_damage_within_each_compression(tmp_path: pathlib.Path, method: int):
    """Each decoder has errors of its own: zlib.error, LZMAError, OSError, EOFError."""
    member, stream = io.BytesIO(), io.BytesIO()
    np.lib.format.write_array(member, np.arange(1000, dtype=np.float32))
    with zipfile.ZipFile(stream, "w", method) as archive:
        archive.writestr("x.npy", member.getvalue())
    data = bytearray(stream.getvalue())
    data[60:90] = b"\xff" * 30
    path = tmp_path / "x.npz"
    path.write_bytes(data)
    arguments = entry_signature(ir.Module.parse(PROGRAM, context=make_context())).arguments
    for read in (read_tensors, lambda path: load_inputs(path, arguments)):
        with pytest.raises(ScalifyError, match=r"cannot read this as an \.npz file"):
            read(str(path))


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"__types__": "[]"}, "the entry __types__ is no JSON object of texts"),
        ({"__types__": '{"x": 1}'}, "the entry __types__ is no JSON object of texts"),
        ({"__types__": '{"x": "f9"}'}, "array 'x' is no 'f9', as __types__ says"),
        ({"__types__": '{"x": "bf16"}'}, "array 'x' is no 'bf16', as __types__ says"),
        ({"__metadata__": "{"}, "the entry __metadata__ is no JSON object of texts"),
    ],
)
def test_what_stands_beside_the_arrays_of_an_npz(entries: dict[str, str], message: str):
    stream = io.BytesIO()
    save: Any = np.savez
    save(stream, x=np.zeros(4, np.float32), **{name: np.array(text) for name, text in entries.items()})
    with pytest.raises(ScalifyError, match=message):
        read_npz(stream.getvalue(), "x.npz")


def test_a_member_of_an_npz_that_is_no_array():
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("notes", "of the author")
    with pytest.raises(ScalifyError, match="'notes' is no array"):
        read_npz(stream.getvalue(), "x.npz")


def test_arrays_of_what_is_no_number():
    """KeyError where they were written, ValueError where they were divided by a scale."""
    records = np.zeros(4, [("a", "f4")])
    with pytest.raises(ScalifyError, match="no tensor has such elements"):
        npz_bytes({"x": records}, {})
    module = ir.Module.parse(PROGRAM, context=make_context())
    for odd in (records, np.zeros(4, "M8[s]"), np.zeros(4, np.complex64), np.array(list("abcd"))):
        with pytest.raises(ScalifyError, match="array 'arg0' is of"):
            pack(module, {"arg0": odd})


@pytest.mark.parametrize("scale", ["[1, 2]", "[[1, 2], [3, 4]]", "[1, 2, 3, 4, 5]"])
def test_a_scale_that_is_none_of_its_data(scale: str):
    """ValueError of arrays that do not fit together; a row of scales for a column made a matrix of both."""
    for data in (np.ones((4, 1), np.float32), np.ones(4, np.float32)):
        with pytest.raises(ScalifyError, match="the scale of 'w' has the shape"):
            unpack({"w": data}, {"scale.w": scale})


@pytest.mark.parametrize("scale", ["null", "{}", "1" + "0" * 400, "[" * 100_000])
def test_a_scale_that_is_no_number(scale: str):
    with pytest.raises(ScalifyError, match="is no number"):
        unpack({"w": np.ones(4, np.float32)}, {"scale.w": scale})


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"arguments": {"w": 10**400}}, "arguments: 'w' is no number or list of numbers"),
        ({"argument_shapes": {"w": [float("inf")]}}, "argument_shapes: 'w' is no list of sizes"),
        ({"statistics": {"w": {"elements": float("inf"), "mean_square": 1, "amax": 1, "histogram": {}}}},
         "statistics: 'w' has not the fields"),
    ],
)  # fmt: skip
def test_numbers_beyond_those_of_a_machine(tmp_path: pathlib.Path, entries: Any, message: str):
    """OverflowError."""
    path = tmp_path / "scales.json"
    path.write_text(json.dumps({"format": "scalify-scales", "version": 1, **entries}))
    with pytest.raises(ScalifyError, match=message):
        read_scales(str(path))
