"""Work that tests of one process share, so that each program is compiled once and little else is done around it.

Nothing here changes what a test sees: an executable depends on its program and options alone, JAX's contexts have the
dialects that its CPU programs are written in, and garbage is still collected. `conftest.py` calls `share`.
"""

import collections
import functools
import gc
import importlib.metadata
import sys
from collections.abc import Callable
from typing import Any

# Programs come again soon: in the other types of a parametrised test, or where a state is built for each of them.
_MOST_EXECUTABLES = 128


def share() -> None:
    """To be called when all tests have been imported, and before the first one runs."""
    if "jax" in sys.modules:  # without it nothing is compiled
        _share_executables_of_modules()
        if importlib.metadata.version("jax").startswith("0.10."):  # what others call these functions is not known
            _share_jax_executables()
            _load_dialects_when_needed()
    # JAX and the libraries are half a million objects, which no collection has to go through again.
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 50)


class Shared:
    """What was made for a key, of the keys asked for last."""

    def __init__(self, most: int):
        self._most = most
        self._known = collections.OrderedDict[Any, Any]()

    def get(self, key: Any, make: Callable[[], Any]) -> Any:
        if key not in self._known:
            self._known[key] = make()
            if len(self._known) > self._most:
                self._known.popitem(last=False)
        self._known.move_to_end(key)
        return self._known[key]


def _share_jax_executables() -> None:
    """Programs of JAX without calls of Python, whose addresses are part of what is compiled."""
    from jax._src import compiler

    compile_ = compiler.backend_compile_and_load
    known = Shared(_MOST_EXECUTABLES)

    @functools.wraps(compile_)
    def compile_once(backend: Any, module: Any, executable_devices: Any, options: Any, host_callbacks: Any) -> Any:
        def make() -> Any:
            return compile_(backend, module, executable_devices, options, host_callbacks)

        if host_callbacks:
            return make()
        text = module.operation.get_asm(enable_debug_info=False)
        key = (text, options.SerializeAsString(), tuple(executable_devices), id(backend))
        return known.get(key, make)

    compiler.backend_compile_and_load = compile_once


def _share_executables_of_modules() -> None:
    """Programs in text and bytecode; a module may be changed after it was compiled."""
    from scalify_hlo.execution import xla

    compile_ = xla.compile
    known = Shared(_MOST_EXECUTABLES)

    @functools.wraps(compile_)
    def compile_once(module: Any, **options: Any) -> Any:
        text = module if isinstance(module, str | bytes) else module.operation.get_asm(enable_debug_info=False)
        return known.get((text, *sorted(options.items())), lambda: compile_(module, **options))

    xla.compile = compile_once


def _load_dialects_when_needed() -> None:
    """JAX 0.10 makes a context for each program that it lowers, and loads into it all dialects that are linked: a
    twentieth of the time of all tests. Later ones share contexts."""
    from jax._src.interpreters import mlir

    from scalify_hlo.bindings import make_context

    mlir.make_ir_context = make_context
