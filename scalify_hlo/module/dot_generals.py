"""Products of matrices in their older spellings, `dot` and `einsum`, as the `dot_general` that they are.

XLA does the same before it compiles (xla/hlo/translate/mhlo_to_hlo, einsum_to_dot_general); passes and recognition look
for one operation.
"""

from collections.abc import Sequence

from scalify_hlo.bindings import ir, stablehlo
from scalify_hlo.types import tensor_info

SPELLINGS = frozenset({"stablehlo.dot", "stablehlo.einsum"})
_OWN = ("einsum_config", "precision_config")


def write_as_dot_general(op: ir.Operation) -> None:
    """Replace one of `SPELLINGS`; an einsum that sums over a letter of one operand, or repeats one, stays."""
    if any(not ir.RankedTensorType(value.type).has_static_shape for value in (*op.operands, *op.results)):
        return
    if op.name == "stablehlo.dot":
        rank = tensor_info(op.operands[0].type).rank
        left, right = ["xk"[-rank:], "ky"[: tensor_info(op.operands[1].type).rank]]
        result = (left + right).replace("k", "")
    else:
        operands, _, result = ir.StringAttr(op.attributes["einsum_config"]).value.replace(" ", "").partition("->")
        left, _, right = operands.partition(",")
    if not _is_product(op, left, right, result):
        return
    batch = [letter for letter in left if letter in right and letter in result]
    summed = [letter for letter in left if letter in right and letter not in result]
    free = [letter for letter in left + right if letter not in batch and letter not in summed]
    order = batch + free
    x, y = (tensor_info(operand.type).shape for operand in op.operands)
    sizes = dict(zip(left + right, (*x, *y), strict=True))
    type_ = ir.RankedTensorType(op.results[0].type)
    made = ir.RankedTensorType.get([sizes[letter] for letter in order], type_.element_type)
    numbers = stablehlo.DotDimensionNumbers.get(
        _places(batch, left), _places(batch, right), _places(summed, left), _places(summed, right)
    )
    kept = {name: op.attributes[name] for name in op.attributes if name not in _OWN}
    own = {"dot_dimension_numbers": numbers}
    if "precision_config" in op.attributes:
        own["precision_config"] = op.attributes["precision_config"]
    in_order = "".join(order) == result
    ip = ir.InsertionPoint(op)
    attributes = own | kept if in_order else own
    new = ir.Operation.create("stablehlo.dot_general", [made], list(op.operands), attributes, loc=op.location, ip=ip)
    if not in_order:
        permutation = {"permutation": ir.DenseI64ArrayAttr.get([order.index(letter) for letter in result])}
        new = ir.Operation.create(
            "stablehlo.transpose", [type_], [new.results[0]], permutation | kept, loc=op.location, ip=ip
        )
    op.results[0].replace_all_uses_with(new.results[0])
    op.erase()


def _is_product(op: ir.Operation, left: str, right: str, result: str) -> bool:
    x, y = (tensor_info(operand.type).shape for operand in op.operands)
    if (len(left), len(right)) != (len(x), len(y)) or not (left + right + result).isalpha():
        return False
    if any(len(set(letters)) != len(letters) for letters in (left, right, result)):
        return False
    if any(letter not in result and not (letter in left and letter in right) for letter in left + right):
        return False
    sizes = dict(zip(left, x, strict=True))
    return set(result) <= set(left + right) and all(
        sizes.get(letter, n) == n for letter, n in zip(right, y, strict=True)
    )


def _places(letters: Sequence[str], term: str) -> list[int]:
    return [term.index(letter) for letter in letters]
