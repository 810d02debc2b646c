"""What a compiled program moves between devices."""

import dataclasses
import re
from collections.abc import Iterator, Sequence

from scalify_hlo.aot.hlo_text import Instruction, Program, size_in_bytes

KINDS = (
    "all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute", "collective-broadcast",
    "ragged-all-to-all",
)  # fmt: skip
_MARK = re.compile(r"/scalify\.op\.(\d+)")
# Collectives of at most this many bytes carry statistics and scales, which are f32.
STATISTICS = 1024
_BITS = re.compile(r"\d+")


@dataclasses.dataclass(frozen=True)
class Collective:
    """One collective operation of the optimised program.

    kind: HLO's name. element: HLO's element type. tensors: how many XLA has put together in it. size: bytes of its
    payload per device in one execution of it: the summed, permuted or gathered tensors whole. times: executions in one
    of the program. source: file position of the operation that it is for, or its name; empty where XLA does not say.
    """

    kind: str
    element: str
    tensors: int
    size: int
    times: int
    source: str

    @property
    def is_wide(self) -> int:
        """Bits of the element type of a tensor of floats; 0 of integers and of statistics."""
        found = _BITS.search(self.element)
        is_float = self.element.startswith(("f", "bf")) and found is not None
        return int(found.group()) if is_float and found and self.size > STATISTICS else 0


def collectives(program: Program, sources: Sequence[str] = ()) -> tuple[Collective, ...]:
    """The collectives of a program in its order, one for each element type where XLA has put several together.

    sources: file positions by the number that `mark_operations` gave each operation.
    """
    found: list[Collective] = []
    for instruction, members, times in _executed(program, program.entry, 1):
        kind = _kind(instruction)
        shapes: dict[str, list[int]] = {}
        operands = [members[name] for name in instruction.operands if name in members]
        moved = [shape for operand in operands for shape in operand.shapes]
        if kind == "all-gather":  # started ones return their operands too
            moved = list(
                instruction.shapes[len(moved) :] if len(instruction.shapes) > len(moved) else instruction.shapes
            )
        for element, dims in moved:
            shapes.setdefault(element, []).append(size_in_bytes(element, dims))
        marks = [int(mark) for mark in _MARK.findall(instruction.op_name)]
        source = next((sources[mark] for mark in marks if mark < len(sources)), _MARK.sub("", instruction.op_name))
        found += [Collective(kind, e, len(sizes), sum(sizes), times, source) for e, sizes in shapes.items()]
    return tuple(found)


def wide(found: Sequence[Collective], bits: int) -> list[Collective]:
    """The collectives of tensors of floats with more than `bits` bits."""
    return [each for each in found if each.is_wide > bits]


def total(found: Sequence[Collective]) -> int:
    """Bytes per device in one execution of the program."""
    return sum(each.size * each.times for each in found)


def table(found: Sequence[Collective]) -> list[str]:
    """Lines for a terminal: one for each collective, and their sum."""
    lines = ["times      bytes  tensors  collective, source"]
    lines += [f"{c.times:5}  {c.size:9}  {c.tensors:7}  {c.kind} {c.element}  {c.source}".rstrip() for c in found]
    return [*lines, f"{total(found):,} bytes between devices, per device and execution"]


def _kind(instruction: Instruction) -> str:
    kind = instruction.opcode.removesuffix("-start")
    return kind if kind in KINDS else ""


def _executed(program: Program, name: str, times: int) -> Iterator[tuple[Instruction, dict[str, Instruction], int]]:
    """The collectives of a computation and of those that it calls, with how often each is executed."""
    members = program.computations.get(name, {})
    for instruction in members.values():
        if _kind(instruction):
            yield instruction, members, times
        elif instruction.opcode in ("while", "conditional", "call", "async-start"):
            runs = times * (instruction.trip_count if instruction.opcode == "while" else 1)
            for called in instruction.called:
                yield from _executed(program, called, runs)
