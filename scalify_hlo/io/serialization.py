"""The forms in which a program lies in a file: told apart by content, loaded and written.

- text: MLIR's assembly format;
- bytecode: MLIR bytecode, readable by the jaxlib that wrote it;
- artifact: a StableHLO portable artifact, bytecode with StableHLO's compatibility promise;
- exported: a serialised `jax.export.Exported`, a portable artifact with JAX's calling convention around it.
"""

import codecs
import contextlib
import dataclasses
import io
import re
from typing import Any, Literal, get_args

from scalify_hlo.bindings import exported_module, ir, stablehlo
from scalify_hlo.errors import Diagnostic, ScalifyError
from scalify_hlo.io.diagnostics import collect_diagnostics, from_mlir_error, located
from scalify_hlo.io.isolation import bounded_reading
from scalify_hlo.module.handed_names import name_arguments

Format = Literal["text", "bytecode", "artifact", "exported"]
FORMATS: tuple[Format, ...] = get_args(Format)

_BYTECODE_MAGIC = b"ML\xefR"
_ARTIFACT_PRODUCER = b"StableHLO_v"
_ACCEPTED = "MLIR text, MLIR bytecode, a StableHLO portable artifact or a serialised jax.export.Exported"
_WHAT: dict[Format, str] = {
    "text": "this text",
    "bytecode": "this MLIR bytecode",
    "artifact": "this StableHLO portable artifact",
    "exported": "this serialised jax.export.Exported",
}
# One of these occurs in every module worth reading.
_MLIR_WORD = re.compile(r"\b(?:module|func|stablehlo)\b")
# Possessive: what a comment or a space has taken is not tried again in another way, so that the time is linear.
_COMMENT_OR_SPACE = re.compile(r"(?:\s++|//[^\n]*+)*+")
# Well-known files that people pass by mistake, by their first bytes, and what to do with them.
_NEIGHBOURS = {
    b"HloModule": "HLO text; this tool reads StableHLO, which `jax.jit(f).lower(...).as_text()` gives",
    b"\x1f\x8b": "a gzip archive; decompress it first (gzip -d)",
    b"PK\x03\x04": "a zip archive; unpack it first",
}


@dataclasses.dataclass(frozen=True)
class Program:
    """A file's content and what it is.

    name: how diagnostics call the file.
    first_line: the line of the file at which a piece of text starts (see `split_text`).
    """

    data: bytes
    format: Format
    name: str
    first_line: int = 1

    @property
    def is_text(self) -> bool:
        return self.format == "text"


def recognise(data: bytes, name: str) -> Program:
    """Tell the form of a file by its content. Raises ScalifyError when it is none of the four."""
    data = data.removeprefix(codecs.BOM_UTF8)  # of text that Windows programs have written
    for start, what in _NEIGHBOURS.items():
        if data.startswith(start):
            raise _unreadable(name, f"this is {what}")
    if not data.strip():
        raise _unreadable(name, f"the file is empty; expected {_ACCEPTED}")
    return Program(data, _format(data, name), name)


def _format(data: bytes, name: str) -> Format:
    if data.startswith(_BYTECODE_MAGIC):
        # Magic, version (one byte), then the producer's name.
        producer = data[len(_BYTECODE_MAGIC) + 1 :]
        return "artifact" if producer.startswith(_ARTIFACT_PRODUCER) else "bytecode"
    if _looks_like_flatbuffer(data):
        return "exported"
    text_end = data.find(b"\0")
    try:
        data.decode()
    except UnicodeDecodeError as error:
        text_end = error.start
    if text_end < 0:
        return "text"
    line = data.count(b"\n", 0, text_end) + 1
    column = text_end - data.rfind(b"\n", 0, text_end)
    message = f"not a program: byte 0x{data[text_end]:02x} here is not text; expected {_ACCEPTED}"
    raise ScalifyError(Diagnostic(message, f"{name}:{line}:{column}"))


def _looks_like_flatbuffer(data: bytes) -> bool:
    """Whether the root table and its vtable lie where a FlatBuffer, the envelope of an Exported, has them.

    Reads the offset of the root table, the table's offset back to its vtable, and the vtable's two sizes.
    """
    if len(data) < 16 or b"\0" not in data[:16]:
        return False
    root = int.from_bytes(data[:4], "little")
    if root % 4 or not 4 <= root <= len(data) - 4:
        return False
    vtable = root - int.from_bytes(data[root : root + 4], "little", signed=True)
    if vtable % 2 or not 4 <= vtable <= len(data) - 4:
        return False
    vtable_size = int.from_bytes(data[vtable : vtable + 2], "little")
    table_size = int.from_bytes(data[vtable + 2 : vtable + 4], "little")
    return vtable_size % 2 == 0 and 4 <= vtable_size <= 512 and 4 <= table_size <= 1024


def parse(program: Program, context: ir.Context) -> ir.Module:
    """The module of a program, in `context`. Raises ScalifyError with one located diagnostic."""
    module = _parse(program, context)
    with context:
        name_arguments(module)
    return module


def _parse(program: Program, context: ir.Context) -> ir.Module:
    if program.is_text:
        with _bounded(program):
            try:
                return _parse_text(program, program.data.decode(), context)
            except (ValueError, MemoryError) as error:  # sizes beyond what MLIR's containers hold
                raise _unreadable(program.name, f"cannot read this text: {error or 'out of memory'}") from None
    data = _module_of_exported(program) if program.format == "exported" else program.data
    with context, collect_diagnostics(context) as emitted, _bounded(program):
        try:
            if program.format == "bytecode":
                module = ir.Module.parse(data)
            else:
                module = stablehlo.deserialize_portable_artifact(context, data)
                _check_converted(module)
            module.operation.verify()
        except ir.MLIRError as error:
            emitted += from_mlir_error(error)
        except (ValueError, MemoryError) as error:
            emitted.append(Diagnostic(str(error) or "out of memory"))
        else:
            return module
    reason = next(each.message for each in emitted if each.severity == "error")
    raise _unreadable(program.name, f"{_broken(program)}: {reason}")


def _check_converted(module: ir.Module) -> None:
    """Raise ValueError for an artifact of which StableHLO has left a type as it is, such as a tensor of tensors.

    It says nothing and puts a conversion between the two types, which no program has; the text of the module is none.
    """
    found: list[str] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name != "builtin.unrealized_conversion_cast":
            return ir.WalkResult.ADVANCE
        found.append(f"a value of type {op.operands[0].type}, where {op.results[0].type} is read")
        return ir.WalkResult.INTERRUPT

    module.operation.walk(visit)
    if found:
        raise ValueError(found[0])


def _bounded(program: Program) -> contextlib.AbstractContextManager[None]:
    """The bounds of reading a program, which is to be blamed if reading or rewriting it ends the process."""
    return bounded_reading(len(program.data), _WHAT[program.format], f"{program.name}:{program.first_line}:1")


def _broken(program: Program) -> str:
    return f"cannot read {_WHAT[program.format]} (truncated or damaged, or written by a newer version?)"


def _parse_text(program: Program, text: str, context: ir.Context) -> ir.Module:
    """Parse text so that locations name the file and its lines."""
    padded = "\n" * (program.first_line - 1) + text
    if _COMMENT_OR_SPACE.fullmatch(text):
        raise _unreadable(program.name, f"there is no operation here; expected {_ACCEPTED}", program.first_line)
    with context, ir.Location.unknown():
        try:
            # Only this entry takes the name of the file; it wants a single operation at top level.
            single = ir.Operation.parse(padded, source_name=program.name).operation
        except ir.MLIRError as error:
            first = from_mlir_error(error)[0]
            if not first.message.startswith("source must contain a single top-level operation"):
                raise ScalifyError(located(_explain(first, text), program.name)) from None
            try:
                return ir.Module.parse(padded)
            except ir.MLIRError as error:
                raise ScalifyError(located(from_mlir_error(error)[0], program.name)) from None
        if single.name == "builtin.module":
            return _as_module(single)
        module = ir.Module.create(single.location)
        module.body.append(single)
        return module


def _explain(error: Diagnostic, text: str) -> Diagnostic:
    """A syntax error, with what was expected where the text is no MLIR at all."""
    if _MLIR_WORD.search(text):
        return error
    return dataclasses.replace(error, message=f"this is not MLIR ({error.message}); expected {_ACCEPTED}")


def _as_module(operation: ir.Operation) -> ir.Module:
    """The `ir.Module` of a detached `builtin.module` operation, whose content it takes over."""
    module = ir.Module.create(operation.location)
    for attribute in operation.attributes:
        module.operation.attributes[attribute] = operation.attributes[attribute]
    for inner in list(operation.regions[0].blocks[0].operations):
        module.body.append(inner)
    return module


def _module_of_exported(program: Program) -> bytes:
    """The portable artifact inside a serialised Exported, without interpreting the rest of it.

    The trees of the signature may name Python types that only the program that wrote the file knows.
    """
    try:
        data = exported_module(program.data)
    except Exception:  # noqa: BLE001 - the reader indexes where the bytes tell it to: any error means damage
        data = b""
    if not data.startswith(_BYTECODE_MAGIC):
        raise _unreadable(program.name, _broken(program))
    return data


def load_exported(program: Program) -> Any:
    """The `jax.export.Exported` itself. Raises ScalifyError when it is damaged or names types unknown here."""
    _module_of_exported(program)
    import jax
    import jax.export

    try:
        exported = jax.export.deserialize(bytearray(program.data))
    except Exception as error:  # noqa: BLE001 - see _module_of_exported; ValueError for types not registered here
        if "older than" in str(error):
            what = f"cannot read {_WHAT[program.format]}: jax {jax.__version__} reads none that is as old as this"
            advice = "export the program again, or rewrite it with the jax that wrote it or --emit=artifact"
            raise _unreadable(program.name, f"{what}; {advice}") from None
        hint = ""
        if "unregistered" in str(error):
            hint = (
                "; register the type and call scalify_hlo.scalify_exported in your own program, "
                "or ask for the module alone (--emit=artifact)"
            )
        raise _unreadable(program.name, f"{_broken(program)}: {error}{hint}") from None
    kept, inputs = list(exported.module_kept_var_idx), len(exported.in_avals)
    if kept != sorted(set(kept)) or not set(kept) <= set(range(inputs)):
        raise _unreadable(program.name, f"{_broken(program)}: its module takes inputs {kept} of {inputs}")
    return exported


def split_text(program: Program) -> list[Program]:
    """The programs between lines that start with `// -----`, for `--split-input-file`."""
    pieces: list[Program] = []
    line = program.first_line
    for text in re.split(rb"^// -----[^\n]*$", program.data, flags=re.MULTILINE):
        pieces.append(dataclasses.replace(program, data=text, first_line=line))
        line += text.count(b"\n")
    return pieces


def to_bytecode(module: ir.Module) -> bytes:
    """MLIR bytecode, locations included."""
    stream = io.BytesIO()
    module.operation.write_bytecode(stream)
    return stream.getvalue()


def to_artifact(module: ir.Module, target: str = "current") -> tuple[bytes, list[Diagnostic]]:
    """A StableHLO portable artifact, and a warning when it holds what StableHLO makes no promise for.

    target: the StableHLO version whose readers must read it, "X.Y.Z", or "current" or "minimum" for the
        newest and oldest that this jaxlib writes, or "4weeks" for the newest that is at least four weeks old.

    Raises ScalifyError for a version that cannot be written, and for operations newer than the version.
    """
    version = artifact_version(target)
    context = module.context
    with context, collect_diagnostics(context) as strict_errors:
        try:
            return stablehlo.serialize_portable_artifact(_clone(module), version), []
        except ValueError:
            pass
    with context, collect_diagnostics(context) as errors:
        try:
            data = stablehlo.serialize_portable_artifact(_clone(module), version, allow_other_dialects=True)
        except ValueError as error:
            raise ScalifyError(errors or strict_errors or [Diagnostic(str(error))]) from None
    message = (
        "this portable artifact holds operations or attributes of other dialects than StableHLO, for which "
        f"there is no compatibility promise ({strict_errors[0].message.split(':')[0]})"
    )
    return data, [Diagnostic(message, strict_errors[0].location, severity="warning")]


def artifact_version(target: str) -> str:
    """The StableHLO version that `to_artifact` calls so. Raises ScalifyError where this jaxlib does not write it."""
    oldest, newest = stablehlo.get_minimum_version(), stablehlo.get_current_version()
    four_weeks = stablehlo.StablehloCompatibilityRequirement.WEEK_4
    names = {
        "current": newest,
        "minimum": oldest,
        "4weeks": stablehlo.get_version_from_compatibility_requirement(four_weeks),
    }
    version = names.get(target, target)
    if re.fullmatch(r"\d+\.\d+\.\d+", version) is None:
        raise ScalifyError(f"'{target}' is no StableHLO version; give X.Y.Z or one of {', '.join(names)}")
    if not _version_key(oldest) <= _version_key(version) <= _version_key(newest):
        raise ScalifyError(f"StableHLO {version} cannot be written by this jaxlib, which writes {oldest} to {newest}")
    return version


def _version_key(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def _clone(module: ir.Module) -> ir.Module:
    """A copy: writing a portable artifact leaves the module in the VHLO dialect."""
    return _as_module(module.operation.clone().operation)


def _unreadable(name: str, message: str, line: int = 1) -> ScalifyError:
    return ScalifyError(Diagnostic(message, f"{name}:{line}:1"))
