"""What a compiled program costs: kernels, bytes, memory, matrix products, and a roofline estimate of one execution.

Everything is read from the optimised program, so that two programs can be compared to the last kernel on a machine
without the GPU. Only the estimate of the time rests on assumptions; see `scalify_hlo.aot.roofline`.
"""

import dataclasses
import math
import time
from collections.abc import Sequence
from typing import Literal

from scalify_hlo.aot.collectives import Collective, collectives
from scalify_hlo.aot.compiler import CompiledProgram, Memory, compile_for
from scalify_hlo.aot.hlo_text import Instruction, Program, parse
from scalify_hlo.aot.products import is_gemm, product_flops
from scalify_hlo.aot.roofline import Roofline, estimate
from scalify_hlo.aot.targets import target as gpu
from scalify_hlo.bindings import ir
from scalify_hlo.execution import xla

# data: works on tensors. scalar: every operand and result has one element. copy: moves what is there already.
KernelKind = Literal["data", "scalar", "copy"]
_COPIES = ("copy", "copy-start")


@dataclasses.dataclass(frozen=True)
class Kernel:
    """One launch, or one of a loop.

    times: launches in one execution of the program. size: bytes that one launch reads and writes.
    flops: of a matrix product or convolution, 0 for all else; element: the type that it multiplies in.
    op_name: JAX's name stack of the operation that it is named after. members: HLO instructions inside, fused.
    """

    name: str
    opcode: str
    kind: KernelKind
    times: int
    size: int
    flops: int
    element: str
    op_name: str
    members: tuple[Instruction, ...]


@dataclasses.dataclass(frozen=True)
class Cost:
    """Of one program on one target, for one execution; kernels in loops count as often as they run.

    bytes_accessed: what the kernels read and write. fp8_gemms, gemms: library calls and generated products; the
    first are among the second. flops: of matrix products, by the element type that they multiply in.
    compile_cpu_seconds: of all threads of the compiler. step: the estimate; None where nothing is assumed (cpu).
    collectives: what a partitioned program moves between devices; the estimate counts none of it.
    """

    target: str
    kernels: int
    data_kernels: int
    scalar_kernels: int
    copies: int
    bytes_accessed: int
    memory: Memory
    gemms: int
    fp8_gemms: int
    flops: dict[str, int]
    hlo_lines: int
    compile_seconds: float
    compile_cpu_seconds: float
    step: Roofline | None
    collectives: tuple[Collective, ...] = ()


@dataclasses.dataclass(frozen=True)
class MeasuredProgram:
    """A program's cost, with the kernels that it is the sum of, in program order."""

    cost: Cost
    kernels: tuple[Kernel, ...]


def measure_cost(module: ir.Module, target: str, sources: Sequence[str] = ()) -> MeasuredProgram:
    """Compile `module` (left unchanged) for a GPU by name, or "cpu" for this machine's, and read off what it costs.

    sources: where operations come from, by the numbers that `mark_operations` gave them.
    Raises ScalifyError; see `compile_for` and `scalify_hlo.execution.xla.compile`.
    """
    start = time.process_time()
    if target == "cpu":
        executable = xla.compile(module, excess_precision=True)
        seconds, text, memory = executable.compile_seconds, executable.as_text(), executable.memory
    else:
        compiled: CompiledProgram = compile_for(module, gpu(target))
        seconds, text, memory = compiled.seconds, compiled.text, compiled.memory
    return read_cost(text, memory, target, seconds, time.process_time() - start, sources)


def read_cost(
    text: str, memory: Memory, target: str, seconds: float, cpu_seconds: float, sources: Sequence[str] = ()
) -> MeasuredProgram:
    """The cost of a program whose optimised HLO is `text`."""
    program = parse(text)
    kernels = tuple(_kernel(program, *each) for each in program.kernels())
    count = {
        kind: sum(kernel.times for kernel in kernels if kernel.kind == kind) for kind in ("data", "scalar", "copy")
    }
    flops: dict[str, int] = {}
    for kernel in kernels:
        if kernel.flops:
            flops[kernel.element] = flops.get(kernel.element, 0) + kernel.times * kernel.flops
    products = [kernel for kernel in kernels if kernel.flops]
    cost = Cost(
        target=target,
        kernels=sum(count.values()),
        data_kernels=count["data"],
        scalar_kernels=count["scalar"],
        copies=count["copy"],
        bytes_accessed=sum(kernel.times * kernel.size for kernel in kernels),
        memory=memory,
        gemms=sum(kernel.times for kernel in products),
        fp8_gemms=sum(kernel.times for kernel in products if kernel.element.startswith(("f8", "f4"))),
        flops=flops,
        hlo_lines=text.count("\n") + 1,
        compile_seconds=seconds,
        compile_cpu_seconds=cpu_seconds,
        step=None if target == "cpu" else estimate(kernels, target),
        collectives=collectives(program, sources),
    )
    return MeasuredProgram(cost, kernels)


def _kernel(program: Program, instruction: Instruction, times: int, size: int) -> Kernel:
    computation = program.home[instruction.name]
    members = program.computations[computation]
    fused: tuple[Instruction, ...] = ()
    if instruction.opcode == "fusion" and instruction.called:
        fused = tuple(program.computations.get(instruction.called[0], {}).values())
    flops, element = product_flops(instruction, members, fused)
    operands = [members[name] for name in instruction.operands if name in members]
    kind: KernelKind = "data"
    if instruction.opcode in _COPIES or (fused and all(each.opcode in _MOVED_ONLY for each in fused)):
        kind = "copy"
    elif all(_is_scalar(each) for each in (*operands, instruction)):
        kind = "scalar"
    op_name = instruction.op_name or next((each.op_name for each in reversed(fused) if each.op_name), "")
    return Kernel(instruction.name, instruction.opcode, kind, times, size, flops, element, op_name, fused)


_MOVED_ONLY = frozenset({"parameter", "bitcast", "copy", "tuple"})


def _is_scalar(instruction: Instruction) -> bool:
    return all(math.prod(dims) == 1 for _, dims in instruction.shapes)


__all__ = ["Cost", "Kernel", "KernelKind", "MeasuredProgram", "is_gemm", "measure_cost", "read_cost"]
