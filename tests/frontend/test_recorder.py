"""health.Recorder: what it measures, what it writes, what it leaves alone."""

import csv
import math
import pathlib
import struct

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo as sc
from scalify_hlo.reports.event_file import crc32c, scalars_record

STATE = {
    "w": sc.scaled_array(np.float16([[3, -4], [0, 0]]), 2.0**20),
    "v": np.float32([2**100, 0, -(2**100), 0]),  # its square overflows
    "bad": np.float32([1, np.inf, np.nan, 1]),
    "count": np.int32(7),
    "key": jax.random.key(0),
}


def numbers(recorder: sc.health.Recorder) -> dict[tuple[str, str, str], float]:
    with recorder.csv.open(newline="") as file:
        return {(each["step"], each["quantity"], each["name"]): float(each["value"]) for each in csv.DictReader(file)}


def test_scalars_and_tensors(tmp_path: pathlib.Path):
    with sc.health.Recorder(tmp_path / "new" / "run", every=10) as recorder:
        loss = sc.scaled_array(np.float16(1.5), 2.0**-3)
        for step in range(20):
            recorder.record(step, loss=loss, state=STATE, rate=0.1 * step)
    found = numbers(recorder)
    assert {step for step, _, _ in found} == {"0", "10"}
    assert found["0", "value", "loss"] == 1.5 / 8 and found["10", "value", "rate"] == pytest.approx(1.0)
    assert found["10", "log2_scale", "state/w"] == 20
    assert found["10", "log2_rms", "state/w"] == pytest.approx(math.log2(2.5))
    assert found["10", "log2_amax", "state/w"] == 2
    assert found["0", "log2_rms", "state/v"] == pytest.approx(99.5)
    assert found["0", "not_finite", "state/bad"] == 0.5 and found["0", "log2_amax", "state/bad"] == 0
    assert ("0", "log2_scale", "state/v") not in found
    assert not any("count" in name or "key" in name for _, _, name in found)


def test_a_scale_for_each_layer(tmp_path: pathlib.Path):
    layers = sc.scaled_array(np.ones((2, 3), np.float16), np.float32([[4], [16]]))
    with sc.health.Recorder(tmp_path) as recorder:
        recorder.record(0, layers=layers, none=jnp.zeros((0, 3)))
    assert numbers(recorder)["0", "log2_scale", "layers"] == 4


def test_a_record_is_gone_on_with_and_complete_before_its_end(tmp_path: pathlib.Path):
    for start in (0, 3):
        recorder = sc.health.Recorder(tmp_path)
        for step in range(start, start + 3):
            recorder.record(step, loss=jnp.float32(step))
        recorder.flush()
    assert recorder.curves() == {"value": {"loss": [(step, float(step)) for step in range(6)]}}
    assert not (tmp_path / "record.html").exists()
    recorder.close()
    page = (tmp_path / "record.html").read_text()
    assert page.count("<path ") == 1 and "<title>loss</title>" in page


def test_buffers_may_be_donated_afterwards(tmp_path: pathlib.Path):
    step = jax.jit(lambda x: x * 2, donate_argnums=0)
    with sc.health.Recorder(tmp_path) as recorder:
        x = jnp.float32([1, 1])
        for i in range(3):
            recorder.record(i, x=x)
            x = step(x)
    assert [value for _, value in recorder.curves()["log2_amax"]["x"]] == [0, 1, 2]


def test_a_page_of_infinities(tmp_path: pathlib.Path):
    with sc.health.Recorder(tmp_path) as recorder:
        recorder.record(0, loss=jnp.float32(np.inf))
        recorder.record(1, loss=jnp.float32(np.nan))
    assert "no finite value" in (tmp_path / "record.html").read_text()


def test_wrong_uses(tmp_path: pathlib.Path):
    with pytest.raises(ValueError, match="every=0: expected"):
        sc.health.Recorder(tmp_path, every=0)
    (tmp_path / "file").write_text("")
    with pytest.raises(sc.ScalifyError, match="cannot write the record in"):
        sc.health.Recorder(tmp_path / "file" / "run")


def test_checksum():
    """The value that RFC 3720, B.4 gives for 32 bytes of zeros, and the usual check value."""
    assert crc32c(bytes(32)) == 0x8A9136AA
    assert crc32c(b"123456789") == 0xE3069283


def test_event_file(tmp_path: pathlib.Path):
    """Records as TensorBoard 2.21 has been seen to read them: lengths, checksums, fields."""
    with sc.health.Recorder(tmp_path) as recorder:
        recorder.record(300, loss=jnp.float32(0.5))
    (path,) = tmp_path.glob("events.out.tfevents.*")
    data, records = path.read_bytes(), []
    while data:
        (length,) = struct.unpack("<Q", data[:8])
        records.append(data[12 : 12 + length])
        data = data[16 + length :]
    assert len(records) == 2 and b"brain.Event:2" in records[0]
    assert records[1][9:12] == b"\x10\xac\x02"  # step 300
    assert records[1][12:] == b"\x2a\x0d\x0a\x0b\x0a\x04loss\x15" + struct.pack("<f", 0.5)
    assert scalars_record(0.0, -1, {})[12 + 9 :][:11] == b"\x10" + b"\xff" * 9 + b"\x01"


def test_what_is_no_array_among_the_leaves_is_left_out(tmp_path) -> None:
    """The functions in an equinox model were asked for their types."""
    with sc.health.Recorder(tmp_path, every=1) as recorder:
        recorder.record(0, model={"w": np.ones(3, np.float32), "activation": np.tanh, "name": "mlp"}, loss=0.5)
    assert set(recorder.curves()["value"]) == {"loss"}
    assert set(recorder.curves()["log2_rms"]) == {"model/w"}
