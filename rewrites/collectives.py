"""Operations between devices. Each device may hold its own scale: where scales are not known to be equal, they are
brought to their maximum over the devices before data are summed, compared or put together.
"""

import math

from scalify_hlo.bindings import ir
from scalify_hlo.emit.common_scales import all_reduce_maximum, is_same_everywhere
from scalify_hlo.module.bodies import body_kind
from scalify_hlo.module.manual import group_size
from scalify_hlo.rules.oprewrite import OpRewrite, UnsupportedError
from scalify_hlo.rules.registry import Law, rule
from scalify_hlo.rules.values import ScaledValue
from scalify_hlo.scale import Scale

from .regions import on_values

_GROUPS = ("replica_groups", "channel_handle", "use_global_device_ids")


# how a value is laid out over devices does not change it
@rule("sdy.sharding_constraint", "sdy.reshard", "sdy.propagation_barrier", family="homogeneous", law="f(s x) = s f(x)",
      scale="s", shaped=True)  # fmt: skip
def layout(r: OpRewrite) -> None:
    x = r.scaled(0)
    r.result(x.scale, x.moments, indifferent=x.indifferent)


@rule("sdy.sharding_group", family="predicate", law="the layout does not depend on the elements", scale="none",
      shaped=True)  # fmt: skip
def sharding_group(r: OpRewrite) -> None:
    del r


# --- one scale over several devices ---------------------------------------------------------------------------


def equal_everywhere(r: OpRewrite, scale: Scale) -> bool:
    """Whether a scale is known to be the same on all devices."""
    return is_same_everywhere(r.rewriter, scale)


def at_common_scale(r: OpRewrite, index: int) -> ScaledValue:
    """Operand `index` with a scale that is the same on all devices of the operation's groups: the largest."""
    x = r.scaled(index)
    if x.indifferent or equal_everywhere(r, x.scale):
        r.set_operand(index, x.data)
        return x
    scale = largest_scale(r, x.scale)
    r.set_operand(index, r.bring(x, scale))
    return ScaledValue(r.operand(index), scale, x.moments)


def largest_scale(r: OpRewrite, scale: Scale) -> Scale:
    """The maximum of a scale over the devices of the operation's groups."""
    emit = r.emit
    attributes = {name: r.op.attributes[name] for name in _GROUPS if name in r.op.attributes}
    if r.name == "stablehlo.all_to_all" and "channel_handle" in attributes:
        # Its groups hold partitions, those of all_reduce devices: the same where there is one replica.
        if _replicas(r) > 1:
            raise UnsupportedError("'stablehlo.all_to_all' between partitions of several replicas")
        attributes["use_global_device_ids"] = ir.UnitAttr.get()
    groups = tuple(str(attribute) for attribute in attributes.values())
    key = ("largest", scale, groups)
    found = emit.scope.cache.get(key)
    if found is None:
        if "channel_handle" in attributes:
            attributes["channel_handle"] = r.rewriter.functions.new_channel()
        value = all_reduce_maximum(emit, emit.scale_value(scale), attributes)
        found = emit.cache_scale(key, value, positive=scale.positive, trials=scale.trials)
        emit.scope.cache["largest", found, groups] = found
    return found


def _replicas(r: OpRewrite) -> int:
    attributes = r.rewriter.functions.module.operation.attributes
    if "mhlo.num_replicas" not in attributes:
        return 1
    return ir.IntegerAttr(attributes["mhlo.num_replicas"]).value


# --- reductions -----------------------------------------------------------------------------------------------

_SUMS: Law = {
    "family": "accumulation",
    "law": "sum over devices of (s_i x_i) = (m 2^k) (sum(x_i s_i/m) 2^-k), m = max s_i",
    "scale": "add: m 2^k, k = floor(log2 sqrt(N)) for N devices, in types of less range than f32 ceil(log2 N); "
    "max, min: m",
}
_MEETING = "scales that are not known to be equal meet in an all_reduce of their maximum; other bodies: on values"


_ALONG = ("scatter_dimension", "all_gather_dim", "split_dimension", "concat_dimension")


def _mixed_by_moving(r: OpRewrite, index: int) -> list[int]:
    """The dimensions along which parts are cut off or put together."""
    del index
    return sorted({ir.IntegerAttr(r.op.attributes[name]).value for name in _ALONG if name in r.op.attributes})


# collective_reduce: the sum reaches one device of each group
@rule("all_reduce", "reduce_scatter", "collective_reduce", **_SUMS, note=_MEETING, mixes=_mixed_by_moving)
def reduce_over_devices(r: OpRewrite) -> None:
    kind = body_kind(r.op)
    if kind not in ("add", "maximum", "minimum", "first", "second"):
        return on_values(r)
    return _reduce(r, kind)


@rule("cross-replica-sum", **_SUMS, note=_MEETING)
def cross_replica_sum(r: OpRewrite) -> None:
    _reduce(r, "add")


def _reduce(r: OpRewrite, kind: str) -> None:
    count = group_size(r.op) if kind == "add" else 1
    for i in range(len(r.op.results)):
        if r.inputs[i] is None:
            continue
        x = at_common_scale(r, i)
        moments = r.rewriter.moments(x.moments).summed(count)
        if x.indifferent:
            r.result(x.scale, moments, index=i, indifferent=True)
        elif kind == "add" and r.info(i).is_narrow:
            # Before the sum: it has no wider type to overflow in. By the number of terms, not by their expected sum:
            # then it cannot, whatever the devices hold.
            exponent = math.ceil(math.log2(count))
            r.set_operand(i, r.emit.rescale(x.data, Scale(-exponent)))
            r.result(x.scale.shifted(exponent), moments.shifted(-exponent), index=i)
        else:
            r.settled(x.scale, moments, index=i, slack=r.rewriter.slack)


# --- movement between devices ---------------------------------------------------------------------------------


# parts from several devices, brought to one scale
@rule("all_gather", "all_to_all", family="homogeneous", law="f(m x) = m f(x)", scale="m, the largest of the devices'",
      note="scales that are not known to be equal meet in an all_reduce of their maximum",
      mixes=_mixed_by_moving)  # fmt: skip
def put_together(r: OpRewrite) -> None:
    for i in range(len(r.op.results)):
        if r.inputs[i] is not None:
            x = at_common_scale(r, i)
            r.result(x.scale, x.moments, index=i, indifferent=x.indifferent)


# the data of another device arrive with its scale
@rule("collective_permute", "collective_broadcast", family="homogeneous", law="f(s_i x_i) = f(s_i) f(x_i)",
      scale="s where it is the same on all devices, else sent along", shaped=True)  # fmt: skip
def pass_on(r: OpRewrite) -> None:
    x = r.scaled(0)
    if x.indifferent or equal_everywhere(r, x.scale):
        return r.result(x.scale, x.moments, indifferent=x.indifferent)
    value = r.emit.scale_value(x.scale)
    sent = r.emit.create(r.name, [value.type], [value], dict(r.op.attributes.items())).results[0]
    return r.result(r.emit.as_scale(sent), x.moments)  # 0 where nothing arrives, and so are the data


# what leaves the program are values
@rule("send", "outfeed", family="opaque", law="the receiver expects values", scale="none", shaped=True,
      note="formed in their own type, f16 included")  # fmt: skip
def leave(r: OpRewrite) -> None:
    r.through_plain()
