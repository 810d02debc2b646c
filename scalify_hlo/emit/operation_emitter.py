"""Emission of operations: constants and broadcasts are emitted once per scope and shared."""

from collections.abc import Sequence

from scalify_hlo.bindings import ir
from scalify_hlo.emit.scopes import At, Scope
from scalify_hlo.module.shapes import sizes
from scalify_hlo.types import FLOAT_RANGE, LARGEST, TensorInfo, tensor_info


class OperationEmitter:
    """Creates operations at the current insertion point of one function."""

    def __init__(self, entry: ir.Block, location: ir.Location):
        self.scope = Scope(entry, 0)
        self.location = location
        self.ip = ir.InsertionPoint.at_block_begin(entry)
        self.f32 = ir.F32Type.get()
        self.scalar = ir.RankedTensorType.get([], self.f32)
        self._no_dimensions = ir.DenseI64ArrayAttr.get([])
        self._elements: dict[str, ir.Type] = {"f32": self.f32}

    # --- operations -------------------------------------------------------------------------------------------

    def create(
        self,
        name: str,
        types: Sequence[ir.Type],
        operands: Sequence[ir.Value],
        attributes: dict[str, ir.Attribute] | None = None,
        regions: int = 0,
        *,
        erasable: bool = True,
    ) -> ir.Operation:
        """The operation `name` at the insertion point, with the location of the operation being rewritten.

        erasable: it is erased at the end if nothing uses it.
        """
        op = ir.Operation.create(
            name, types, operands, attributes or {}, regions=regions, loc=self.location, ip=self.ip
        )
        if erasable:
            self.scope.emitted.append(op)
        return op

    def op(self, name: str, type_: ir.Type, *operands: ir.Value, **attributes: ir.Attribute) -> ir.Value:
        """`stablehlo.<name>` with one result."""
        return self.create(f"stablehlo.{name}", [type_], operands, attributes).result

    def element_type(self, name: str) -> ir.Type:
        """The MLIR element type called `name`, such as "f32" or "f8E4M3FN"."""
        if name not in self._elements:
            self._elements[name] = ir.Type.parse(name)
        return self._elements[name]

    def tensor_type(self, like: ir.Type, element: str) -> ir.Type:
        """`like` with another element type; shape, bounds and encoding kept."""
        tensor = ir.RankedTensorType(like)
        return ir.RankedTensorType.get(tensor.shape, self.element_type(element), tensor.encoding)

    def convert(self, value: ir.Value, element: str) -> ir.Value:
        """`value` converted to another element type (itself when it has that type), saturating where that is f8."""
        source = tensor_info(value.type)
        if source.element == element:
            return value
        if element in LARGEST and source.is_float and source.max_exponent > FLOAT_RANGE[element][0]:
            low, high = (self.splat(value, bound) for bound in (-LARGEST[element], LARGEST[element]))
            value = self.op("clamp", value.type, low, value, high)
        return self.op("convert", self.tensor_type(value.type, element), value)

    # --- constants --------------------------------------------------------------------------------------------

    def splat(self, like: ir.Value, value: float) -> ir.Value:
        """A constant of the type of `like` whose elements all equal `value`."""
        type_ = like.type
        info = tensor_info(type_)
        if not info.is_static:
            element = ir.RankedTensorType.get([], ir.RankedTensorType(type_).element_type)
            return self.broadcast_like(self.constant(element, value), like)
        if info.is_complex:  # the bindings cannot make a complex constant
            real = self.tensor_type(type_, info.real)
            parts = (self.constant(real, number) for number in (value, 0.0))
            return self.op("complex", type_, *parts)
        return self.constant(type_, value)

    def constant(self, type_: ir.Type, value: float) -> ir.Value:
        """A constant whose elements all equal `value`, in the outermost scope from which it is visible here."""
        key = ("constant", type_, value)
        scope = self.scope
        while not scope.isolated and scope.parent is not None:
            if key in scope.cache:
                return scope.cache[key]
            scope = scope.parent
        found = scope.cache.get(key)
        if found is None:
            element = ir.RankedTensorType(type_).element_type
            attribute = ir.DenseElementsAttr.get_splat(type_, ir.FloatAttr.get(element, value))
            ip = ir.InsertionPoint.at_block_begin(scope.block)
            op = ir.Operation.create("stablehlo.constant", [type_], [], {"value": attribute}, loc=self.location, ip=ip)
            scope.emitted.append(op)
            scope.cache[key] = found = op.results[0]
        return found

    # --- broadcasts -------------------------------------------------------------------------------------------

    def broadcast_like(
        self, value: ir.Value, like: ir.Value, shape: TensorInfo | None = None, *, used: bool = False
    ) -> ir.Value:
        """`value` (rank 0, or the rank of `like` with dimensions 1 or full) at the shape of `like`.

        shape: what is known of the type of `like`. used: something uses the result at once, and so need not be looked
        at for itself when what is unused is erased.
        """
        shape = shape or tensor_info(like.type)
        key = ("broadcast", value, shape.shape if shape.is_static else like)
        found = self.scope.cache.get(key)
        if found is not None:
            return found
        own = tensor_info(value.type)
        if not own.rank and shape.rank and shape.is_static and own.element == shape.element:
            dimensions: dict[str, ir.Attribute] = {"broadcast_dimensions": self._no_dimensions}
            op = self.create("stablehlo.broadcast_in_dim", [like.type], [value], dimensions, erasable=not used)
            found = op.results[0]
            self.scope.cache[key] = found
            return found
        target, source = ir.RankedTensorType(like.type), ir.RankedTensorType(value.type)
        if source.shape == target.shape:
            return value
        type_ = ir.RankedTensorType.get(target.shape, source.element_type, target.encoding)
        attribute = ir.DenseI64ArrayAttr.get([] if source.rank == 0 else list(range(target.rank)))
        if shape.is_static:
            result = self.op("broadcast_in_dim", type_, value, broadcast_dimensions=attribute)
        else:
            result = self.op(
                "dynamic_broadcast_in_dim", type_, value, self.shape_of(like), broadcast_dimensions=attribute
            )
        self.scope.cache[key] = result
        return result

    def shape_of(self, value: ir.Value) -> ir.Value:
        """The shape of a tensor with dynamic dimensions, as tensor<rank x i32>."""
        key = ("shape", value)
        if key not in self.scope.cache:
            self.scope.cache[key] = sizes(self.op, value)
        return self.scope.cache[key]

    # --- other places ---------------------------------------------------------------------------------------

    def hoisted(self, scope: Scope) -> At:
        """Emission in an enclosing scope, just before the operation that leads here."""
        if scope is self.scope:
            return At(self, self.ip, scope)
        inner = self.scope
        while inner.parent is not scope:
            assert inner.parent is not None
            inner = inner.parent
        assert inner.anchor is not None
        return At(self, ir.InsertionPoint(inner.anchor), scope)

    def at(self, ip: ir.InsertionPoint) -> At:
        """Emission at another point of the current scope."""
        return At(self, ip, self.scope)
