"""Which matrix products of a module become FP8 GEMMs on a GPU, and why the others do not.

Each `dot_general` is given a mark in its location, which XLA carries through to the instructions it makes of it.
The operations that read its result are marked too, in another way: XLA makes one product of a product and a
transpose, and that one carries the transpose's location.
"""

import dataclasses
import math
import re
from typing import Literal

from scalify_hlo.analysis.name_stack import own_name
from scalify_hlo.analysis.products import MatrixProduct, matrix_products
from scalify_hlo.aot.collectives import Collective, collectives
from scalify_hlo.aot.compiler import CompiledProgram, Gemm, Memory, compile_for
from scalify_hlo.aot.cost_difference import mark_operations
from scalify_hlo.aot.hlo_text import Instruction, Program, parse
from scalify_hlo.aot.products import is_gemm
from scalify_hlo.aot.targets import Target
from scalify_hlo.bindings import ir
from scalify_hlo.execution.modules import clone
from scalify_hlo.types import tensor_info

_MARK = re.compile(r"scalify\.(product|reader)\.(\d+)")
# What may become part of a product, when it reads one.
_ABSORBED = ("stablehlo.transpose", "stablehlo.reshape", "stablehlo.convert", "stablehlo.multiply", "stablehlo.add")
Verdict = Literal["fp8 gemm", "gemm", "no gemm", "removed"]
Requirement = Literal["converted", "linear", "all"]

_OCP = ("f8E4M3FN", "f8E5M2")


@dataclasses.dataclass(frozen=True)
class ProductReport:
    """What became of one product.

    source: file position and name stack of the JAX operation. role, weight: see `MatrixProduct`.
    operands, result: types, as MLIR writes them. kernel: the custom call's target or the kind of fusion.
    reason: why it is no FP8 GEMM; empty where it is one.
    """

    index: int
    source: str
    role: str
    weight: str
    operands: tuple[str, str]
    result: str
    verdict: Verdict
    kernel: str
    reason: str
    linear: bool

    @property
    def has_fp8_operand(self) -> bool:
        return any("xf8" in operand or "xf4" in operand for operand in self.operands)


@dataclasses.dataclass(frozen=True)
class LintReport:
    """The products of a module in program order, and what the whole compiled program costs.

    kernels: launches in one execution, a loop's body counted as often as it runs.
    kernels_in_text: the same, each instruction once. bytes_accessed: what kernels read and write in one execution.
    hlo_lines: length of the optimised program. compile_seconds: wall clock. collectives: what it moves between devices.
    """

    target: str
    gemm: Gemm
    products: tuple[ProductReport, ...]
    kernels: int
    kernels_in_text: int
    gemms: int
    bytes_accessed: int
    memory: Memory
    hlo_lines: int
    compile_seconds: float
    collectives: tuple[Collective, ...] = ()

    def failures(self, require: Requirement) -> tuple[ProductReport, ...]:
        """The products that should be FP8 GEMMs and are not.

        require: "converted" asks it of products with an FP8 operand; "linear" of the products of linear layers
        (no batch dimensions, not of two activations; neither head nor embedding nor matrix times vector); "all" of
        every product.
        """
        return tuple(
            product
            for product in self.products
            if product.verdict not in ("fp8 gemm", "removed")
            and (require == "all" or (product.linear if require == "linear" else product.has_fp8_operand))
        )


def lint(module: ir.Module, target: Target, *, gemm: Gemm = "cublas") -> LintReport:
    """Compile `module` (left unchanged) for `target` and report on every product on floats.

    Raises ScalifyError; see `compile_for`.
    """
    with module.context, ir.Location.unknown(module.context):
        marked = clone(module)
        products = matrix_products(marked)
        sources = mark_operations(marked)
        for index, product in enumerate(products):
            _mark(product.op, f"scalify.product.{index}")
            for use in product.op.results[0].uses:
                reader = use.owner.operation
                if reader.name in _ABSORBED and "scalify.reader." not in own_name(reader):
                    _mark(reader, f"scalify.reader.{index}")
        compiled = compile_for(marked, target, gemm=gemm)
        return _report(products, compiled, gemm, sources)


def _mark(op: ir.Operation, name: str) -> None:
    op.location = ir.Location.name(name, op.location)


def _report(products: list[MatrixProduct], compiled: CompiledProgram, gemm: Gemm, sources: list[str]) -> LintReport:
    program = parse(compiled.text)
    outcomes = _outcomes(products, _instructions_by_product(program))
    kernels = list(program.kernels())
    return LintReport(
        target=compiled.target.name,
        gemm=gemm,
        products=tuple(
            _judge(index, product, outcome, compiled.target)
            for index, (product, outcome) in enumerate(zip(products, outcomes, strict=True))
        ),
        kernels=sum(times for _, times, _ in kernels),
        kernels_in_text=len({kernel.name for kernel, _, _ in kernels}),
        gemms=sum(times for kernel, times, _ in kernels if is_gemm(kernel)),
        bytes_accessed=sum(times * size for _, times, size in kernels),
        memory=compiled.memory,
        hlo_lines=compiled.text.count("\n") + 1,
        compile_seconds=compiled.seconds,
        collectives=collectives(program, sources),
    )


def _instructions_by_product(program: Program) -> dict[int, list[tuple[Instruction, str]]]:
    """For each product the instructions made of it, with the types of their operands."""
    found: dict[int, list[tuple[Instruction, str]]] = {}
    for computation, instruction in program.instructions():
        members = program.computations[computation]
        for kind, mark in _MARK.findall(instruction.op_name):
            if kind == "reader" and not (is_gemm(instruction) or instruction.opcode == "dot"):
                continue
            operands = [members[name] for name in instruction.operands[:2] if name in members]
            types = " x ".join(operand.shapes[0][0] for operand in operands if operand.shapes)
            found.setdefault(int(mark), []).append((instruction, types))
    return found


@dataclasses.dataclass(frozen=True)
class _Outcome:
    """What XLA made of a product: its verdict, the kernel, operand types in HLO, elements of the kernel's result."""

    verdict: Verdict
    kernel: str = ""
    types: str = ""
    size: int = 0


_RANK: dict[Verdict, int] = {"fp8 gemm": 0, "gemm": 1, "no gemm": 2, "removed": 3}


def _outcomes(products: list[MatrixProduct], found: dict[int, list[tuple[Instruction, str]]]) -> list[_Outcome]:
    """The outcome of each product. XLA makes one product of several that share an operand, under the name of one."""
    own = [_best(found.get(index, [])) for index in range(len(products))]
    sharing: dict[ir.Value, list[int]] = {}
    for index, product in enumerate(products):
        for operand in product.operands:
            sharing.setdefault(operand.value, []).append(index)
    outcomes: list[_Outcome] = []
    for outcome, product in zip(own, products, strict=True):
        if _RANK[outcome.verdict] >= _RANK["no gemm"]:
            for other in (i for operand in product.operands for i in sharing[operand.value]):
                merged = own[other]
                if merged.size > tensor_info(products[other].op.results[0].type).size:
                    outcome = dataclasses.replace(merged, kernel=f"{merged.kernel}, merged with product {other}")
                    break
        outcomes.append(outcome)
    return outcomes


def _best(instructions: list[tuple[Instruction, str]]) -> _Outcome:
    """The best of what carries a product's mark: an FP8 library call, another one, a generated kernel, or neither."""
    outcomes = [_Outcome("removed")]
    for instruction, types in instructions:
        called = instruction.custom_call_target
        size = math.prod(instruction.shapes[0][1]) if instruction.shapes else 0
        if called.endswith("$f8") or called == "__cudnn$blockScaledDot":
            outcomes.append(_Outcome("fp8 gemm", called, types, size))
        elif called and is_gemm(instruction):
            outcomes.append(_Outcome("gemm", called, types, size))
        elif instruction.opcode == "dot":
            verdict: Verdict = "fp8 gemm" if types.count("f8") == 2 else "gemm"
            outcomes.append(_Outcome(verdict, "generated kernel", types, size))
        elif instruction.opcode in ("multiply", "reduce", "fusion"):
            outcomes.append(_Outcome("no gemm", "fusion", types))
    return min(outcomes, key=lambda outcome: _RANK[outcome.verdict])


def _judge(index: int, product: MatrixProduct, outcome: _Outcome, target: Target) -> ProductReport:
    lhs, rhs = (str(operand.value.type)[len("tensor<") : -1] for operand in product.operands)
    return ProductReport(
        index=index,
        source=product.source,
        role=product.role,
        weight=product.weight,
        operands=(lhs, rhs),
        result=str(product.op.results[0].type)[len("tensor<") : -1],
        verdict=outcome.verdict,
        kernel=outcome.kernel,
        reason="" if outcome.verdict == "fp8 gemm" else _reason(product, outcome, target),
        linear=not (
            product.batched
            or product.of_activations
            or product.is_head
            or product.is_embedding
            or product.is_small
            or _is_vector(product)
        ),
    )


def _is_vector(product: MatrixProduct) -> bool:
    return min(product.lhs.free_size, product.rhs.free_size) == 1


def _reason(product: MatrixProduct, outcome: _Outcome, target: Target) -> str:
    if outcome.verdict == "removed":
        return "dead code, or merged with an equal product"
    elements = [tensor_info(operand.value.type).element for operand in product.operands]
    narrow = [element for element in elements if element.startswith("f8")]
    if target.fp8 is None:
        return f"{target.description} has no FP8 matrix units (compute capability 8.9 and up have)"
    if outcome.verdict == "no gemm" or _is_vector(product):
        return "matrix times vector: compiled to multiply and reduce"
    if not narrow:
        return f"operands are {' x '.join(elements)}, not FP8 (the pass scalify-fp8-dots converts them)"
    if len(narrow) == 1:
        return f"only one operand is FP8 ({' x '.join(elements)}): convert both, to E4M3 and E5M2 or E4M3"
    foreign = [element for element in narrow if element not in _OCP]
    if foreign:
        return f"{foreign[0]} is no format of {target.description}: use f8E4M3FN and f8E5M2"
    if narrow == ["f8E5M2", "f8E5M2"]:
        return "E5M2 x E5M2 has no FP8 GEMM: one operand must be E4M3"
    result = tensor_info(product.op.results[0].type).element
    if result not in ("f32", "bf16", "f16"):
        return f"an FP8 GEMM does not give {result}: ask for f32, bf16 or f16"
    if len(product.lhs.contracting) > 1 or len(product.lhs.free) > 1 or len(product.rhs.free) > 1:
        return f"XLA multiplies in {outcome.types}: its contracting or free dimensions do not collapse to one"
    return f"XLA multiplies in {outcome.types}"
