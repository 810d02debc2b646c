"""Operations between devices, on one device; tests/execution runs them on several."""

from scalify_hlo.bindings import stablehlo
from tests.ops.program import Program, reducer

_GROUP = "replica_groups = dense<0> : tensor<1x1xi64>"

# jaxlib has it from 0.12 on.
_REDUCE_TO_ONE = Program(
    "stablehlo.collective_reduce", "3x4xT -> 3x4xT", _GROUP, reducer("add"), not_run="XLA:CPU lacks it"
)

PROGRAMS = (
    *((_REDUCE_TO_ONE,) if hasattr(stablehlo, "CollectiveReduceOp") else ()),
    Program(
        "stablehlo.all_reduce", "3x4xT -> 3x4xT", _GROUP, reducer("add"), interpreted=False, elements=("f32", "f16")
    ),
    Program(
        "stablehlo.all_reduce",
        "3x4xT -> 3x4xT",
        _GROUP,
        reducer("maximum"),
        condition="maximum",
        interpreted=False,
        elements=("f32", "f16"),
    ),
    Program(
        "stablehlo.all_gather",
        "3x4xT -> 3x4xT",
        f"all_gather_dim = 0 : i64, {_GROUP}",
        interpreted=False,
        elements=("f32", "f16"),
    ),
    Program(
        "stablehlo.all_to_all",
        "3x4xT -> 3x4xT",
        f"split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = 1 : i64, {_GROUP}",
        interpreted=False,
        elements=("f32", "f16"),
    ),
    Program("stablehlo.collective_broadcast", "3x4xT -> 3x4xT", _GROUP, not_run="XLA:CPU lacks it"),
    Program(
        "stablehlo.collective_permute",
        "3x4xT -> 3x4xT",
        "source_target_pairs = dense<0> : tensor<1x2xi64>",
        interpreted=False,
        elements=("f32", "f16"),
    ),
    Program("stablehlo.cross-replica-sum", "3x4xT -> 3x4xT", _GROUP, not_run="deprecated: neither runs it"),
    Program(
        "stablehlo.reduce_scatter",
        "3x4xT -> 3x4xT",
        f"scatter_dimension = 0 : i64, {_GROUP}",
        reducer("add"),
        interpreted=False,
        elements=("f32", "f16"),
    ),
)
