"""Matrix products and convolutions in optimised HLO: which instructions are some, and how much they multiply."""

import math
import re
from collections.abc import Iterable, Mapping

from scalify_hlo.aot.hlo_text import Instruction

# Block-scaled products contract the last dimension of both operands.
_BLOCK_SCALED = ("__cudnn$blockScaledDot", "__op$block_scaled_dot")
_GEMM_CALLS = ("__cublas", *_BLOCK_SCALED)
_TRITON_GEMM = re.compile(r"__triton\w*gemm")
_CONTRACTING = re.compile(r'"?lhs_contracting_dim(?:ension)?s"?[:=][\[{]([\d",]*)[\]}]')
_CONV_LABELS = re.compile(r"dim_labels=\w+_(\w+)->(\w+)")


def is_gemm(kernel: Instruction) -> bool:
    """Whether a kernel is a library's matrix product, or one that XLA generates with Triton."""
    return kernel.custom_call_target.startswith(_GEMM_CALLS) or bool(_TRITON_GEMM.search(kernel.attributes))


def product_flops(
    kernel: Instruction, members: Mapping[str, Instruction], fused: Iterable[Instruction]
) -> tuple[int, str]:
    """Floating-point operations of a kernel's matrix products and convolutions, and the type of their operands.

    members: the computation that the kernel stands in; fused: the instructions inside it. (0, "") for other kernels.
    """
    total, element = 0, ""
    inside = {each.name: each for each in fused}
    for instruction, scope in ((kernel, members), *((each, inside) for each in inside.values())):
        flops, found = _flops(instruction, scope)
        total, element = total + flops, found or element
    return total, element


def _flops(instruction: Instruction, scope: Mapping[str, Instruction]) -> tuple[int, str]:
    operands = [scope[name] for name in instruction.operands[:2] if name in scope]
    if len(operands) < 2 or not instruction.shapes or not all(operand.shapes for operand in operands):
        return 0, ""
    lhs, rhs = (operand.shapes[0] for operand in operands)
    result = math.prod(instruction.shapes[0][1])
    types = sorted({lhs[0], rhs[0]})
    element = next((each for each in types if not each.startswith("f8")), types[0])
    if instruction.opcode == "dot" or instruction.custom_call_target.startswith(_GEMM_CALLS):
        found = _CONTRACTING.search(instruction.attributes)
        dims = [int(d) for d in re.findall(r"\d+", found.group(1))] if found else []
        if instruction.custom_call_target.startswith(_BLOCK_SCALED):
            dims = [len(lhs[1]) - 1]
        return 2 * result * math.prod(lhs[1][d] for d in dims if d < len(lhs[1])), element
    labels = _CONV_LABELS.search(instruction.attributes)
    if labels and (instruction.opcode == "convolution" or instruction.custom_call_target.startswith("__cudnn$conv")):
        # Labels are those of the forward convolution, also in its two gradients: input, kernel -> output.
        if instruction.custom_call_target.endswith("BackwardInput"):
            output, kernel = math.prod(lhs[1]), rhs[1]
        elif instruction.custom_call_target.endswith("BackwardFilter"):
            output, kernel = math.prod(rhs[1]), instruction.shapes[0][1]
        else:
            output, kernel = result, rhs[1]
        features = kernel[labels.group(1).index("o")]
        return 2 * output * math.prod(kernel) // max(features, 1), element
    return 0, ""
