"""The table of rules: which rule rewrites which operation.

A rule is a function of an `OpRewrite` (see scalify_hlo.engine.rewriter) registered with the law it uses. The table is
data: the operator documentation, `scalify-opt --list-rules` and the completeness test read it.
"""

import contextlib
import dataclasses
import functools
import importlib
import importlib.metadata
import importlib.util
import inspect
import os
import sys
from collections.abc import Callable, Generator, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict, get_args

from scalify_hlo.errors import ScalifyError
from scalify_hlo.rules.foreign_rules import check_callable, check_names, check_operations, checked, is_foreign

if TYPE_CHECKING:
    from scalify_hlo.rules.oprewrite import OpRewrite

Family = Literal[
    "homogeneous", "multiplicative", "additive", "contraction", "accumulation", "selection", "nonlinear",
    "predicate", "opaque", "structural",
]  # fmt: skip
RuleFunction = Callable[["OpRewrite"], None]
MixedDimensions = Callable[["OpRewrite", int], Sequence[int]]


class Law(TypedDict):
    """What several rules of one file have in common."""

    family: Family
    law: str
    scale: str


@dataclasses.dataclass(frozen=True)
class Rule:
    """How one operation is rewritten.

    op: full name, such as "stablehlo.add".
    law: the identity that the rule uses, in terms of scales s, t and data x, y.
    scale: the scale of the result.
    exact: the result recombines to the same bits in f32 for power-of-two scales (promise P2).
    note: why not, or what else a user should know.
    shaped: the rule handles scales with a shape; for the others the driver brings operands to one scale first.
    mixes: the dimensions of an operand (given by its index) along which elements meet, for a rule that handles scales
        with a shape along the others: the driver brings operands to one scale along these.
    apply: declares the results of an OpRewrite.
    legalised: written out as other operations first, which have rules of their own.
    """

    op: str
    family: Family
    law: str
    scale: str
    exact: bool
    note: str
    shaped: bool
    apply: RuleFunction
    mixes: MixedDimensions | None = None
    legalised: bool = False

    @property
    def source(self) -> str:
        """Module and line of the rule."""
        return source_of(self.apply)

    @property
    def file(self) -> str:
        """`rewrites/additive.py:31`: the rule's file, below the package that it belongs to, and line."""
        return file_of(self.apply)


def _written(rule: RuleFunction) -> Any:
    """The function that its author wrote, without what registration wraps round it."""
    function: Any = inspect.unwrap(rule)
    while isinstance(function, functools.partial):
        function = function.func
    return function


def source_of(rule: RuleFunction) -> str:
    """Module and line of a rule."""
    function = _written(rule)
    return f"{function.__module__}:{function.__code__.co_firstlineno}"


def file_of(rule: RuleFunction) -> str:
    """`rewrites/additive.py:31`: a rule's file, below the package that it belongs to, and line."""
    path, line = source_of(rule).removeprefix("scalify_hlo.").split(":")
    return f"{path.replace('.', '/')}.py:{line}"


@dataclasses.dataclass(frozen=True)
class Refusal:
    """An operation that has no scaled form, with the reason. It passes through when nothing scaled reaches it."""

    op: str
    reason: str


@dataclasses.dataclass(frozen=True)
class NeverScaled:
    """An operation that a scaled value cannot reach, with the reason: it has no float operand. It stays as it is."""

    op: str
    reason: str


_rules: dict[str, Rule] = {}
_refusals: dict[str, Refusal] = {}
_never_scaled: dict[str, NeverScaled] = {}
# One module a family. An operation's rule is found in ten seconds: by its family, or by grep for its name.
_FAMILIES = (
    "homogeneous", "multiplicative", "additive", "contraction", "selection", "nonlinear",
    "predicate", "opaque", "control_flow", "loops", "regions", "complex_numbers", "linear_algebra", "collectives",
    "manual_computation", "scans", "dynamic_shapes", "implicit_broadcasts", "tuples", "composites", "custom_calls",
    "library_routines",
)  # fmt: skip


class DuplicateRuleError(Exception):
    """Two rules for one operation; names both."""


# The operations that rules from outside of this package were registered for, one after the other.
_foreign: list[str] = []


def rule(
    *ops: str,
    family: Family,
    law: str,
    scale: str,
    exact: bool = True,
    note: str = "",
    shaped: bool = False,
    mixes: MixedDimensions | None = None,
    legalised: bool = False,
    replace: bool = False,
) -> Callable[[RuleFunction], RuleFunction]:
    """Register a function as the rule of `ops` ("negate" stands for "stablehlo.negate").

    Raises DuplicateRuleError when an operation has a rule already, unless `replace` is set (for plugins),
    UnknownOperationError for a plugin's rule of an operation that does not exist, TypeError without names or for a rule
    that is no function, and ValueError for an unknown family.
    """
    check_names("rule", ops)
    if family not in get_args(Family):
        raise ValueError(f"unknown family '{family}'; known are {', '.join(get_args(Family))}")
    names = [op if "." in op else f"stablehlo.{op}" for op in ops]

    def register(function: RuleFunction) -> RuleFunction:
        check_callable("rule", function)
        if is_foreign(function):
            check_operations(names)
            _foreign.extend(names)
        apply = checked(function, results=family != "predicate")
        for name in names:
            new = Rule(name, family, law, scale, exact, note, shaped, apply, mixes, legalised)
            if name in _rules and not replace:
                raise DuplicateRuleError(f"two rules for {name}: {_rules[name].source} and {new.source}")
            _rules[name] = new
        return function

    return register


def generation() -> int:
    """A number that grows with every rule that a plugin or a program registers: what was rewritten before is old."""
    return len(_foreign)


# Custom calls, by the name of their target.
TARGETS: dict[str, RuleFunction] = {}
# Markers by which a program controls its scales: composite name -> rule.
MARKERS: dict[str, RuleFunction] = {}


def marker(name: str, *, replace: bool = False, shaped: bool = False) -> Callable[[RuleFunction], RuleFunction]:
    """Register a function as the rule of the composite `name`.

    shaped: whether the rule of a plugin holds for scales with a shape, one number for each row, say; if not, its
        operands come with one scale each.
    Raises DuplicateRuleError when the composite has a rule already, unless `replace` is set, and TypeError for what is
    no name or no function.
    """
    check_names("marker", (name,))

    def register(function: RuleFunction) -> RuleFunction:
        check_callable("marker", function)
        if name in MARKERS and not replace:
            raise DuplicateRuleError(
                f"two rules for composite {name}: {source_of(MARKERS[name])} and {source_of(function)}"
            )
        MARKERS[name] = checked(function, shaped=shaped)
        return function

    return register


def refuse(*ops: str, reason: str) -> None:
    """List operations that cannot be rewritten, with the reason shown to users."""
    for op in ops:
        name = op if "." in op else f"stablehlo.{op}"
        _refusals[name] = Refusal(name, reason)


def never_scaled(*ops: str, reason: str) -> None:
    """List operations that take no float tensor, so that no rule is missing for them."""
    for op in ops:
        name = op if "." in op else f"stablehlo.{op}"
        _never_scaled[name] = NeverScaled(name, reason)


@functools.cache
def load() -> None:
    """Load the rules of this package and of plugins (entry points of the group `scalify_hlo.rules`).

    Raises ScalifyError for a plugin that cannot be imported.
    """
    for family in _FAMILIES:
        importlib.import_module(f"scalify_hlo.rewrites.{family}")
    for entry in importlib.metadata.entry_points(group="scalify_hlo.rules"):
        source = f" of {entry.dist.name}" if entry.dist else ""
        with _loading(f"plugin '{entry.name}'{source} ({entry.value})", "correct or uninstall it"):
            entry.load()


def load_rules(source: str) -> None:
    """Load rules from a Python file, or from a module by its name. Raises ScalifyError where that cannot be done."""
    load()
    with _loading(source, "correct them or the name"):
        if not source.endswith(".py"):
            importlib.import_module(source)
            return
        name = os.path.basename(source).removesuffix(".py")
        spec = importlib.util.spec_from_file_location(name, source)
        assert spec is not None and spec.loader is not None, "a file that ends with .py is Python's"
        module = importlib.util.module_from_spec(spec)
        sys.modules.setdefault(name, module)  # where dataclasses and pickle look for it
        spec.loader.exec_module(module)


@contextlib.contextmanager
def _loading(source: str, what_to_do: str) -> Generator[None]:
    """What goes wrong while rules are loaded is told with where they are from."""
    try:
        yield
    except Exception as error:
        raise ScalifyError(
            f"the rules in {source} cannot be loaded: {type(error).__name__}: {error}; {what_to_do}"
        ) from error


def rules() -> dict[str, Rule]:
    """Every rule by operation name."""
    load()
    return _rules


def refusals() -> dict[str, Refusal]:
    """Every listed refusal by operation name."""
    load()
    return _refusals


def unscaled_operations() -> dict[str, NeverScaled]:
    """Every operation that a scaled value cannot reach, by name."""
    load()
    return _never_scaled
