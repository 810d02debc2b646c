"""Reading optimised HLO text: computations, instructions, and what runs as a kernel of its own."""

import dataclasses
import functools
import math
import re
from collections.abc import Iterator

_ELEMENT_BITS = {
    "pred": 8, "s2": 2, "u2": 2, "s4": 4, "u4": 4, "f4e2m1fn": 4, "s8": 8, "u8": 8, "s16": 16, "u16": 16, "f16": 16,
    "bf16": 16, "s32": 32, "u32": 32, "f32": 32, "s64": 64, "u64": 64, "f64": 64, "c64": 64, "c128": 128, "token": 0,
}  # fmt: skip
_ARRAY = re.compile(r"([a-z]\w*)\[([\d,]*)\]")
_COMPUTATION = re.compile(r"^(ENTRY )?%?([\w.\-]+) \(.*\) -> .* \{$")
_INSTRUCTION = re.compile(r"^\s+(ROOT )?%?([\w.\-]+) = (.*)$")
_OPERAND = re.compile(r"%([\w.\-]+)")
_CALLED = re.compile(r"(?:calls|body|condition|to_apply|true_computation|false_computation)=%?([\w.\-]+)")
_BRANCHES = re.compile(r"branch_computations=\{([^}]*)\}")
_TRIP_COUNT = re.compile(r'"known_trip_count":\{"n":"(\d+)"\}')
_OP_NAME = re.compile(r'op_name="((?:[^"\\]|\\.)*)"')
_PARAMETER = re.compile(r"\s*(\d+)\s*$")
_TARGET = re.compile(r'custom_call_target="([^"]*)"')

# Instructions that cost nothing at run time, and those that only call other computations.
_FREE = frozenset(
    {"parameter", "constant", "tuple", "get-tuple-element", "bitcast", "after-all", "partition-id", "replica-id"}
)
_CONTROL = frozenset({"while", "conditional", "call"})
# What changes a part of its first operand, in the same buffer, and which operand has that part.
_IN_PLACE = {"dynamic-update-slice": 1, "scatter": 2}
# Elements of the result are computed from those of the operands at the same place.
_ELEMENTWISE = frozenset(
    {"abs", "add", "and", "clamp", "compare", "convert", "divide", "erf", "exponential", "exponential-minus-one", "log",
     "logistic", "maximum", "minimum", "multiply", "negate", "not", "or", "power", "rsqrt", "select", "sqrt",
     "subtract", "tanh"}
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Instruction:
    """One line of HLO. `shapes`: element type and dimensions of the result, several for a tuple."""

    name: str
    opcode: str
    shapes: tuple[tuple[str, tuple[int, ...]], ...]
    operands: tuple[str, ...]
    attributes: str
    literal: str = ""  # what stands between the parentheses

    @property
    def op_name(self) -> str:
        """The name stack in the metadata; empty where there is none."""
        found = _OP_NAME.search(self.attributes)
        return found.group(1).replace("\\'", "'").replace('\\"', '"') if found else ""

    @property
    def custom_call_target(self) -> str:
        found = _TARGET.search(self.attributes)
        return found.group(1) if found else ""

    @property
    def called(self) -> tuple[str, ...]:
        """Names of the computations that the instruction calls."""
        names = _CALLED.findall(self.attributes)
        for group in _BRANCHES.findall(self.attributes):
            names += [name.strip(" %") for name in group.split(",")]
        return tuple(names)

    @property
    def trip_count(self) -> int:
        """How often a loop's body runs, where XLA knows; 1 otherwise."""
        found = _TRIP_COUNT.search(self.attributes)
        return int(found.group(1)) if found else 1

    @property
    def parameter(self) -> int:
        """The number of a parameter; -1 for another instruction."""
        found = _PARAMETER.match(self.literal)
        return int(found.group(1)) if found and self.opcode == "parameter" else -1

    @property
    def size_in_bytes(self) -> int:
        """Size of the result, without the scratch memory that a library call asks for."""
        shapes = self.shapes
        if len(shapes) > 1 and self.custom_call_target.startswith("__cublas"):
            shapes = shapes[:-1]
        return sum(size_in_bytes(element, dims) for element, dims in shapes)


@dataclasses.dataclass(frozen=True)
class Program:
    """An HLO module: instructions of each computation in order, by the computation's name."""

    computations: dict[str, dict[str, Instruction]]
    entry: str

    @functools.cached_property
    def home(self) -> dict[str, str]:
        """The computation that each instruction stands in, by name."""
        return {instruction.name: name for name, instruction in self.instructions()}

    def instructions(self) -> Iterator[tuple[str, Instruction]]:
        """Every instruction with the name of its computation."""
        for name, members in self.computations.items():
            for instruction in members.values():
                yield name, instruction

    def kernels(self) -> Iterator[tuple[Instruction, int, int]]:
        """What runs as a unit of its own: the instruction, how often, and the bytes one run reads and writes.

        In the entry computation and in the bodies, conditions and branches it calls; how often is the product of
        the known trip counts of the loops around.
        """
        yield from self._kernels(self.entry, 1)

    def _kernels(self, name: str, times: int) -> Iterator[tuple[Instruction, int, int]]:
        members = self.computations.get(name, {})
        for instruction in members.values():
            if instruction.opcode in _CONTROL or instruction.opcode.endswith("-start"):
                runs = times * (instruction.trip_count if instruction.opcode == "while" else 1)
                for called in instruction.called:
                    yield from self._kernels(called, runs)
            elif instruction.opcode not in _FREE and not instruction.opcode.endswith("-done"):
                yield instruction, times, self._traffic(instruction, members)

    def _traffic(self, kernel: Instruction, members: dict[str, Instruction]) -> int:
        """Bytes that one run of a kernel reads and writes: of a buffer that it slices or updates in place, the slice.

        A fused scan reads one slice of each stacked operand and writes one of each stacked result in an iteration, not
        the buffers that its operands and results are.
        """
        body = self.computations.get(kernel.called[0], {}) if kernel.opcode == "fusion" and kernel.called else {}
        parameters = {each.parameter: name for name, each in body.items() if each.opcode == "parameter"}
        if not body and kernel.opcode != "custom-call":  # an instruction outside a fusion is its own body
            body = {**{name: members[name] for name in kernel.operands if name in members}, kernel.name: kernel}
            parameters = dict(enumerate(kernel.operands))
        read = 0
        for index, operand in enumerate(kernel.operands):
            if operand in members:
                read += _read(parameters.get(index, ""), members[operand].size_in_bytes, body)
        root = list(body.values())[-1:]
        saved = sum(_not_written(each, body) for last in root for each in _results(last, body))
        return read + kernel.size_in_bytes - saved


def parse(text: str) -> Program:
    """Parse the text of one optimised HLO module."""
    computations: dict[str, dict[str, Instruction]] = {}
    entry = ""
    current: dict[str, Instruction] = {}
    for line in text.splitlines():
        head = _COMPUTATION.match(line)
        if head:
            current = computations.setdefault(head.group(2), {})
            entry = head.group(2) if head.group(1) else entry
            continue
        found = _INSTRUCTION.match(line)
        if found:
            instruction = _instruction(found.group(2), found.group(3))
            if instruction is not None:
                current[instruction.name] = instruction
    return Program(computations, entry)


def _instruction(name: str, rest: str) -> Instruction | None:
    end = _closing(rest, 0) + 1 if rest.startswith("(") else rest.find(" ")
    opening = rest.find("(", end)
    if end <= 0 or opening < 0:
        return None
    closing = _closing(rest, opening)
    return Instruction(
        name,
        rest[end:opening].strip(),
        tuple((element, _dims(dims)) for element, dims in _ARRAY.findall(rest[:end])),
        tuple(_OPERAND.findall(rest[opening:closing])),
        rest[closing + 1 :],
        rest[opening + 1 : closing],
    )


def _results(root: Instruction, body: dict[str, Instruction]) -> list[Instruction]:
    if root.opcode == "tuple":
        return [body[name] for name in root.operands if name in body]
    return [root]


def _updated(instruction: Instruction, body: dict[str, Instruction]) -> Instruction | None:
    """The in-place update that a result is, perhaps seen as another shape."""
    while instruction.opcode in ("bitcast", "copy") and instruction.operands and instruction.operands[0] in body:
        instruction = body[instruction.operands[0]]
    return instruction if instruction.opcode in _IN_PLACE else None


def _not_written(result: Instruction, body: dict[str, Instruction]) -> int:
    """Bytes of a result that stay as they are, where it is a buffer updated in place."""
    update = _updated(result, body)
    return 0 if update is None else max(result.size_in_bytes - _changed(update, body, result.size_in_bytes), 0)


def _changed(update: Instruction, body: dict[str, Instruction], whole: int) -> int:
    """Bytes of a buffer of some size that an update in place writes."""
    place = _IN_PLACE[update.opcode]
    is_one = len(update.operands) > place and (update.opcode != "scatter" or len(update.operands) == 3)
    return body[update.operands[place]].size_in_bytes if is_one and update.operands[place] in body else whole


def _read(name: str, size: int, body: dict[str, Instruction], known: dict[str, int] | None = None) -> int:
    """Bytes that a body reads of its value of some size: all, where not all readers are known to take a slice.

    Of what is computed elementwise and then sliced, the slice is computed. known: what is read of values asked before.
    """
    known = {} if known is None else known
    if name not in known:
        known[name] = _read_by_readers(name, size, body, known)
    return known[name]


def _read_by_readers(name: str, size: int, body: dict[str, Instruction], known: dict[str, int]) -> int:
    readers = [each for each in body.values() if name in each.operands]
    total = 0
    for reader in readers:
        if reader.opcode in ("dynamic-slice", "slice", "gather") and reader.operands[0] == name:
            total += reader.size_in_bytes
        elif reader.opcode == "bitcast":
            total += _read(reader.name, size, body, known)
        elif reader.opcode in _ELEMENTWISE and _elements(reader) == _elements(body.get(name)):
            whole = reader.size_in_bytes
            total += size * _read(reader.name, whole, body, known) // max(whole, 1)
        elif reader.opcode not in _IN_PLACE or name in reader.operands[1:]:
            return size
        elif reader.opcode == "scatter":  # what is added to is read
            total += _changed(reader, body, size)
    return min(total, size) if readers else size


def _elements(instruction: Instruction | None) -> int:
    """How many elements one result has; 0 where there is none or several."""
    return math.prod(instruction.shapes[0][1]) if instruction is not None and len(instruction.shapes) == 1 else 0


def _closing(text: str, start: int) -> int:
    """Position of the parenthesis that closes the one at `start`."""
    depth = 0
    for position in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[position], 0)
        if depth == 0:
            return position
    return len(text)


def _dims(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(",") if part)


def size_in_bytes(element: str, dims: tuple[int, ...]) -> int:
    """Of a tensor."""
    bits = _ELEMENT_BITS.get(element, 8 if element.startswith("f8") else 32)
    return math.prod(dims) * bits // 8
