"""Which results of a jaxpr carry a scale, given which inputs do.

A value carries a scale when it is floating point and computed from one that does; integers, booleans and what the
primitives `get_data_and_scale` and `stop_scaling` return never do. Known at trace time, before the program is
rewritten, because the tree of a transformed function's results depends on it.
"""

# jax and numpy are annotated in part only.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import Literal, jaxprs_in_params

from scalify_hlo.frontend.composite import composite_p

_PLAIN = frozenset({"scalify.get_data_and_scale", "scalify.stop_scaling"})
_SCALED = "scalify.set_scaling"
_RULES = "scalify.custom_scale."
# What a function within a function is, by the version of JAX.
_INLINED_CALLS = ("jit", "pjit")


def scaled_results(jaxpr: Any, scaled: Sequence[bool]) -> list[bool]:
    """For each result of a (closed) jaxpr, whether it carries a scale; `scaled` says so for each input."""
    found = _dependent(jaxpr, scaled)
    return [each and is_float(atom.aval) for each, atom in zip(found, _open(jaxpr).outvars, strict=True)]


def _dependent(jaxpr: Any, scaled: Sequence[bool]) -> list[bool]:
    """The same, with the complex results that are computed from what carries a scale: their parts carry one."""
    jaxpr = _open(jaxpr)
    known: dict[Any, bool] = dict(zip(jaxpr.invars, scaled, strict=True))

    def read(atom: Any) -> bool:
        return not isinstance(atom, Literal) and known.get(atom, False)

    for eqn in jaxpr.eqns:
        inputs = [read(atom) for atom in eqn.invars]
        for var, value in zip(eqn.outvars, _equation(eqn, inputs), strict=True):
            known[var] = value and (is_float(var.aval) or _is_a(var.aval, jnp.complexfloating))
    return [read(atom) for atom in jaxpr.outvars]


def sets_scaling(jaxpr: Any) -> bool:
    """Whether a jaxpr makes scaled values of plain ones: has a `set_scaling` anywhere inside."""
    return any(
        (eqn.primitive is composite_p and eqn.params["name"] == _SCALED)
        or any(sets_scaling(inner) for inner in jaxprs_in_params(eqn.params))
        for eqn in _open(jaxpr).eqns
    )


def chooses_scales(jaxpr: Any) -> bool:
    """Whether a jaxpr says itself what scales are, by `set_scaling` or the rule of a `custom_scale`."""
    return any(
        (eqn.primitive is composite_p and eqn.params["name"].startswith((_SCALED, _RULES)))
        or any(chooses_scales(inner) for inner in jaxprs_in_params(eqn.params))
        for eqn in _open(jaxpr).eqns
    )


def sets_shaped_scaling(jaxpr: Any) -> bool:
    """Whether a jaxpr has a `set_scaling` with a scale that is not of rank 0."""
    return any(
        (eqn.primitive is composite_p and eqn.params["name"] == _SCALED and len(eqn.invars[-1].aval.shape) > 0)
        or any(sets_shaped_scaling(inner) for inner in jaxprs_in_params(eqn.params))
        for eqn in _open(jaxpr).eqns
    )


def forwarded_inputs(jaxpr: Any) -> list[int | None]:
    """For each result of a (closed) jaxpr, the input that it is, handed on by calls at most; None for other results."""
    jaxpr = _open(jaxpr)
    known: dict[Any, int | None] = {var: i for i, var in enumerate(jaxpr.invars)}

    def read(atom: Any) -> int | None:
        return None if isinstance(atom, Literal) else known.get(atom)

    for eqn in jaxpr.eqns:
        if eqn.primitive.name in _INLINED_CALLS:
            inputs = [read(atom) for atom in eqn.invars]
            inner = forwarded_inputs(eqn.params["jaxpr"])
            known.update((var, inputs[i]) for var, i in zip(eqn.outvars, inner, strict=True) if i is not None)
    return [read(atom) for atom in jaxpr.outvars]


def is_float(aval: Any) -> bool:
    """Whether values of an abstract type can carry a scale."""
    return _is_a(aval, jnp.floating)


def _is_a(aval: Any, kind: Any) -> bool:
    dtype = getattr(aval, "dtype", None)
    # Random keys have an extended type, which numpy's type tests do not understand.
    return dtype is not None and not jnp.issubdtype(dtype, jax.dtypes.extended) and jnp.issubdtype(dtype, kind)


def _equation(eqn: Any, inputs: list[bool]) -> list[bool]:
    if eqn.primitive is composite_p:
        name = eqn.params["name"]
        if name in _PLAIN or name == _SCALED:
            return [name == _SCALED] * len(eqn.outvars)
    if not any(inputs) and not any(sets_scaling(inner) for inner in jaxprs_in_params(eqn.params)):
        return [False] * len(eqn.outvars)
    match eqn.primitive.name:
        case "scan":
            return _scan(eqn, inputs)
        case "while":
            return _while(eqn.params, inputs)
        case "cond":
            branches = [_dependent(branch, inputs[1:]) for branch in eqn.params["branches"]]
            return [any(column) for column in zip(*branches, strict=True)]
        case _:
            return _call(eqn, inputs)


def _scan(eqn: Any, inputs: list[bool]) -> list[bool]:
    body = _open(eqn.params["jaxpr"])
    # Told from the ranks, because the parameters change between JAX versions: the body sees slices of what is
    # scanned over and gives slices of what is stacked; what is carried has the same rank inside and outside.
    carry = sum(_rank(inside) == _rank(outside) for inside, outside in zip(body.outvars, eqn.outvars, strict=True))
    sliced = sum(_rank(inside) != _rank(outside) for inside, outside in zip(body.invars, eqn.invars, strict=True))
    first = len(inputs) - sliced - carry
    return _fixpoint(
        inputs[first : first + carry],
        lambda state: _dependent(body, [*inputs[:first], *state, *inputs[first + carry :]]),
    )


def _rank(atom: Any) -> int:
    return len(atom.aval.shape)


def _while(params: Any, inputs: list[bool]) -> list[bool]:
    first = params["cond_nconsts"]
    carry = first + params["body_nconsts"]
    return _fixpoint(inputs[carry:], lambda state: _dependent(params["body_jaxpr"], [*inputs[first:carry], *state]))


def _fixpoint(state: list[bool], body: Any) -> list[bool]:
    """Results of a loop body once the carried flags, which only ever turn true, stand still."""
    while True:
        results = body(state)
        joined = [a or b for a, b in zip(state, results, strict=False)]
        if joined == state:
            return [*joined, *results[len(state) :]]
        state = joined


def _call(eqn: Any, inputs: list[bool]) -> list[bool]:
    """Calls of a jaxpr with the equation's own operands and results are looked into; others depend on everything."""
    bodies = [
        body
        for body in map(_open, jaxprs_in_params(eqn.params))
        if len(body.invars) == len(eqn.invars) and len(body.outvars) == len(eqn.outvars)
    ]
    if len(bodies) == 1:
        return _dependent(bodies[0], inputs)
    return [True] * len(eqn.outvars)


def _open(jaxpr: Any) -> Any:
    return getattr(jaxpr, "jaxpr", jaxpr)
