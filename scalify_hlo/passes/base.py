"""What a pass is."""

import abc
import dataclasses
from typing import ClassVar

from scalify_hlo.bindings import ir
from scalify_hlo.errors import Diagnostic


@dataclasses.dataclass(frozen=True)
class Pass(abc.ABC):
    """A rewrite of a whole module, written in Python.

    A subclass is a frozen dataclass. Its fields are its options, in `--pass-pipeline='builtin.module(name{...})'`
    and after `--name=`; each has a default, and the comment above it is its help text. The first line of the
    docstring describes the pass in `--list-passes`.
    """

    # The name in pipelines.
    name: ClassVar[str]

    @abc.abstractmethod
    def apply(self, module: ir.Module, remarks: list[Diagnostic]) -> None:
        """Change `module` in place and add remarks. Raises ScalifyError; the module is then not to be used."""
