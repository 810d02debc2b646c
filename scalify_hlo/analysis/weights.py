"""The weights of a program without a backward pass, found by data flow.

A weight is what is contracted with activations and not computed from them: an argument of the public function that,
past operations which only move or convert it, is one side of a matrix product or the kernel of a convolution, or the
table that a gather takes rows of by computed indices. Of a product of two arguments, `x @ w`, the one is the weight
that the other products, or the other arguments of the same tree, show to be one; where nothing shows it, the right one.
A table is not contracted with another argument: the nodes of a graph are, and what is sorted by the experts that are
chosen for it. No argument by itself is a weight where others come in trees: an input that is contracted with a mask, or
with what a network makes of others, looks like one.

What the program writes to or hands on (a KV cache) is no weight. Weights that are frozen into a program are constants
that stand in the same places.
"""

import re
from collections.abc import Callable, Collection, Iterator

from scalify_hlo.analysis.caches import find_caches_of
from scalify_hlo.analysis.calls import CallGraph, callee_name, defining_op, program_order, terminator
from scalify_hlo.analysis.intervals import MOVES
from scalify_hlo.analysis.origins import Origin, Origins
from scalify_hlo.bindings import ir
from scalify_hlo.io.globs import dotted
from scalify_hlo.module.traits import Trait, has
from scalify_hlo.types import NARROW_INTEGERS, tensor_info

# How many values are looked back at.
_FAR = 24
_PRODUCTS = ("stablehlo.dot_general", "stablehlo.dot", "stablehlo.convolution")
GATHERS = ("stablehlo.gather", "stablehlo.dynamic_gather")


def find_weights(module: ir.Module, main: str, inputs: Collection[int] = ()) -> set[int]:
    """Indices of the arguments of the function `main` that are weights: float tensors of rank 2 and more.

    inputs: those that are known to be none.
    """
    return _Finder(CallGraph(module), main, inputs).weights


def frozen_weights(calls: CallGraph, main: str) -> list[ir.Operation]:
    """The constants of the function `main`, and of those that it calls, that are weights: dense float tensors of rank 2
    and more."""
    return [value.owner.operation for value in _Finder(calls, main).constants]


class _Finder:
    def __init__(self, calls: CallGraph, main: str, inputs: Collection[int] = ()):
        self.inputs = inputs
        self.body = calls.body(main)
        self.weights: set[int] = set()
        self.constants: dict[ir.Value, None] = {}
        origins = Origins(calls)
        returned = {self._argument(origins.of(value)) for value in terminator(self.body).operands if _is_tensor(value)}
        returned |= set(find_caches_of(calls, main))
        both: list[tuple[int, int]] = []
        tables: set[int] = set()
        for op in program_order(calls):
            if op.name in _PRODUCTS:
                sides = [origins.of(operand) for operand in op.operands]
                frozen = [side.root for side in sides if is_frozen(side.root)]
                self.constants |= dict.fromkeys(frozen if len(frozen) == 1 else [])
                left, right = (self._argument(side) for side in sides)
                if op.name == "stablehlo.convolution":
                    left = None
                elif any(_is_quantised(operand, may_be_given=i == 1) for i, operand in enumerate(op.operands)):
                    left = right = None  # an argument beside a quantised weight is an input
                if left is not None and right is not None:
                    both.append((left, right))
                elif not frozen:  # an argument beside a frozen weight is an input
                    for i, each in enumerate((left, right)):
                        if each is not None and self._is_weight(each, i, op.operands[1 - i], op.name):
                            self.weights.add(each)
            elif op.name in GATHERS and _is_tensor(op.operands[0]):
                origin = origins.of(op.operands[0])
                table = self._argument(origin)
                tables |= set() if table is None else {table}
                self.constants |= dict.fromkeys([origin.root] if is_frozen(origin.root) else [])
        tables -= {each for pair in both for each in pair}
        self.weights |= tables
        self._decide(both)
        leaves = {index for index in self.weights if _is_leaf(self._tree(index))}
        if self.weights - leaves:
            self.weights -= leaves
        self.weights -= {each for each in returned if each is not None}

    def _argument(self, origin: Origin) -> int | None:
        """The argument of the public function that a value is, moved or converted; None for what is computed."""
        root = origin.root
        if not isinstance(root, ir.BlockArgument) or ir.BlockArgument(root).owner != self.body:
            return None
        index = ir.BlockArgument(root).arg_number
        return index if _is_tensor(root) and index not in self.inputs else None

    # x @ (w s), x @ [w_q, w_k, w_v], x @ (w + a b): what is computed of arguments alone may be the weight as well
    def _is_weight(self, argument: int, side: int, other: ir.Value, product: str) -> bool:
        """Whether an argument is what is contracted with activations, not with what is made of weights.

        Layers and tables give activations. Of what is computed of arguments otherwise, trees tell, as of two arguments,
        or the place: `x @ w`.
        """
        behind = self._arguments_behind(other) if product != "stablehlo.convolution" else None
        if not behind:
            return True
        mine, theirs = _is_leaf(self._tree(argument)), all(_is_leaf(self._tree(each)) for each in behind)
        return theirs if mine != theirs else side == 1

    def _arguments_behind(self, value: ir.Value) -> set[int] | None:
        """The float tensors that a value is computed of; None for what layers, tables, loops and known inputs give."""
        found = set[int]()
        for each in _computed_of(value, _is_computed_by_layer):
            if each is None:
                return None
            if defining_op(each) is None:
                argument = ir.BlockArgument(each)
                if argument.owner != self.body or argument.arg_number in self.inputs:
                    return None
                if _is_tensor(each):
                    found.add(argument.arg_number)
        return found

    def _decide(self, both: list[tuple[int, int]]) -> None:
        """Of products of two arguments, which is the weight: the one beside known weights, else the right one."""
        trees = {self._tree(index) for index in self.weights}
        for left, right in both:
            known = [each in self.weights or self._tree(each) in trees for each in (left, right)]
            if known == [True, True]:
                self.weights |= {left, right}
            else:
                self.weights.add(left if known == [True, False] else right)

    def _tree(self, index: int) -> str:
        """The tree that an argument belongs to by its name: `params` of `params['blocks'][0]`; "" for a leaf."""
        location = self.body.arguments[index].location
        name = dotted(location.name_str) if isinstance(location, ir.NameLoc) else ""
        head, dot, _ = re.sub(r"^args\.", "args", name).partition(".")
        return head if dot else f"{name}#{index}"


def _is_leaf(tree: str) -> bool:
    return "#" in tree


def _computed_of(value: ir.Value, ends: Callable[[ir.Operation], bool]) -> Iterator[ir.Value | None]:
    """A value and those that it is computed of; None in the place of what operations give where looking back `ends`,
    and after too many."""
    pending, seen = [value], set[ir.Value]()
    while pending:
        current = pending.pop()
        if current in seen:
            continue
        op = defining_op(current)
        if len(seen) > _FAR or (op is not None and ends(op)):
            yield None
            return
        seen.add(current)
        yield current
        pending += op.operands if op is not None else ()


def _is_computed_by_layer(op: ir.Operation) -> bool:
    return op.name in (*_PRODUCTS, *GATHERS, "stablehlo.while") or callee_name(op) is not None


def _is_no_arithmetic(op: ir.Operation) -> bool:
    return not (op.name == "stablehlo.constant" or has(op.name, Trait.ELEMENTWISE) or op.name in MOVES)


# x @ (q s), q of int8: the weight is what x is multiplied by, though it is no float argument
def _is_quantised(value: ir.Value, *, may_be_given: bool) -> bool:
    """Whether a side of a product is integers of few bits, times scales: constants, or arguments if these may be."""
    codes = False
    for each in _computed_of(value, _is_no_arithmetic):
        if each is None:
            return False
        op, info = defining_op(each), tensor_info(each.type)
        if op is None and not may_be_given:
            return False
        codes |= (op is None or not len(op.operands)) and info.rank > 1 and info.element in NARROW_INTEGERS
    return codes


def is_frozen(value: ir.Value) -> bool:
    """Whether a value is a constant of many different numbers."""
    op = defining_op(value)
    if op is None or op.name != "stablehlo.constant" or not _is_tensor(value):
        return False
    attribute = op.attributes["value"]
    return isinstance(attribute, ir.DenseElementsAttr) and not attribute.is_splat


def _is_tensor(value: ir.Value) -> bool:
    info = tensor_info(value.type)
    return info.is_float and info.rank >= 2
