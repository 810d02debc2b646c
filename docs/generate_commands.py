"""The help texts of the commands and the list of passes as a page: docs/conf.py writes it for docs/commands.md."""

import importlib
import os
import pathlib

import click

PAGE = pathlib.Path(__file__).parent / "_generated" / "commands.md"
WIDTH = 100


def reference() -> str:
    """The page."""
    os.environ["COLUMNS"] = str(WIDTH)
    from scalify_hlo.tools.listings import list_passes

    from scalify_hlo.__main__ import COMMANDS

    parts: list[str] = []
    for name, (module, _) in COMMANDS.items():
        command: click.Command = importlib.import_module(f"scalify_hlo.tools.{module}").main
        settings = {**command.context_settings, "terminal_width": WIDTH}
        with click.Context(command, info_name=f"scalify-{name}", **settings) as context:
            parts.append(f"## scalify-{name}\n\n```text\n{command.get_help(context)}\n```\n")
    parts.append(f"## Passes\n\nWith their options and the defaults of these.\n\n```text\n{list_passes()}\n```\n")
    return "\n".join(parts)


def write() -> None:
    """Write the page."""
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(reference())


if __name__ == "__main__":
    write()
