"""Modules under the names that they had before they were put into folders: imports of these find the same module.

Rules and tools outside this repository import a few of them (`scalify_hlo.registry`, `scalify_hlo.oprewrite`).
"""

import importlib
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

# Folder -> the modules in it that lay beside it.
_FOLDERS = {
    "emit": (
        "common_scales emitter growth marks narrow_products operation_emitter packed_scales scale_emitter "
        "scatter_factors scopes shared_sums widening"
    ),
    "engine": "devices facts functions inlining preconditions rewriter selection signature statistics_in_f32 survey",
    "frontend": "jax_scalify_names",
    "io": "choices depth diagnostics expected_diagnostics files globs isolation opt_driver scales_file serialization",
    "reports": "diagnosis explain health_html health_layout",
    "rules": "bodies foreign_rules oprewrite plain registry shapes values",
    "size": "moments",
}
MOVED = {
    f"scalify_hlo.{name}": f"scalify_hlo.{folder}.{name}"
    for folder, names in _FOLDERS.items()
    for name in names.split()
}


class _Mover:
    """Finds a module under its old name, and loads it as the one under its new name."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target
        return ModuleSpec(name, self) if name in MOVED else None  # pyright: ignore[reportArgumentType]

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(MOVED[spec.name])
        self._own = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        # The import system has given the module the old name's specification.
        module.__spec__ = self._own


def find_moved() -> None:
    """Let imports find modules under their old names."""
    if not any(type(finder).__name__ == _Mover.__name__ for finder in sys.meta_path):
        sys.meta_path.append(_Mover())
