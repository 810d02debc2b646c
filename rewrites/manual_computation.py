"""sdy.manual_computation: a region of per-device code. Scales enter replicated and leave as algebra of what entered,
or as results of their own, the same on all devices.
"""

from scalify_hlo.bindings import ir, sdy
from scalify_hlo.emit.common_scales import at_common_scales
from scalify_hlo.emit.emitter import Scope
from scalify_hlo.module.manual import collective_attributes, groups_around
from scalify_hlo.rules.oprewrite import OpRewrite, UnsupportedError
from scalify_hlo.rules.registry import never_scaled, rule
from scalify_hlo.rules.shapes import to_rank_0
from scalify_hlo.rules.values import ScaledValue
from scalify_hlo.scale import SMALLEST, Scale, Symbol
from scalify_hlo.types import tensor_info

from .collectives import equal_everywhere


# the region works on local data; a rank-0 scale is replicated, one with a shape is sharded like its data
@rule("sdy.manual_computation", family="structural", law="(s x) -> f(s x) on every device",
      scale="by the rules of the region's operations", shaped=True)  # fmt: skip
def manual_computation(r: OpRewrite) -> None:
    _Region(r).rewrite()


never_scaled("sdy.return", reason="a terminator: rewritten with the operation that owns its region")


class _Region:
    """The region under rewriting."""

    def __init__(self, r: OpRewrite):
        self.r = r
        self.block = r.op.regions[0].blocks[0]
        self.in_shardings = _shardings(r.op, "in_shardings")
        self.out_shardings = _shardings(r.op, "out_shardings")
        self.outside: dict[Symbol, Scale] = {}  # a symbol inside -> the scale that enters for it
        self.operands: list[ir.Value] = []

    def rewrite(self) -> None:
        r, rewriter = self.r, self.r.rewriter
        self._enter()
        ends: list[ir.Operation] = []
        scope = rewriter.in_block(self.block, r.op, ends.append, isolated=True)
        values = list(ends[0].operands)
        found = [rewriter.scaled.get(value) for value in values]
        leaving = self._leave(ends[0], scope, values, found)
        types = [value.type for value in r.op.results] + [r.emit.scalar] * len(leaving)
        replicated = sdy.TensorShardingAttr.get(self._mesh(), [])
        attributes = dict(r.op.attributes.items())
        attributes["out_shardings"] = sdy.TensorShardingPerValueAttr.get(
            [*self.out_shardings, *[replicated] * len(leaving)]
        )
        operands = [*r.op.operands, *self.operands]
        new = r.emit.create(r.name, types, operands, attributes, regions=1, erasable=False)
        self.block.append_to(new.regions[0])
        for i, form in enumerate(found):
            value = new.results[i]
            if form is None:
                r.op.results[i].replace_all_uses_with(value)
            elif i in leaving:
                scale = r.emit.as_scale(
                    new.results[len(found) + leaving.index(i)], positive=form.scale.positive, trials=form.scale.trials
                )
                r.result(scale, form.moments, index=i, data=value, indifferent=form.indifferent)
            else:
                r.result(self._outside(form.scale), form.moments, index=i, data=value, indifferent=form.indifferent)
        r.erase()

    def _enter(self) -> None:
        """Give the region an argument for each distinct run-time factor of the scales that enter."""
        r = self.r
        arguments = list(self.block.arguments)
        inside: dict[object, Scale] = {}
        for i, x in enumerate(r.inputs):
            if x is None:
                continue
            scale = Scale(x.scale.exponent)
            if x.scale.factors:
                product = Scale(0, x.scale.factors)
                key = (product, str(self.in_shardings[i])) if product.shape else product
                if key not in inside:
                    inside[key] = self._argument(i, product, arguments[i])
                scale = inside[key].shifted(x.scale.exponent)
            local = ScaledValue(arguments[i], scale, x.moments, x.indifferent)
            r.rewriter.define(arguments[i], local)
        # On the old operation too: it is asked for while its region is rewritten.
        r.op.attributes["in_shardings"] = sdy.TensorShardingPerValueAttr.get(self.in_shardings)

    def _argument(self, index: int, product: Scale, data: ir.Value) -> Scale:
        """A block argument for a scale: its symbol inside."""
        r, emit = self.r, self.r.emit
        value = emit.scale_value(product)
        sharding = sdy.TensorShardingAttr(self.in_shardings[index])
        whole, local = r.info(index).shape, tensor_info(data.type).shape
        dimensions: list[ir.Attribute] = []
        shape: list[int] = []
        for d, n in enumerate(product.shape):
            closed = sdy.DimensionShardingAttr.get([], True)
            dimensions.append(closed if n == 1 else sharding.dimension_shardings[d])
            shape.append(1 if n == 1 else n * local[d] // whole[d])
        argument = self.block.add_argument(ir.RankedTensorType.get(shape, emit.f32), r.op.location)
        self.in_shardings.append(sdy.TensorShardingAttr.get(sharding.mesh_or_ref, dimensions))
        self.operands.append(value)
        symbol = emit.symbol(argument, positive=product.positive, depth=emit.scope.depth + 1, trials=product.trials)
        if not product.shape:
            self.outside[symbol] = product
        return Scale(0, ((symbol, 1),))

    def _outside(self, scale: Scale) -> Scale:
        """A scale of the region in terms of what entered it."""
        result = Scale(scale.exponent)
        for symbol, power in scale.factors:
            result = result * self.outside[symbol] ** power
        return result

    def _leave(
        self, end: ir.Operation, scope: Scope, values: list[ir.Value], found: list[ScaledValue | None]
    ) -> list[int]:
        """Return data, and after them the scales that the outside cannot know; the indices of their results."""
        rewriter = self.r.rewriter
        leaving: list[int] = []
        scales: list[ir.Value] = []

        def emit_scales(terminator: ir.Operation) -> None:
            del terminator
            own: list[ScaledValue] = []
            for i, form in enumerate(found):
                if form is not None and any(symbol not in self.outside for symbol, _ in form.scale.factors):
                    leaving.append(i)
                    own.append(to_rank_0(rewriter, form))
            for i, form in zip(leaving, self._same_everywhere(own), strict=True):
                found[i] = form
                scales.append(rewriter.emit.scale_value(SMALLEST if form.indifferent else form.scale))

        rewriter.at_end(end, scope, emit_scales)
        data = [v if form is None else form.data for v, form in zip(values, found, strict=True)]
        ir.Operation.create(end.name, [], [*data, *scales], loc=end.location, ip=ir.InsertionPoint(end))
        end.erase()
        return leaving

    def _same_everywhere(self, forms: list[ScaledValue]) -> list[ScaledValue]:
        """The values with scales that are the same on all devices, as replicated results must be."""
        if all(form.indifferent or equal_everywhere(self.r, form.scale) for form in forms):
            return forms
        groups = groups_around(self.block.operations[0].operation)
        if groups is None:
            raise UnsupportedError("'sdy.manual_computation' on a mesh that the module does not define")
        return at_common_scales(self.r.rewriter, forms, collective_attributes(groups))

    def _mesh(self) -> ir.Attribute:
        shardings = [*self.in_shardings, *self.out_shardings]
        return sdy.TensorShardingAttr(shardings[0]).mesh_or_ref


def _shardings(op: ir.Operation, name: str) -> list[ir.Attribute]:
    return list(sdy.TensorShardingPerValueAttr(op.attributes[name]).shardings)
