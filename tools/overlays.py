"""The option --overlay: files for Model Explorer beside the one that is named."""

import click

from scalify_hlo.io.files import write_output
from scalify_hlo.reports.overlay import check_adapter

_ENDING = ".mlirbc"


def check_overlay_path(path: str) -> None:
    """Raises BadParameter for a name that Model Explorer does not read, ScalifyError where its adapter is missing."""
    if not path.endswith(_ENDING):
        raise click.BadParameter(f"Model Explorer reads files that end in {_ENDING}", param_hint="--overlay")
    check_adapter()


def write_overlay(path: str, files: dict[str, bytes]) -> None:
    """Write the files of an overlay, by their endings. Raises ScalifyError."""
    for ending, content in files.items():
        write_output(path.removesuffix(_ENDING) + ending, content)
