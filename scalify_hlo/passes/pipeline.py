"""Pipelines of passes, run by MLIR's PassManager.

A name of `PASSES` is a pass written in Python; any other name goes to MLIR as it stands, so the two mix freely.
"""

import contextlib
import dataclasses
import difflib
import sys
from collections.abc import Callable, Generator, Sequence
from typing import Any

from scalify_hlo.bindings import ir, make_context, passmanager, register_inliner
from scalify_hlo.engine.preconditions import check_preconditions
from scalify_hlo.engine.signature import drop_aliases
from scalify_hlo.errors import Diagnostic, ScalifyError
from scalify_hlo.io.depth import deep_programs, without_collection
from scalify_hlo.io.diagnostics import from_mlir_error
from scalify_hlo.io.files import printable
from scalify_hlo.io.isolation import drop_stderr, show_stderr
from scalify_hlo.module.preserved import preserved
from scalify_hlo.passes import PASSES
from scalify_hlo.passes.base import Pass
from scalify_hlo.passes.option_text import option_name, parse_options, print_options
from scalify_hlo.passes.pipeline_text import Node, parse_pipeline_text
from scalify_hlo.passes.textual import TEXTUAL_PASSES
from scalify_hlo.types import forget_types

_ANCHOR = "builtin.module"
_FUNCTION = "func.func"
# What a module's pass manager says about a pass that runs on functions.
_RESTRICTED_TO_FUNCTION = f"restricted to '{_FUNCTION}'"

# A pass written in Python, or MLIR's own in MLIR's syntax.
Element = Pass | Node
_Body = Callable[[Any, Any], None]


@dataclasses.dataclass(frozen=True)
class Instrumentation:
    """What is checked and shown while a pipeline runs, each under mlir-opt's name. All is printed to stderr."""

    # Verify the module after each pass.
    verify_each: bool = True
    # Print the module before these passes (comma-separated names).
    mlir_print_ir_before: tuple[str, ...] = ()
    # Print the module after these passes (comma-separated names).
    mlir_print_ir_after: tuple[str, ...] = ()
    # Print the module before each pass.
    mlir_print_ir_before_all: bool = False
    # Print the module after each pass.
    mlir_print_ir_after_all: bool = False
    # Print the module after each pass that changed it.
    mlir_print_ir_after_change: bool = False
    # Print source locations, in the output too.
    mlir_print_debuginfo: bool = False
    # Print operations in their generic form, in the output too.
    mlir_print_op_generic: bool = False
    # Print constants of more elements than this as `__elided__`, in the output too, which then cannot be read back; -1
    # prints all.
    mlir_elide_elementsattrs_if_larger: int = -1
    # Print locations and types in place instead of by aliases, in the output too.
    mlir_print_local_scope: bool = False
    # Name values by their source locations instead of by numbers, in the output too.
    mlir_use_nameloc_as_prefix: bool = False
    # Print the time spent in each pass.
    mlir_timing: bool = False

    @property
    def prints_all(self) -> bool:
        return self.mlir_print_ir_before_all or self.mlir_print_ir_after_all or self.mlir_print_ir_after_change

    def to_text(self, module: ir.Module) -> str:
        """The module in the chosen form."""
        return module.operation.get_asm(
            enable_debug_info=self.mlir_print_debuginfo,
            print_generic_op_form=self.mlir_print_op_generic,
            large_elements_limit=self.elements_limit,
            use_local_scope=self.mlir_print_local_scope,
            use_name_loc_as_prefix=self.mlir_use_nameloc_as_prefix,
        )

    @property
    def elements_limit(self) -> int | None:
        """The largest constant that is printed, in elements; None for no limit."""
        limit = self.mlir_elide_elementsattrs_if_larger
        return limit if limit >= 0 else None

    def check(self) -> None:
        """Raise ScalifyError for passes that do not exist."""
        unknown: list[Diagnostic] = []
        with make_context():
            for flag in ("mlir_print_ir_before", "mlir_print_ir_after"):
                chosen: tuple[str, ...] = getattr(self, flag)
                for i, name in enumerate(chosen):
                    if name not in PASSES and "does not refer" in (_rejection(Node(name)) or ""):
                        column = len(",".join(chosen[:i])) + (2 if i else 1)
                        message = f"there is no pass '{name}'{_hint(name)}"
                        unknown.append(Diagnostic(message, f"--{option_name(flag)}:1:{column}"))
        if unknown:
            raise ScalifyError(unknown)


@dataclasses.dataclass(frozen=True)
class Pipeline:
    """Passes in the order in which they run on a module. Its `str` is MLIR's syntax, all options written out."""

    elements: tuple[Element, ...]

    def __str__(self) -> str:
        with make_context():
            manager = passmanager.PassManager(_ANCHOR)
            for element in self.elements:
                _add(manager, element, lambda _op, _pass: None)
            return str(manager)

    def run(
        self, module: ir.Module, remarks: list[Diagnostic], instrumentation: Instrumentation = Instrumentation()
    ) -> None:
        """Run every pass on `module`, in place. Raises ScalifyError; the module is then not to be used."""
        context = module.context
        if any("inline" in _names(element) for element in self.elements):
            register_inliner(context)
        printing = _single_threaded(context) if instrumentation.prints_all else contextlib.nullcontext()
        known = preserved() if all(isinstance(each, Pass) for each in self.elements) else contextlib.nullcontext()
        with context, printing, known, without_collection(), deep_programs():
            if any(isinstance(element, Pass) and element.name != "scalify" for element in self.elements):
                check_preconditions(module)  # the scalify pass does so itself
            manager = passmanager.PassManager(_ANCHOR)
            _instrument(manager, instrumentation)
            for element in self.elements:
                names = _names(element)
                if names.intersection(instrumentation.mlir_print_ir_before):
                    _add_printer(manager, "Before", element, module, instrumentation)
                _add(manager, element, _body(element, module, remarks))
                if names.intersection(instrumentation.mlir_print_ir_after):
                    _add_printer(manager, "After", element, module, instrumentation)
            try:
                manager.run(module.operation)
            except ir.MLIRError as error:
                raise ScalifyError(from_mlir_error(error)) from None
            finally:
                forget_types()
            for op in module.body.operations:
                if op.operation.name == "func.func":
                    drop_aliases(op.operation)


def parse_pipeline(text: str, defaults: Sequence[Pass] = (), source: str = "--pass-pipeline") -> Pipeline:
    """The pipeline that `text` describes: `builtin.module(a{key=value},b)`, or what stands inside alone.

    defaults: passes whose options stand where the text gives none.
    source: what the text is called in errors.

    A pass of MLIR that runs on functions only is nested in `func.func` by itself. Raises ScalifyError, located
    in the text, for names and options that do not exist.
    """
    nodes = parse_pipeline_text(text, source)
    if len(nodes) == 1 and nodes[0].name == _ANCHOR and nodes[0].options is None:
        nodes = nodes[0].nested or ()
    with make_context():
        return Pipeline(tuple(_element(node, defaults, source) for node in nodes))


def _element(node: Node, defaults: Sequence[Pass], source: str) -> Element:
    location = f"{source}:1:{node.column}"
    if node.name in PASSES and node.nested is None:
        default = next((each for each in defaults if each.name == node.name), None) or PASSES[node.name]()
        try:
            return parse_options(default, node.options or "")
        except ScalifyError as error:
            raise ScalifyError([dataclasses.replace(each, location=location) for each in error.diagnostics]) from None
    nested = sorted(node.names() & PASSES.keys())
    if nested:
        raise ScalifyError(Diagnostic(f"'{nested[0]}' runs on {_ANCHOR}; it cannot be nested in {node.name}", location))
    candidates = (node, Node(_FUNCTION, nested=(node,)))
    message = _rejection(node)
    if message and _RESTRICTED_TO_FUNCTION in message and _rejection(candidates[1]) is None:
        return candidates[1]
    if message:
        hint = _hint(node.name) if "does not refer" in message else ""
        raise ScalifyError(Diagnostic(message + hint, location))
    return node


def _rejection(node: Node) -> str | None:
    """Why MLIR does not take this node on a module; None when it does. Needs a current context."""
    show_stderr()
    try:
        passmanager.PassManager(_ANCHOR).add(_argument(node))
    except ValueError as error:
        drop_stderr()  # what LLVM says of a value that is none
        # "MLIR Textual PassPipeline Parser:1:1: error: ..." or "<Pass-Options-Parser>: ...", then the source line; or
        # an empty line and "failed to add ...".
        first = str(error).strip().splitlines()[0]
        return first.split("error: ")[-1].removeprefix("<Pass-Options-Parser>: ")
    return None


def _hint(name: str) -> str:
    """What to write instead of a name that no pass has."""
    close = difflib.get_close_matches(name, [*PASSES, *TEXTUAL_PASSES], 1)
    return f"; did you mean '{close[0]}'?" if close else "; --list-passes names the usual ones"


def _names(element: Element) -> set[str]:
    return element.names() if isinstance(element, Node) else {element.name}


def _body(element: Element, module: ir.Module, remarks: list[Diagnostic]) -> _Body:
    def run(_op: Any, _pass: Any) -> None:
        assert isinstance(element, Pass)
        element.apply(module, remarks)

    return run


def _argument(element: Element) -> str:
    """An element in MLIR's syntax, all options written out."""
    if isinstance(element, Node):
        return printable(str(element))
    options = printable(print_options(element))
    return f"{element.name}{{{options}}}" if options else element.name


def _add(manager: Any, element: Element, body: _Body) -> None:
    """Append an element; `body` is what a pass written in Python does."""
    if isinstance(element, Node):
        manager.add(_argument(element))
    else:
        manager.add(body, name=type(element).__name__, argument=_argument(element))


def _instrument(manager: Any, instrumentation: Instrumentation) -> None:
    manager.enable_verifier(instrumentation.verify_each)
    if instrumentation.prints_all:
        after_change = instrumentation.mlir_print_ir_after_change
        manager.enable_ir_printing(
            print_before_all=instrumentation.mlir_print_ir_before_all,
            print_after_all=instrumentation.mlir_print_ir_after_all or after_change,
            print_module_scope=True,
            print_after_change=after_change,
            enable_debug_info=instrumentation.mlir_print_debuginfo,
            print_generic_op_form=instrumentation.mlir_print_op_generic,
            large_elements_limit=instrumentation.elements_limit,
        )
    if instrumentation.mlir_timing:
        manager.enable_timing()


def _add_printer(
    manager: Any, moment: str, element: Element, module: ir.Module, instrumentation: Instrumentation
) -> None:
    """Append a pass that prints the module. MLIR's own printing around chosen passes has no Python binding.

    The header is MLIR's, but that a pass of its own is called by its name in pipelines instead of its class.
    """
    name = element.name if isinstance(element, Node) else type(element).__name__

    def show(_op: Any, _pass: Any) -> None:
        header = f"// -----// IR Dump {moment} {name}: {_argument(element)} ('{_ANCHOR}' operation) //----- //"
        print(header, instrumentation.to_text(module), sep="\n", file=sys.stderr, flush=True)

    manager.add(show, name="PrintIR", argument=f"print-ir-{moment.lower()}-{name}")


@contextlib.contextmanager
def _single_threaded(context: ir.Context) -> Generator[None, None, None]:
    """MLIR prints whole modules around passes only where no other thread can be changing them."""
    context.enable_multithreading(False)
    try:
        yield
    finally:
        context.enable_multithreading(True)
