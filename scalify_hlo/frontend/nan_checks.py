"""`jax.debug_nans` and `jax.debug_infs` of a scalified function: which result is not finite, and where it began."""

# jax and numpy are annotated in part only.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax.extend.core import Literal, jaxprs_in_params

from scalify_hlo.frontend.dependence import is_float
from scalify_hlo.frontend.rewriting import Interface

_LIBRARIES = tuple(str(pathlib.Path(path).resolve().parent) for path in (jax.__file__, __file__))


@dataclasses.dataclass(frozen=True)
class Checks:
    """What is looked for."""

    nans: bool
    infs: bool

    def failure(self, array: Any) -> str:
        """ "nan" or "inf", the first that is looked for and found in an array; else empty."""
        if not is_float(array):
            return ""
        numbers = np.asarray(array).astype(np.float32)
        if self.nans and np.isnan(numbers).any():
            return "nan"
        return "inf" if self.infs and np.isinf(numbers).any() else ""


def asked() -> Checks:
    """What `jax.debug_nans` and `jax.debug_infs` ask for now."""
    config: Any = jax.config
    return Checks(config.jax_debug_nans, config.jax_debug_infs)


def check_values(
    operands: Sequence[Any], results: Sequence[Any], jaxpr: Any, interface: Interface, checks: Checks
) -> None:
    """Raises FloatingPointError where a result is not finite.

    operands, results: data and scale of those that are pairs. The original program is run on the values op by op:
    where it has the fault itself, the error names that operation and its source line.
    """
    failure = _first_failure(results, interface, checks)
    if failure is None:
        return
    index, kind = failure
    name = interface.function
    if all(not is_float(aval) or aval.dtype.itemsize >= 4 for aval in jaxpr.in_avals):
        with jax.debug_nans(False), jax.debug_infs(False):
            _run(jaxpr.jaxpr, jaxpr.consts, _values(operands, interface, jaxpr.in_avals), checks, name)
    raise FloatingPointError(
        f"scalify({name}): invalid value ({kind}) in result {index}, which the program on plain f32 arrays does not "
        f"have: a tensor left the range of its type. scalify_hlo.debug({name}, *args) finds it"
    )


def _first_failure(results: Sequence[Any], interface: Interface, checks: Checks) -> tuple[int, str] | None:
    remaining = iter(results)
    for i, (is_pair, _) in enumerate(interface.pairs()):
        for part in [next(remaining) for _ in range(2 if is_pair else 1)]:
            kind = checks.failure(part)
            if kind:
                return i, kind
    return None


def _values(operands: Sequence[Any], interface: Interface, avals: Sequence[Any]) -> list[Any]:
    """The operands multiplied out, in the types of the original program."""
    remaining = iter(operands)
    values: list[Any] = []
    for is_pair, aval in zip(interface.inputs, avals, strict=True):
        x = next(remaining)
        if is_pair:
            x = x.astype(aval.dtype) * next(remaining).astype(aval.dtype)
        values.append(x.astype(aval.dtype) if is_float(aval) else x)
    return values


def _run(jaxpr: Any, consts: Sequence[Any], arguments: Sequence[Any], checks: Checks, name: str) -> list[Any]:
    """Run a jaxpr operation by operation. Raises FloatingPointError at the first one whose results are not finite."""
    env: dict[Any, Any] = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *arguments], strict=True))

    def read(atom: Any) -> Any:
        return atom.val if isinstance(atom, Literal) else env[atom]

    for eqn in jaxpr.eqns:
        operands = [read(atom) for atom in eqn.invars]
        bodies = [getattr(body, "jaxpr", body) for body in jaxprs_in_params(eqn.params)]
        calls = len(bodies) == 1 and [v.aval for v in bodies[0].invars] == [a.aval for a in eqn.invars]
        if calls and eqn.primitive.name in ("jit", "pjit", "custom_jvp_call", "checkpoint", "remat", "closed_call"):
            inner = next(iter(p for p in eqn.params.values() if getattr(p, "jaxpr", p) is bodies[0]))
            results = _run(bodies[0], getattr(inner, "consts", ()), operands, checks, name)
        else:
            found = eqn.primitive.bind(*operands, **eqn.params)
            results = list(found) if eqn.primitive.multiple_results else [found]
            for result in results:
                kind = checks.failure(result)
                if kind:
                    where = source_line(eqn)
                    raise FloatingPointError(
                        f"{where}{': ' if where else ''}scalify({name}): invalid value ({kind}) encountered in "
                        f"{eqn.primitive.name}, in plain f32 too"
                    )
        env.update(zip(eqn.outvars, results, strict=True))
    return [read(atom) for atom in jaxpr.outvars]


def source_line(eqn: Any) -> str:
    """`file.py:12` of the user's code that an equation comes from; empty where that is not known."""
    traceback = getattr(getattr(eqn, "source_info", None), "traceback", None)
    for frame in getattr(traceback, "frames", ()):
        if not frame.file_name.startswith((*_LIBRARIES, "<")):
            return f"{frame.file_name}:{frame.line_num}"
    return ""
