"""Choices by a tensor's size that make no difference (`scalify_hlo.recognition.free_choices`) are made by its data.

The factors that bring data into range then stay in the data, as numbers: the scale is that of what they multiply.
"""

from scalify_hlo.recognition.free_choices import FreeChoice
from scalify_hlo.rules.oprewrite import OpRewrite
from scalify_hlo.scale import ONE, Scale
from scalify_hlo.size.moments import UNIT

from .additive import relative


# F(k x) = F(x) for all k > 0: F(s k(|x|) x) = F(s x), where k is chosen by the data, not by s |x|
def free_choice(r: OpRewrite) -> bool:
    """Rewrite an operation of such a choice; whether it was one."""
    value = r.value()
    choice = r.rewriter.free_choices.get(value)
    if choice is None:
        return False
    if value in choice.predicates:
        return True  # of data and the number, as they are
    if value in choice.numbers:
        r.result(ONE, UNIT)
        return True
    return _piece(r, choice) if value in choice.pieces else _chosen(r, choice)


def _piece(r: OpRewrite, choice: FreeChoice) -> bool:
    """k x of s x is s (k x): the number is no scale."""
    index = next((i for i in (0, 1) if r.inputs[i] is not None and not _is_number(r, i, choice)), None)
    if index is None:
        return False
    x = r.scaled(index)
    scale = _scale_of(r, choice) or x.scale
    r.set_operand(index, r.bring(x, scale))
    r.result(scale, relative(x, scale), indifferent=x.indifferent)
    return True


def _chosen(r: OpRewrite, choice: FreeChoice) -> bool:
    """p ? k s x : s x is s (p ? k x : x); beside zeros a selection like others."""
    members = (r.scaled(1), r.scaled(2))
    if any(each.indifferent for each in members):
        return False
    scale = r.aligned((1, 2), _scale_of(r, choice))
    first, second = (relative(each, scale) for each in members)
    r.result(scale, first.mixed(second))
    return True


def _is_number(r: OpRewrite, index: int, choice: FreeChoice) -> bool:
    return r.op.operands[index] in choice.numbers


def _scale_of(r: OpRewrite, choice: FreeChoice) -> Scale | None:
    """The scale at which sizes are compared, of a multiple of what is compared; None of others."""
    found = r.rewriter.scaled.get(choice.size) if r.value() in choice.sized else None
    return None if found is None or found.indifferent or not found.scale.is_scalar else found.scale
