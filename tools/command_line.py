"""What the command lines share: flags from a dataclass of options, and errors of one line each."""

import collections
import contextlib
import dataclasses
import importlib.metadata
import sys
import typing
from collections.abc import Callable, Generator, Sequence
from typing import Any, Literal, NoReturn, TypeVar, cast

import click
from click.shell_completion import CompletionItem

import scalify_hlo
from scalify_hlo.errors import Diagnostic, ScalifyError
from scalify_hlo.io.diagnostics import is_not_utf8, located
from scalify_hlo.io.excerpts import Source, with_excerpts
from scalify_hlo.io.files import display_name, read_input
from scalify_hlo.io.isolation import NOT_UTF8, is_isolated, isolate, leave, open_closed_streams
from scalify_hlo.io.serialization import Program, recognise
from scalify_hlo.passes.option_text import field_help, field_types, option_name, parse_value
from scalify_hlo.precision import PRESETS

CONTEXT_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 110}
Command = TypeVar("Command", bound=Callable[..., Any])


class ToolCommand(click.Command):
    """A command whose errors are lines on stderr, `where: error: what`, and whose exit status tells of them.

    1: the input cannot be processed; 2: the command line is wrong; 70: a defect of the tool.
    """

    def __init__(self, *args: Any, **settings: Any):
        super().__init__(*args, **settings)
        # What a parameter is shows in its metavar: shells complete these as file names.
        for each in self.params:
            named = isinstance(each, click.Argument) or "FILE" in (each.metavar or "")
            if named and isinstance(each.type, click.types.StringParamType):
                each.type = click.Path(allow_dash=True)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not ctx.resilient_parsing:
            given, _, _ = self.make_parser(ctx).parse_args(list(args))
            for each in self.params:
                value = given.get(each.name or "")
                if (value == "" or (isinstance(value, list) and "" in value)) and _wants_text(each):
                    wanted = (each.metavar or each.human_readable_name).strip("[]")
                    raise click.BadParameter(f"it is empty, and {wanted} is wanted", ctx, each)
        return super().parse_args(ctx, args)

    def main(  # pyright: ignore[reportIncompatibleMethodOverride]
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,  # noqa: ARG002 - the signature is click's
        **extra: Any,
    ) -> Any:
        """Run in a child process that may crash (see scalify_hlo.io.isolation).

        Where Python code has put streams of its own in place of stdout and stderr, which no child could write to, in
        this process.
        """
        arguments = list(sys.argv[1:] if args is None else args)
        open_closed_streams()
        if not is_isolated() and _is_descriptor(sys.stdout, 1) and _is_descriptor(sys.stderr, 2):
            status = isolate(self._module, arguments, debug="--debug" in arguments)
            if status is not None:
                sys.exit(status)
        return self.run(arguments, prog_name, complete_var, **extra)

    @property
    def _module(self) -> str:
        assert self.callback is not None
        module = self.callback.__module__
        return sys.modules[module].__spec__.name if module == "__main__" else module  # type: ignore[union-attr]

    def run(
        self, arguments: list[str], prog_name: str | None = None, complete_var: str | None = None, **extra: Any
    ) -> NoReturn:
        """Run in this process."""
        name = self.name or prog_name
        try:
            result = super().main(arguments, name, complete_var, standalone_mode=False, **extra)
            sys.stdout.flush()
        except click.ClickException as error:
            _fail(f"{name}: error: {error.format_message()}", error.exit_code)
        except ScalifyError as error:
            report(error.diagnostics)
            leave(1)
        except click.Abort:
            _fail(f"{name}: interrupted", 130)
        except BrokenPipeError:
            # The reader of our output is gone; so is the point of saying more. Keep the exit quiet.
            sys.stdout = None
            sys.exit(1)
        except (OSError, MemoryError) as error:  # the machine's refusal, which is no defect
            if "--debug" in arguments:
                raise
            sys.stdout = None  # what it did not take
            _fail(f"{name}: error: {_refusal(error)}", 1)
        except Exception as error:
            if "--debug" in arguments:
                raise
            if is_isolated() and is_not_utf8(error):
                sys.exit(NOT_UTF8)
            _fail(
                f"{name}: internal error: {type(error).__name__}: {error}. This is a defect of {name}: please report "
                "it with the input; --debug shows the Python traceback.",
                70,
            )
        leave(result if isinstance(result, int) else 0)


def _wants_text(parameter: click.Parameter) -> bool:
    """Whether a parameter takes a text, and an empty one is not what it is set to where it is left out."""
    text = isinstance(parameter.type, click.types.StringParamType | click.Path)
    return text and not (parameter.default == "" and getattr(parameter, "show_default", None))


def _refusal(error: OSError | MemoryError) -> str:
    """What the operating system did not do, in its words and with the file's name where there is one."""
    if isinstance(error, MemoryError):
        return f"not enough memory: {error}" if str(error) else "not enough memory"
    file = f"{display_name(str(error.filename))}: " if error.filename else ""
    return f"{file}{error.strerror or error}"


def _is_descriptor(stream: Any, number: int) -> bool:
    """Whether what is written to a stream goes to a file descriptor of the process."""
    try:
        return stream.fileno() == number
    except (AttributeError, OSError, ValueError):
        return False


# The program that the running command reads, which MLIR calls "-" where a text has several operations at top level.
_source = Source("-", "")


def read_program(path: str) -> Program:
    """The program in a file, or on stdin for "-". Raises ScalifyError when it is none of the known forms."""
    global _source
    name = display_name(path)
    _source = Source(name, "")
    program = recognise(read_input(path), name)
    if program.is_text:
        _source = Source(name, program.data.decode())
    return program


def _fail(message: str, status: int) -> NoReturn:
    print(" ".join(message.split()), file=sys.stderr)
    sys.exit(status)


def summarised(diagnostics: Sequence[Diagnostic]) -> list[Diagnostic]:
    """What the passes did in one remark, and each other remark and each warning once, with how many say the same.

    Remarks about single places that a remark about the module counts are left out.
    """
    shown = [each for each in diagnostics if not each.detail]
    done = {id(each): each for each in shown if _tells_what_a_pass_did(each)}
    said = collections.Counter((each.severity, each.message) for each in shown)
    told: list[Diagnostic] = []
    for each in shown:
        key = (each.severity, each.message)
        others = said.pop(key, 0) - 1
        if id(each) in done:
            continue
        if each.severity not in ("remark", "warning") or others == 0:
            told.append(each)
        elif others > 0:
            message = f"{each.message} (and {others} times more; {_ALL_REMARKS})"
            told.append(dataclasses.replace(each, message=message))
    places: dict[str, list[str]] = {}
    for each in done.values():
        places.setdefault(each.location, []).append(each.message)
    hidden = f" ({_ALL_REMARKS})" if len(shown) < len(diagnostics) else ""
    told += [Diagnostic(_one_sentence(messages) + hidden, place, "remark") for place, messages in places.items()]
    return told


_ALL_REMARKS = "--all-remarks shows each place"


def _tells_what_a_pass_did(diagnostic: Diagnostic) -> bool:
    """A remark about the whole module, which begins with the pass's name."""
    return diagnostic.severity == "remark" and _is_of_pass(diagnostic)


def _is_of_pass(diagnostic: Diagnostic) -> bool:
    name, colon, _ = diagnostic.message.partition(": ")
    return bool(colon) and name.startswith("scalify-") and " " not in name


def _is_of_program(diagnostic: Diagnostic) -> bool:
    """Whether it is an error that a pass finds in the program as a whole, which has been read from a file."""
    is_read = _source.name != "-"
    return diagnostic.severity == "error" and not diagnostic.location and is_read and _is_of_pass(diagnostic)


def _one_sentence(messages: Sequence[str]) -> str:
    """Remarks of passes, one after another, each pass named once."""
    parts: dict[str, list[str]] = {}
    for message in messages:
        name, _, rest = message.partition(": ")
        parts.setdefault(name, []).append(rest)
    return "; ".join(f"{name}: {', '.join(dict.fromkeys(said))}" for name, said in parts.items())


def report(diagnostics: Sequence[Diagnostic]) -> None:
    """Print diagnostics to stderr, with the source lines of errors, warnings and notes."""
    for diagnostic in diagnostics:
        if diagnostic.location.startswith("-:") or _is_of_program(diagnostic):
            diagnostic = located(diagnostic, _source.name)
        print(with_excerpts(diagnostic, _source), file=sys.stderr, flush=True)


def flags_of(options: type[Any], parameter: str) -> Callable[[Command], Command]:
    """A decorator that gives a command one flag for each field of a dataclass.

    The command receives the dataclass instance as the keyword argument `parameter`.
    """

    def decorate(function: Command) -> Command:
        def call(**values: Any) -> Any:
            given = {name: values.pop(name) for name in field_types(options)}
            with usage_errors():
                made = options(**given)
            return function(**values, **{parameter: made})

        call.__name__, call.__module__, call.__doc__ = function.__name__, function.__module__, function.__doc__
        call.__click_params__ = list(getattr(function, "__click_params__", []))  # type: ignore[attr-defined]
        for field in reversed(dataclasses.fields(options)):
            call = _flag(field, options)(call)
        return cast(Command, call)

    return decorate


def _presets(_context: click.Context, _parameter: click.Parameter, start: str) -> list[CompletionItem | str]:
    return [name for name in PRESETS if name.startswith(start)]


def _known_precision(_context: click.Context, _parameter: click.Parameter, value: str | None) -> str | None:
    from scalify_hlo.passes.precision_pipeline import parse_precision

    with usage_errors():
        if value is not None:
            parse_precision(value)
    return value


@contextlib.contextmanager
def usage_errors() -> Generator[None]:
    """A ScalifyError of what the user gave on the command line ends the command as click's own errors do."""
    try:
        yield
    except ScalifyError as error:
        raise click.BadParameter("; ".join(each.message for each in error.diagnostics)) from None


def rewriting_options(function: Command) -> Command:
    """`--precision` and `--load-rules`, for commands that rewrite a program."""
    rules = click.option(
        "--load-rules",
        metavar="FILE.py",
        multiple=True,
        expose_value=False,
        is_eager=True,
        callback=_load_rules,
        help="A Python file, or a module's name, with scale rules of your own (docs/extending.md). Rules of installed "
        "plugins are loaded without it.",
    )
    precision = click.option(
        "--precision",
        metavar="PRESET",
        shell_complete=_presets,
        callback=_known_precision,
        help=f"Precision of an f32 training step: {', '.join(PRESETS)}; and what is to be different, such as "
        "'fp8 moments=f16 target=h100'.",
    )
    return precision(rules(function))


def _load_rules(context: click.Context, _parameter: click.Parameter, sources: Sequence[str]) -> None:
    from scalify_hlo.rules.registry import load_rules

    for source in sources if not context.resilient_parsing else ():
        load_rules(source)


def with_weight_names(precision: str | None, patterns: Sequence[str]) -> str | None:
    """The precision with patterns on the names of arguments that are weights. Raises UsageError without a precision."""
    if not patterns:
        return precision
    if precision is None:
        raise click.UsageError("--weights names what a precision stores as weights: give --precision as well")
    return f"{precision} parameter-names={','.join(patterns)}"


def _flag(field: dataclasses.Field[Any], options: type[Any]) -> Callable[[Any], Any]:
    kind, flag = field_types(options)[field.name], f"--{option_name(field.name)}"
    text = field_help(options)[field.name]
    if kind is bool:
        if field.default:
            return click.option(f"{flag}/--no-{flag[2:]}", field.name, default=True, show_default=True, help=text)
        return click.option(flag, field.name, is_flag=True, help=text)
    if typing.get_origin(kind) is tuple:

        def convert(_context: Any, _parameter: Any, value: str) -> Any:
            return parse_value(value, kind, flag)

        default = ",".join(cast(tuple[str, ...], field.default))
        return click.option(
            flag, field.name, default=default, show_default=bool(default), callback=convert, metavar="LIST", help=text
        )
    choices = _choices(kind)
    if choices:
        return click.option(
            flag, field.name, type=click.Choice(choices), default=field.default, show_default=True, help=text
        )
    return click.option(flag, field.name, default=field.default, show_default=True, metavar="VALUE", help=text)


def _choices(kind: Any) -> tuple[str, ...]:
    """The values of a Literal, optional or not; none for another type."""
    for each in (kind, *typing.get_args(kind)):
        if typing.get_origin(each) is Literal:
            return typing.get_args(each)
    return ()


def version_text() -> str:
    """The versions that matter when a result is to be reproduced."""
    from scalify_hlo.bindings import stablehlo

    jax, jaxlib = (importlib.metadata.version(package) for package in ("jax", "jaxlib"))
    stablehlo_version = stablehlo.get_current_version()
    return f"scalify_hlo {scalify_hlo.__version__} (jax {jax}, jaxlib {jaxlib}, StableHLO {stablehlo_version})"


def listing(flag: str, text: Callable[[], str], description: str) -> Callable[[Command], Command]:
    """A flag that prints `text()` and ends the command."""

    def callback(context: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
        if wanted and not context.resilient_parsing:
            click.echo(text())
            context.exit()

    return click.option(flag, is_flag=True, expose_value=False, is_eager=True, callback=callback, help=description)
