"""Names of jax-scalify that have no counterpart here, and what to write instead: for AttributeErrors."""

_RULES = "rules are for StableHLO operations: write one with `custom_scale`, or as in docs/extending.md"
_COMPOSITE = "the scaling primitives are composites in the module: call the function of that name without `_p`"
_INSTEAD = {
    "register_scaled_op": _RULES,
    "register_scaled_lax_op": _RULES,
    "find_registered_scaled_op": _RULES,
    "ScaledPrimitiveType": _RULES,
    "set_scaling_p": _COMPOSITE,
    "get_data_scale_p": _COMPOSITE,
    "stop_scaling_p": _COMPOSITE,
    "utils": "`scalify(f).lower(*args).compile().as_text()` is the optimised HLO",
    "quantization": "scales as f8E8M0FNU: `as_scaled_array(x, scale_dtype=jax.numpy.float8_e8m0fnu)`",
}


def missing(module: str, name: str) -> AttributeError:
    """The error for a name that `module` does not have."""
    hint = f"; {_INSTEAD[name]} (docs/migration.md)" if name in _INSTEAD else ""
    return AttributeError(f"module {module!r} has no attribute {name!r}{hint}")
