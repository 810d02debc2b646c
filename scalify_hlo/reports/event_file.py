"""TensorBoard's event files, without TensorBoard: scalars as records of protocol buffers.

A record (TensorFlow's `tfrecord`) is the length of the data, its checksum, the data, and their checksum; the data are
an `Event` (tensorflow/core/util/event.proto): wall_time (1, double), step (2, int64), file_version (3, string) or
summary (5), which holds values (1) of tag (1, string) and simple_value (2, float).
"""

import functools
import struct
from collections.abc import Mapping

_POLYNOMIAL = 0x82F63B78  # CRC-32C, bits reversed
_MASK_DELTA = 0xA282EAD8


def first_record(wall_time: float) -> bytes:
    """The record that every event file starts with."""
    return _record(_double(1, wall_time) + _bytes(3, b"brain.Event:2"))


def scalars_record(wall_time: float, step: int, scalars: Mapping[str, float]) -> bytes:
    """A record of scalars by tag. wall_time: seconds since the epoch."""
    values = b"".join(
        _bytes(1, _bytes(1, tag.encode()) + b"\x15" + struct.pack("<f", value)) for tag, value in scalars.items()
    )
    return _record(_double(1, wall_time) + b"\x10" + _varint(step) + _bytes(5, values))


def _record(data: bytes) -> bytes:
    length = struct.pack("<Q", len(data))
    return length + _checksum(length) + data + _checksum(data)


def _checksum(data: bytes) -> bytes:
    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + _MASK_DELTA) & 0xFFFFFFFF)


def crc32c(data: bytes) -> int:
    """The Castagnoli checksum (RFC 3720, B.4)."""
    table, crc = _table(), 0xFFFFFFFF
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


@functools.cache
def _table() -> tuple[int, ...]:
    entries: list[int] = []
    for entry in range(256):
        for _ in range(8):
            entry = entry >> 1 ^ (_POLYNOMIAL if entry & 1 else 0)
        entries.append(entry)
    return tuple(entries)


def _varint(number: int) -> bytes:
    number &= (1 << 64) - 1  # negative steps are two's complement
    parts: list[int] = []
    while number > 0x7F:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*parts, number])


def _double(field: int, value: float) -> bytes:
    return bytes([field << 3 | 1]) + struct.pack("<d", value)


def _bytes(field: int, value: bytes) -> bytes:
    return bytes([field << 3 | 2]) + _varint(len(value)) + value
