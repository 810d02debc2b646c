"""What a function does besides returning values: references and checks, which a rewritten function has no place for."""

# jax and numpy are annotated in part only.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
from jax.extend.core import jaxprs_in_params

from scalify_hlo.bindings import without_references


def made_pure(fun: Callable[..., Any], jaxpr: Any) -> Any:
    """The jaxpr of `fun` with the references that are made inside (`jax.new_ref`) as the values that they hold.

    Raises TypeError for a reference from outside, ValueError for a check that nothing collects.
    """
    if not jaxpr.effects:
        return jaxpr
    name = getattr(fun, "__name__", type(fun).__name__)
    for value in jaxpr.consts:
        if isinstance(value, jax.Ref):
            raise TypeError(
                f"scalify({name}): it reads or writes a reference from outside, {jax.typeof(value)}, and a rewritten "
                "function takes and returns values: pass ref[...], return what it becomes and assign that outside. "
                "References that it makes itself, by jax.new_ref, may stay"
            )
    at_run_time = getattr(jax.config, "jax_experimental_unsafe_xla_runtime_errors", False)
    if not at_run_time and _has_checks(jaxpr.jaxpr):
        raise ValueError(
            f"scalify({name}): a checkify.check inside is collected by nothing: checkify goes inside, "
            f"error, y = scalify(checkify.checkify({name}))(...), and error.throw() outside"
        )
    return without_references(jaxpr)


def _has_checks(jaxpr: Any) -> bool:
    """Whether a jaxpr has a check that fails when it is lowered: those for debugging do nothing then."""
    jaxpr = getattr(jaxpr, "jaxpr", jaxpr)
    return any(
        (eqn.primitive.name == "check" and not eqn.params.get("debug"))
        or any(map(_has_checks, jaxprs_in_params(eqn.params)))
        for eqn in jaxpr.eqns
        if eqn.effects
    )
