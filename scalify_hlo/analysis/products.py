"""Matrix products, and which of them belong to the backward pass.

A product is one of a forward pass (activation times weight), or of a backward one: then one operand is a
gradient and the other an activation or a weight of the forward product that it differentiates. The name stack
says on which side an operation stands. Where there are no names, data flow does: a backward product takes an
operand of an earlier product and contracts over what was free there, because for y = x w the gradients are
dx = dy w^T and dw = x^T dy.
"""

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Literal

from scalify_hlo.analysis.calls import CallGraph, defining_op, loops_around, program_order
from scalify_hlo.analysis.multiplied_in_turns import products_in_turns
from scalify_hlo.analysis.name_stack import Direction, NameStacks, argument_name, direction_of, is_recomputed
from scalify_hlo.analysis.origins import Origin, Origins
from scalify_hlo.analysis.product_shapes import extent, is_padded_away, is_product
from scalify_hlo.analysis.repeated_products import gives_the_same
from scalify_hlo.analysis.value_graph import ValueGraph
from scalify_hlo.bindings import ir, stablehlo
from scalify_hlo.errors import describe_location
from scalify_hlo.module import traits
from scalify_hlo.module.preserved import once
from scalify_hlo.types import tensor_info

Kind = Literal["forward", "backward", "unclear"]


@dataclasses.dataclass
class Operand:
    """One side of a product. Dimension numbers index `value`'s dimensions."""

    value: ir.Value
    origin: Origin
    contracting: list[int]
    batching: list[int]
    is_gradient: bool = False

    @property
    def free(self) -> list[int]:
        """The dimensions that appear in the result and are no batch dimensions."""
        rank = ir.RankedTensorType(self.value.type).rank
        return [d for d in range(rank) if d not in self.contracting and d not in self.batching]

    @property
    def free_size(self) -> int:
        return extent(self.value, self.free)


@dataclasses.dataclass
class MatrixProduct:
    """A `dot_general` and its part in the program.

    name: full name stack. source: file position and name, for messages. kind: "unclear" where the two
    operands cannot be told apart in a backward product (gradient times gradient).
    role: `forward`, `gradient of the input`, `gradient of the weight`, `gradient` (of activations), or `unclear`.
    layer: the forward product that this one computes or differentiates; None where none was found.
    repeats: the forward product that this one of the backward pass computes once more.
    weight: the name of the function argument that the layer multiplies by (`P['blocks'][0]['w1']`), or "".
    in_training: whether the program has a backward pass.
    of_activations: whether the layer multiplies what layers gave by what layers gave, such as a Gram matrix does.
    in_turns: whether a loop multiplies what it carries by the same matrix each time: in f32 (`multiplied_in_turns`).
    is_of_derivatives: of a head, whether other layers depend on its layer's other products: it is differentiated twice.
    """

    op: ir.Operation
    name: str
    source: str
    lhs: Operand
    rhs: Operand
    kind: Kind = "forward"
    role: str = ""
    evidence: Literal["names", "data flow"] = "data flow"
    layer: "MatrixProduct | None" = None
    repeats: "MatrixProduct | None" = None
    weight: str = ""
    is_head: bool = False
    is_embedding: bool = False
    in_training: bool = False
    of_activations: bool = False
    is_of_derivatives: bool = False
    in_turns: bool = False

    @property
    def batched(self) -> bool:
        return bool(self.lhs.batching)

    @property
    def operands(self) -> tuple[Operand, Operand]:
        return self.lhs, self.rhs

    @property
    def is_small(self) -> bool:
        """Whether padding adds as much work as FP8 saves: 8 rows are 8 in f16 and 16 in FP8, half of them zeros.

        A program without a backward pass has its weights stored in FP8, and a product of few rows gains from reading
        half: there only the weight's sizes count.
        """
        free = [operand.free_size for operand in self.operands]
        if not self.in_training:
            weights = [operand.free_size for operand in self.operands if _parameter(operand.origin) is not None]
            free = [max(weights)] if weights else free
        return is_padded_away((extent(self.lhs.value, self.lhs.contracting), *free))

    @property
    def selects(self) -> bool:
        """Whether an operand is a one-hot matrix: elements are picked and nothing is learned."""
        return any(_is_one_hot(operand.origin.root) for operand in self.operands)


def matrix_products(module: ir.Module) -> list[MatrixProduct]:
    """Every product of floats (`is_product`), in program order, with its part in the program."""
    return _Classifier(CallGraph(module)).products


def has_backward_products(module: ir.Module) -> bool:
    """Whether products of a module look like those of a backward pass."""
    return once("backward products", lambda: any(each.kind == "backward" for each in matrix_products(module)))


class _Classifier:
    def __init__(self, calls: CallGraph):
        self.names = NameStacks(calls)
        self.origins = Origins(calls)
        operations = list(program_order(calls))
        self.products = [
            self._product(op) for op in operations if is_product(op) and tensor_info(op.results[0].type).is_float
        ]
        if not self.products:
            return
        self.graph = ValueGraph(calls)
        self.named = any(self.names.direction(op) is Direction.BACKWARD for op in operations)
        # Attention shares an operand between scores and mixing as a backward pass does; where JAX's names stand on the
        # operations and none is of a backward pass, there is none.
        if self.named or not any(self.names.tells_derivatives(op) for op in operations):
            self._by_data_flow()
        if self.named:
            directions = [direction_of(product.name) for product in self.products]
            self._find_repeated(directions)
            self._by_names(directions)
        in_turns = products_in_turns(calls, [product.op for product in self.products])
        for product in self.products if in_turns else ():
            product.in_turns = product.op.results[0] in in_turns
        self._assign_layers()
        self._find_ends()
        in_training = any(product.kind != "forward" for product in self.products)
        for product in self.products:
            product.role = _role(product)
            product.in_training = in_training

    def _product(self, op: ir.Operation) -> MatrixProduct:
        numbers = (
            stablehlo.DotDimensionNumbers(op.attributes["dot_dimension_numbers"])
            if op.name == "stablehlo.dot_general"
            else stablehlo.DotDimensionNumbers.get([], [], [1], [1])
        )
        lhs = Operand(
            op.operands[0], self.origins.of(op.operands[0], op),
            list(numbers.lhs_contracting_dimensions), list(numbers.lhs_batching_dimensions),
        )  # fmt: skip
        rhs = Operand(
            op.operands[1], self.origins.of(op.operands[1], op),
            list(numbers.rhs_contracting_dimensions), list(numbers.rhs_batching_dimensions),
        )  # fmt: skip
        name = self.names.full_name(op)
        position = describe_location(op.location).split(" [")[0]
        source = f"{position} [{name}]" if name and not position.startswith("[") else f"[{name}]" if name else position
        return MatrixProduct(op, name, source, lhs, rhs)

    # --- direction --------------------------------------------------------------------------------------------

    def _by_data_flow(self) -> None:
        """Backward products from the pattern of shared operands; then everything computed from a gradient.

        First by shared arguments of the program, which are no gradients; then by shared activations of the
        products that are forward by then.
        """
        for arguments_only in (True, False):
            seeds = self._gradient_seeds(arguments_only)
            gradients = self.graph.reachable(seeds)
            for product in self.products:
                for operand in product.operands:
                    operand.is_gradient = operand.origin.root in gradients
                product.kind = _kind(product)

    def _gradient_seeds(self, arguments_only: bool) -> list[ir.Value]:
        earlier: dict[object, list[Operand]] = {}
        seeds: list[ir.Value] = []
        for product in self.products:
            if product.selects:
                continue
            found = [
                other.origin.root
                for mine, other in (product.operands, product.operands[::-1])
                if (not arguments_only or _parameter(mine.origin) is not None)
                and _parameter(other.origin) is None
                and any(_contracts_the_free(mine, theirs) for theirs in earlier.get(mine.origin.key, ()))
            ]
            # A product that was found to be forward shares its operands; of two candidates neither is certain.
            if len(found) == 1:
                seeds += found
            elif not found and product.kind == "forward":
                for operand in product.operands:
                    earlier.setdefault(operand.origin.key, []).append(operand)
        return seeds

    def _find_repeated(self, directions: Sequence[Direction]) -> None:
        """What the backward pass computes as the forward pass did is of that, whatever its name says."""
        readers: dict[ir.Value, list[MatrixProduct]] = {}  # of a weight
        repeated: dict[ir.Operation, ir.Operation] = {}
        for product, direction in zip(self.products, directions, strict=True):
            again = direction is Direction.BACKWARD or is_recomputed(product.name)
            for operand in product.operands:
                if not again:
                    readers.setdefault(operand.origin.root, []).append(product)
                elif product.repeats is None:
                    for earlier in readers.get(operand.origin.root, ()):
                        if gives_the_same(product.op, earlier.op, self.origins, repeated):
                            product.repeats, repeated[product.op] = earlier, earlier.op
                            break

    def _by_names(self, directions: Sequence[Direction]) -> None:
        """Direction from the name stack, where the module has names from differentiation at all."""
        for product, direction in zip(self.products, directions, strict=True):
            product.evidence = "names"
            if direction is not Direction.BACKWARD or product.repeats is not None:
                product.kind = "forward"
                product.lhs.is_gradient = product.rhs.is_gradient = False
                continue
            by_flow = [operand.is_gradient for operand in product.operands]
            by_name = [self._is_backward_value(operand.origin.root) for operand in product.operands]
            # Recomputed activations stand on the backward side too: then data flow decides.
            flags = by_name if sum(by_name) == 1 else by_flow if sum(by_flow) == 1 else [True, True]
            product.lhs.is_gradient, product.rhs.is_gradient = flags
            product.kind = _kind(product)

    def _is_backward_value(self, value: ir.Value) -> bool:
        op = defining_op(value)
        if op is None:  # carried by a loop of the backward pass
            op = ir.BlockArgument(value).owner.owner.operation
            if op.name == "func.func":
                return False
        return self.names.direction(op) is Direction.BACKWARD

    # --- layers -----------------------------------------------------------------------------------------------

    def _assign_layers(self) -> None:
        by_operand: dict[object, list[MatrixProduct]] = {}
        gradient_layer: dict[object, MatrixProduct] = {}
        for product in self.products:
            if product.kind == "forward":
                product.layer = product.repeats or product
                product.weight = _weight_name(product)
                for operand in product.operands:
                    by_operand.setdefault(operand.origin.key, []).append(product)
        # A product with a weight names its gradient; the product with the activation is then known by it.
        for with_weight in (True, False):
            for product in self.products:
                if product.kind != "backward" or product.layer is not None:
                    continue
                gradient, value = sorted(product.operands, key=lambda operand: not operand.is_gradient)
                if (_parameter(value.origin) is not None) is not with_weight:
                    continue
                product.layer = gradient_layer.get(gradient.origin.key) or _matching(
                    by_operand.get(value.origin.key, ()), value, gradient
                )
                if product.layer is not None:
                    product.weight = product.layer.weight
                    gradient_layer.setdefault(gradient.origin.key, product.layer)

    def _find_ends(self) -> None:
        """Embedding: a product with a one-hot matrix. Head: a layer on which no other layer depends.

        A product that selects is no layer: what a loss picks from logits by labels leaves the head what it is. Nor is
        one of what layers gave with what layers gave, such as similarities of two towers' embeddings, or with a table:
        a chain of rotations, an image or a signal that is resized; nor what a loop multiplies in turns. Layers that are
        differentiated twice depend on each other, there and back: their last products are heads. Where all that no
        layer depends on has batch dimensions, it is the loss that multiplies, such as the energies of solutions: then
        layers without such are looked at alone.
        """
        forward = [product for product in self.products if product.kind == "forward" and not product.in_turns]
        without_weight, no_layers = self._without_weight(forward)
        layers: dict[object, list[MatrixProduct]] = {}
        # The layers that read a value: all, and those that are differentiated. Of one that is, only these follow it:
        # products outside, such as an optimiser's of the gradients, are no layers of its model.
        everywhere: dict[ir.Value, set[object]] = {}
        inside: dict[ir.Value, set[object]] = {}
        differentiated: set[object] = set()
        for product in forward:
            key = _layer_key(product)
            layers.setdefault(key, []).append(product)
            is_inside = self.named and direction_of(product.name) is not Direction.OUTSIDE
            if is_inside:
                differentiated.add(key)
            if product.selects or product.op.results[0] in no_layers:
                continue
            for operand in product.operands:
                for readers in (everywhere, inside) if is_inside else (everywhere,):
                    readers.setdefault(operand.value, set()).add(key)

        def last_of(keys: Iterable[object]) -> set[object]:
            return {
                key
                for key in keys
                if not self._feeds_another(key, layers[key], inside if key in differentiated else everywhere)
            }

        heads = last_of(layers)
        if all(member.batched for key in heads for member in layers[key]):
            alone = {key for key, members in layers.items() if not members[0].batched and not members[0].selects}
            for keys in (*everywhere.values(), *inside.values()):
                keys.intersection_update(alone)
            heads |= last_of(alone)
        last = self._last(layers, heads, inside)
        for product in self.products:
            layer = product.layer
            if layer is not None:
                product.of_activations = layer.op.results[0] in without_weight
                product.is_embedding = layer.selects
                product.is_of_derivatives = layer.op.results[0] in last
                ends = _layer_key(layer) in heads or product.is_of_derivatives
                product.is_head = ends and not layer.batched and not product.is_embedding

    def _last(
        self, layers: dict[object, list[MatrixProduct]], heads: set[object], inside: dict[ir.Value, set[object]]
    ) -> set[ir.Value]:
        """What products give on which no other depends, of layers on which some do; of loops' the next iteration's may.

        # L = f(E(R, W), dE/dR): dE/dR ends with the products of the gradient by the first layer's W
        """
        twice = [each for key, members in layers.items() if key not in heads and len(members) > 1 for each in members]
        forward = [
            each for each in twice if direction_of(each.name) is Direction.FORWARD and not is_recomputed(each.name)
        ]
        results = [each.op.results[0] for each in forward if self.named and not loops_around(each.op.results[0])]
        return {value for value in results if not self.graph.depends(inside, set(), value)}

    def _without_weight(self, forward: Sequence[MatrixProduct]) -> tuple[set[ir.Value], set[ir.Value]]:
        """Results of the products, without batch dimensions, of which both operands are computed of what layers gave,
        and of no weight besides; and those of all products of which one is, and none of a weight.

        # a b^T of embeddings a = f(x) and b = g(y): an error of b is one of the result, as of logits
        """
        layers: list[ir.Value] = []
        others: list[MatrixProduct] = []
        for product in forward:
            if isinstance(product.lhs.origin.root, ir.BlockArgument) or isinstance(
                product.rhs.origin.root, ir.BlockArgument
            ):
                layers += [] if product.selects else [product.op.results[0]]
            else:
                others.append(product)
        if not others:
            return set(), set()
        computed = self.graph.reachable(layers)
        weights = _Weights(self.origins)
        both, some = set[ir.Value](), set[ir.Value]()
        for product in others:
            of_layers = [each.value in computed for each in product.operands]
            if any(of_layers) and not any(weights.are_in(each.value) for each in product.operands):
                some.add(product.op.results[0])
                if all(of_layers) and not product.batched:
                    both.add(product.op.results[0])
        return both, some

    def _feeds_another(self, layer: object, members: list[MatrixProduct], readers: dict[ir.Value, set[object]]) -> bool:
        """Whether a layer other than this one reads what is computed of its products."""
        mine = {layer}
        return any(self.graph.depends(readers, mine, member.op.results[0]) for member in members)


class _Weights:
    """Which values are arguments, or carried by a loop, but for operations on each element: w / sigma, w - r g."""

    def __init__(self, origins: Origins):
        self._origins = origins
        self._none: set[ir.Value] = set()

    def are_in(self, value: ir.Value) -> bool:
        """Whether one is found on the way back from a value through operations on each element and movements."""
        seen: set[ir.Value] = set()
        pending = [value]
        while pending:
            root = self._origins.of(pending.pop()).root
            if root in seen or root in self._none:
                continue
            seen.add(root)
            op = defining_op(root)
            if op is None:
                return True
            if traits.has(op.name, traits.Trait.ELEMENTWISE):
                info = tensor_info(root.type)
                pending += [
                    each for each in op.operands
                    if (of := tensor_info(each.type)).is_float and of.rank and of.shape == info.shape
                ]  # fmt: skip
        self._none |= seen
        return False


def _kind(product: MatrixProduct) -> Kind:
    count = product.lhs.is_gradient + product.rhs.is_gradient
    return ("forward", "backward", "unclear")[count]


def _role(product: MatrixProduct) -> str:
    if product.kind != "backward":
        return product.kind
    value = product.rhs if product.lhs.is_gradient else product.lhs
    weight = None if product.layer is None else _weight(product.layer)
    is_input = weight is not None and weight.origin.key != value.origin.key  # y = x w, of a program's argument x
    if _parameter(value.origin) is not None and not is_input:
        return "gradient of the input"
    return "gradient of the weight" if product.layer is not None and product.layer.weight else "gradient"


def _contracts_the_free(mine: Operand, theirs: Operand) -> bool:
    """Whether one product contracts over dimensions of a shared tensor that are free in the other."""
    contracted = mine.origin.root_dims(mine.contracting)
    free = theirs.origin.root_dims(theirs.free)
    return bool(contracted) and contracted <= free and not contracted & theirs.origin.root_dims(theirs.contracting)


def _matching(candidates: Sequence[MatrixProduct], value: Operand, gradient: Operand) -> MatrixProduct | None:
    """The forward product that `value` was an operand of and whose result has the size of the gradient."""
    for candidate in candidates:
        if tensor_info(candidate.op.results[0].type).size != tensor_info(gradient.value.type).size:
            continue
        for mine in candidate.operands:
            if mine.origin.key == value.origin.key and _contracts_the_free(value, mine):
                return candidate
    return None


def _parameter(origin: Origin) -> ir.BlockArgument | None:
    """The argument of a public function that a value comes from."""
    if not isinstance(origin.root, ir.BlockArgument):
        return None
    argument = ir.BlockArgument(origin.root)
    return argument if argument.owner.owner.operation.name == "func.func" else None


def _weight(product: MatrixProduct) -> Operand | None:
    """The operand of a layer's product that comes from an argument; the right one of two."""
    found = (each for each in (product.rhs, product.lhs) if _parameter(each.origin) is not None)
    return next(found, None)


def _weight_name(product: MatrixProduct) -> str:
    weight = _weight(product)
    argument = None if weight is None else _parameter(weight.origin)
    return "" if argument is None else argument_name(argument) or f"arg{argument.arg_number}"


def _layer_key(product: MatrixProduct) -> object:
    """Equal for a product and its recomputed copies: the weight, where there is one."""
    product = product.repeats or product
    weight = _weight(product)
    return product.op.results[0] if weight is None else weight.origin.key


def _is_one_hot(value: ir.Value) -> bool:
    """iota == index, converted to a float."""
    op = defining_op(value)
    if op is None or op.name != "stablehlo.compare":
        return False
    return isinstance(ir.RankedTensorType(op.operands[0].type).element_type, ir.IntegerType)
