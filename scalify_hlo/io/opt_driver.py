"""What `scalify-opt` does between its flags and its files: load, run a pipeline, serialise, report."""

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from scalify_hlo.bindings import ir, make_context
from scalify_hlo.errors import Diagnostic, ScalifyError
from scalify_hlo.io.diagnostics import collect_diagnostics, located
from scalify_hlo.io.expected_diagnostics import expectations, unmet
from scalify_hlo.io.serialization import (
    Format,
    Program,
    load_exported,
    parse,
    split_text,
    to_artifact,
    to_bytecode,
)
from scalify_hlo.passes.frozen_weights import EmbedWeights, LiftWeights
from scalify_hlo.passes.pack_scales import PackScales
from scalify_hlo.passes.pin_scales import PinScales
from scalify_hlo.passes.pipeline import Element, Instrumentation, Pipeline
from scalify_hlo.passes.scalify import Scalify

_SEPARATOR = b"// -----\n"


@dataclasses.dataclass(frozen=True)
class OptSettings:
    """How a file is taken in and given out."""

    # Form of the output (default: text to a terminal or to a .mlir file, else the form of the input).
    emit: Format | None = None
    # StableHLO version whose readers must be able to read the output: X.Y.Z, "minimum", "4weeks" (what jax.export
    # writes, and the default for an Exported) or "current" (the default for a portable artifact).
    target: str | None = None
    # Process the parts between `// -----` lines one by one.
    split_input_file: bool = False
    # Compare the diagnostics with those that comments like `expected-error@+1 {{...}}` announce.
    verify_diagnostics: bool = False
    # Print every remark and warning at its place, instead of each once with how often it applies.
    all_remarks: bool = False
    # Accept operations of dialects that are not registered.
    allow_unregistered_dialect: bool = False


@dataclasses.dataclass(frozen=True)
class Outcome:
    """The serialised result, None where there is none, and what there is to say."""

    data: bytes | None
    diagnostics: tuple[Diagnostic, ...]

    @property
    def failed(self) -> bool:
        return any(each.severity == "error" for each in self.diagnostics)


@dataclasses.dataclass(frozen=True)
class OptDriver:
    """Runs one pipeline over programs."""

    pipeline: Pipeline
    settings: OptSettings = OptSettings()
    instrumentation: Instrumentation = Instrumentation()

    def process(self, program: Program) -> Outcome:
        """The program, or each part of it, through the pipeline. Every diagnostic has a position."""
        form = self.settings.emit or program.format
        if not self.settings.split_input_file:
            return self._process_part(program, form)
        if program.format != "text" or form != "text":
            message = f"--split-input-file needs text in and text out; this is {program.format} in and {form} out"
            return Outcome(None, (Diagnostic(message, f"{program.name}:1:1"),))
        outcomes = [self._process_part(part, form) for part in split_text(program)]
        # A part that fails in the way its comments announce has no result.
        data = _SEPARATOR.join(outcome.data for outcome in outcomes if outcome.data is not None)
        return Outcome(data, tuple(itertools.chain.from_iterable(outcome.diagnostics for outcome in outcomes)))

    def _process_part(self, program: Program, form: Format) -> Outcome:
        remarks: list[Diagnostic] = []
        errors: Sequence[Diagnostic] = ()
        data = None
        context = make_context()
        context.allow_unregistered_dialects = self.settings.allow_unregistered_dialect
        with collect_diagnostics(context) as emitted:
            try:
                if form == "exported":
                    data = self._rewrite_exported(program, remarks)
                else:
                    module = parse(program, context)
                    self.pipeline.run(module, remarks, self.instrumentation)
                    data = self._serialise(module, form, remarks)
            except ScalifyError as error:
                errors = error.diagnostics
        diagnostics = [located(each, program.name) for each in (*emitted, *remarks, *errors)]
        if self.settings.verify_diagnostics and program.format == "text":
            expected = expectations(program.data.decode(), program.first_line)
            diagnostics = unmet(expected, diagnostics, program.name)
        return Outcome(data, tuple(diagnostics))

    def _serialise(self, module: ir.Module, form: Format, remarks: list[Diagnostic]) -> bytes:
        match form:
            case "text":
                return (self.instrumentation.to_text(module).rstrip("\n") + "\n").encode()
            case "bytecode":
                return to_bytecode(module)
            case _:
                data, warnings = to_artifact(module, self.settings.target or "current")
                remarks += warnings
                return data

    def _rewrite_exported(self, program: Program, remarks: list[Diagnostic]) -> bytes:
        """A serialised Exported through the pipeline, its calling convention kept in step with its module.

        The `scalify` pass changes the signature, so the front end applies it to the Exported as a whole. Other
        passes change the module inside, and perhaps element types.
        """
        if program.format != "exported":
            raise ScalifyError(
                "--emit=exported needs a serialised jax.export.Exported, which knows the pytrees of the program; "
                f"this file is {program.format}"
            )
        parse(program, make_context())  # a damaged module is told of with its location
        exported = load_exported(program)
        from scalify_hlo.exported import scalified
        from scalify_hlo.packed import pack_exported

        if any(isinstance(element, PinScales) for element in self.pipeline.elements):
            from scalify_hlo.serving.exported import through

            return bytes(through(exported, self.pipeline, remarks, self.settings.target or "4weeks").serialize())
        for element, around in _with_frozen_weights(self.pipeline.elements):
            if isinstance(element, Scalify):
                # Tuples: `jax` alone is enough to load the file.
                exported = scalified(
                    exported,
                    element.args,
                    element,
                    around,
                    container="tuple",
                    remarks=remarks,
                    instrumentation=self.instrumentation,
                )
            elif isinstance(element, PackScales):
                exported = pack_exported(exported)
            else:
                exported = self._run_inside(exported, Pipeline((element,)), program.name, remarks)
        if self.settings.target:
            exported = self._run_inside(exported, Pipeline(()), program.name, remarks)
        try:
            return bytes(exported.serialize())
        except ValueError as error:  # exports for several devices by older jax have no named shardings
            raise ScalifyError(
                Diagnostic(
                    f"jax.export does not write this back: {error}; export it again with the jax that is "
                    "installed here, or ask for the module alone (--emit=artifact)",
                    f"{program.name}:1:1",
                )
            ) from None

    def _run_inside(self, exported: Any, pipeline: Pipeline, name: str, remarks: list[Diagnostic]) -> Any:
        """An Exported whose module has gone through passes that keep the number of arguments and results."""
        from scalify_hlo.exported import with_types_of

        module = parse(Program(exported.mlir_module_serialized, "artifact", name), make_context())
        pipeline.run(module, remarks, self.instrumentation)
        data, _ = to_artifact(module, self.settings.target or "4weeks")
        return dataclasses.replace(with_types_of(exported, module), mlir_module_serialized=data)


def _with_frozen_weights(
    elements: Sequence[Element],
) -> Iterator[tuple[Element, tuple[Sequence[Element], Sequence[Element]]]]:
    """Passes one by one, each with those that run on one module with it, before and after.

    These are the passes from the one that takes frozen weights out to the one that puts them back, for `scalify`
    between them: in between the module has arguments that an Exported has not. Without it they do nothing here.
    """
    kinds = [type(each) for each in elements]
    at, lift, embed = (
        kinds.index(kind) if kind in kinds else len(kinds) for kind in (Scalify, LiftWeights, EmbedWeights)
    )
    joined = lift < at < embed < len(kinds)
    for i, element in enumerate(elements):
        if joined and i == at:
            taken = dataclasses.replace(elements[lift], scaled=True)
            yield element, ((taken, *elements[lift + 1 : at]), elements[at + 1 : embed + 1])
        elif not (joined and lift <= i <= embed) and not isinstance(element, LiftWeights | EmbedWeights):
            yield element, ((), ())
