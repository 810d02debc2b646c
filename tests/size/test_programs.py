"""Sizes of whole programs of many kinds: none is too large to analyse, none of the sizes is NaN or infinite."""

import math
import pathlib

import pytest

from scalify_hlo.bindings import make_context
from scalify_hlo.engine.signature import public_function
from scalify_hlo.io.serialization import parse, recognise
from scalify_hlo.size.steps import frames, settled
from tests.shared_data import shared

# Programs of the zoo: every seventh, from the fourth on.
_EVERY = 7


@pytest.mark.parametrize("number", range(_EVERY))
def test_every_value_of_a_real_program_has_a_size(number: int) -> None:
    programs: list[pathlib.Path] = sorted(shared("zoo").glob("public/*/exported.bin"))[3::_EVERY]
    if number >= len(programs):
        pytest.skip(f"the zoo has {len(programs)} such programs")
    path = programs[number]
    context = make_context()
    module = parse(recognise(path.read_bytes(), path.parent.name), context)
    with context:
        analysis = settled(module, public_function(module))
        sizes = [size for frame in frames(analysis.main) for size in frame.sizes.values()]
        numbers = [analysis.algebra.at_one(size) for size in sizes if not size.is_indifferent]
    assert len(sizes) > 50
    assert [number for number in numbers if math.isnan(number) or number == math.inf] == []
