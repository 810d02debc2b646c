"""Rules from outside of this package are checked: what their authors get wrong is told by name, not by wrong values."""

import difflib
import functools
import inspect
from collections.abc import Callable, Iterable, Sized
from typing import TYPE_CHECKING, Any, cast

from scalify_hlo.bindings import chlo, ir, stablehlo
from scalify_hlo.errors import Diagnostic, ScalifyError, describe_location
from scalify_hlo.scale import Scale
from scalify_hlo.types import tensor_info

if TYPE_CHECKING:
    from scalify_hlo.rules.oprewrite import OpRewrite

RuleFunction = Callable[["OpRewrite"], None]
_OWN = "scalify_hlo.rewrites."
_DIALECTS: dict[str, Any] = {"stablehlo": stablehlo, "chlo": chlo}


class UnknownOperationError(ValueError):
    """A rule for an operation that its dialect does not have; names the ones spelt like it."""


def is_foreign(function: Callable[..., Any]) -> bool:
    """Whether a rule is not one of this package's."""
    return not getattr(function, "__module__", "").startswith(_OWN)


def check_names(decorator: str, names: Iterable[object]) -> None:
    """Raises TypeError unless there are names, all of them text."""
    given = list(names)
    if not given:
        raise TypeError(f'@{decorator}() says of nothing that it has a rule: give names, as in @{decorator}("name")')
    wrong = next((name for name in given if not isinstance(name, str)), None)
    if wrong is not None:
        raise TypeError(f'@{decorator} takes names, as in @{decorator}("name"), not {wrong!r}')


def check_callable(decorator: str, function: object) -> None:
    """Raises TypeError for a rule that is no function."""
    if not callable(function):
        raise TypeError(f"@{decorator} is for a function of an OpRewrite, not {function!r}")
    if inspect.isgeneratorfunction(function) or inspect.iscoroutinefunction(function):
        kind = "a generator (it has a `yield`)" if inspect.isgeneratorfunction(function) else "a coroutine"
        raise TypeError(f"@{decorator} is for a function of an OpRewrite, and {function.__qualname__} is {kind}, "
                        "of which a call runs nothing")  # fmt: skip


def check_operations(names: Iterable[str]) -> None:
    """Raises UnknownOperationError for names, such as "stablehlo.add", of operations that do not exist."""
    for name in names:
        dialect = name.partition(".")[0]
        if dialect in _DIALECTS and name not in _operations(dialect):
            close = difflib.get_close_matches(name, _operations(dialect), n=3)
            hint = f"; did you mean {' or '.join(close)}?" if close else ""
            raise UnknownOperationError(f"a rule for '{name}', which dialect {dialect} does not have{hint}")


@functools.cache
def _operations(dialect: str) -> frozenset[str]:
    members = cast(dict[str, Any], vars(_DIALECTS[dialect]))
    return frozenset(str(getattr(each, "OPERATION_NAME", "")) for each in members.values())


def checked(function: RuleFunction, *, results: bool = True, shaped: bool = True) -> RuleFunction:
    """A foreign rule whose exceptions become located errors, and which has to declare its results.

    results: False for rules whose results carry no scale. shaped: False for rules that take scales of rank 0: each
    operand with a scale of another shape is brought to one before.
    """
    if not is_foreign(function):
        return function

    @functools.wraps(function)
    def apply(r: "OpRewrite") -> None:
        from scalify_hlo.emit.scale_arithmetic import NeedsScaleError
        from scalify_hlo.rules.oprewrite import UnsupportedError
        from scalify_hlo.rules.shapes import to_rank_0

        for i, found in enumerate(r.inputs):
            if not shaped and found is not None and found.scale.shape:
                r.inputs[i] = flat = to_rank_0(r.rewriter, found)
                r.set_operand(i, flat.data)
        r.asked = asked = set[int]()
        try:
            function(r)
        except (ScalifyError, UnsupportedError, NeedsScaleError):
            raise
        except Exception as error:
            raised = f"raised {type(error).__name__}: {error}"
            if isinstance(error, IndexError):
                raised += f". It has {_count(r.op.operands, 'operand')} and {_count(r.op.results, 'result')}, from 0 on"
            raise ScalifyError(_fault(r, function, raised)) from error
        if results and any(found is not None for found in r.inputs):
            _check_results(r, function)
            _check_operands(r, function, asked)

    return apply


def _check_operands(r: "OpRewrite", function: RuleFunction, asked: set[int]) -> None:
    """Raises ScalifyError where nothing was asked of an operand with a scale: it would be lost."""
    count = len(r.inputs)
    for i, found in enumerate(r.inputs):
        if found is not None and not asked & {i, i - count} and not found.indifferent and not found.scale.is_one:
            message = (
                f"asks nothing of operand {i}, which has a scale: it would be lost. Take its data and scale, "
                f"r.scaled({i}), or its value, r.plain({i})"
            )
            raise ScalifyError(_fault(r, function, message))


def _check_results(r: "OpRewrite", function: RuleFunction) -> None:
    """Raises ScalifyError where a result and what was declared of it do not fit.

    A float result that is used and was not declared: its data would be taken for its value. An integer with a scale. A
    scale that is no power of two though all that it can come of are.
    """
    exact = all(found is None or _is_power(found.scale) for found in r.inputs)
    for i, result in enumerate(r.op.results):
        info, declared = tensor_info(result.type), r.rewriter.scaled.get(result)
        if declared is None:
            if info.carries_scale and next(iter(result.uses), None) is not None:
                message = (
                    f"declares no scale for float result {i}: end it with r.result(scale), with r.value_result(value) "
                    "for an unscaled value, or with r.through_plain() to compute on values; family 'predicate' is for "
                    "results that carry no scale"
                )
                raise ScalifyError(_fault(r, function, message))
        elif not info.carries_scale:
            message = (
                f"declares a scale for result {i}, of {info.element}, which carries none: leave out its r.result, and "
                "give the operation values, r.set_operand(i, r.plain(i)), where the result depends on them"
            )
            raise ScalifyError(_fault(r, function, message))
        elif exact and not _is_power(declared.scale) and r.rewriter.options.rounding != "none":
            message = (
                f"declares 2^{declared.scale.exponent:g} in the scale of result {i}: scales of powers of two stay "
                "powers of two, scale.shifted(k) is for an integer k"
            )
            raise ScalifyError(_fault(r, function, message))


def _is_power(scale: Scale) -> bool:
    """Whether the number in a scale is a power of two."""
    return float(scale.exponent).is_integer()


def _fault(r: "OpRewrite", function: RuleFunction, what: str) -> Diagnostic:
    code = getattr(function, "__code__", None)
    source = f"{function.__module__}:{code.co_firstlineno}" if code else function.__module__
    return Diagnostic(f"the scale rule of {_named(r)} ({source}) {what}", describe_location(r.op.location))


def _named(r: "OpRewrite") -> str:
    """An operation, and the target or composite that its rule is of."""
    if r.name == "stablehlo.custom_call":
        return f"custom call '{ir.StringAttr(r.op.attributes['call_target_name']).value}'"
    marker = r.rewriter.functions.marker_name(r.op)
    if marker is None and r.name == "stablehlo.composite":
        marker = ir.StringAttr(r.op.attributes["name"]).value
    return r.name if marker is None else f"composite '{marker}'"


def _count(values: Sized, what: str) -> str:
    return f"{len(values)} {what}{'' if len(values) == 1 else 's'}"
