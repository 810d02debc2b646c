"""Scales that programs of one model have in common: weights, and the cache that prefill returns and decode takes."""

import numpy as np

from scalify_hlo.errors import ScalifyError
from scalify_hlo.io.globs import dotted
from scalify_hlo.io.scales_file import ScalesFile


def add_program(mine: ScalesFile, earlier: ScalesFile) -> ScalesFile:
    """One file for both: the earlier programs' scales, then mine, which take theirs where they have the same tensors.

    A tensor is the same where an argument has the same name and shape, or a result the place in its tree of a cache.
    Raises ScalifyError for programs of another precision.
    """
    if earlier.precision != mine.precision:
        raise ScalifyError(
            f"the earlier scales are for --precision='{earlier.precision}', these for '{mine.precision}': "
            "programs that share scales have one precision"
        )
    programs = [each for each in (earlier, *earlier.others) if each.argument_shapes != mine.argument_shapes]
    for other in programs:
        for name, scale in other.arguments.items():
            if name in mine.arguments and mine.argument_shapes.get(name) == other.argument_shapes.get(name):
                mine.arguments[name] = scale
                if name in other.wide_weights and name not in mine.wide_weights:
                    mine.wide_weights.append(name)
        _share_caches(other, mine)
        _share_caches(mine, other)
    if not programs:
        return mine
    first, *rest = programs
    first.others = [*rest, mine]
    for each in first.others:
        each.others = []
    return first


def _share_caches(one: ScalesFile, other: ScalesFile) -> None:
    """Give the results of `other` that are caches of `one` the same scales, and the arguments that they replace."""
    for result, scale in one.caches.items():
        same = _same(one.cache_arguments.get(result, ""), result, other)
        if same:
            other.caches[same] = scale
            if same in other.cache_arguments:
                other.arguments[other.cache_arguments[same]] = np.asarray(scale, np.float32)


def _same(argument: str, result: str, other: ScalesFile) -> str:
    """The result of another program that is the cache with these names; "" where there is none, or not one."""
    tail = dotted(argument).partition(".")[2]
    near = [name for name in other.result_shapes if tail and dotted(name).endswith(f".{tail}")]
    if len(near) == 1:
        return near[0]
    return result if not near and result in other.result_shapes else ""
