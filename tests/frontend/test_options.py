"""Options and arguments given in Python are checked as on the command line."""

import dataclasses
from typing import Literal, get_origin, get_type_hints

import numpy as np
import pytest

import scalify_hlo as sc
from scalify_hlo.execution.options import CheckOptions

_CHOICES = [n for n, kind in get_type_hints(sc.ScalifyOptions).items() if get_origin(kind) is Literal]


@pytest.mark.parametrize("name", _CHOICES)
def test_a_choice_that_does_not_exist(name: str):
    with pytest.raises(sc.ScalifyError, match=f"{name}='papr': expected '"):
        sc.ScalifyOptions(**{name: "papr"})


def test_all_wrong_fields_are_named_at_once():
    with pytest.raises(sc.ScalifyError, match=r"plain_results=1.*rules='papr'.*slack='much'"):
        sc.ScalifyOptions(rules="papr", slack="much", plain_results=1)  # type: ignore[arg-type]
    with pytest.raises(sc.ScalifyError, match="scaled_types"):
        sc.ScalifyOptions(scaled_types=("f32", "f17"))  # type: ignore[arg-type]
    with pytest.raises(sc.ScalifyError, match="rules"):
        dataclasses.replace(sc.ScalifyOptions(), rules="papr")  # type: ignore[arg-type]


def test_whole_numbers_are_numbers():
    assert sc.ScalifyOptions(slack=0).slack == 0
    with pytest.raises(sc.ScalifyError, match="draw"):
        CheckOptions(draw="gaussian")  # type: ignore[arg-type]


def test_statistics():
    with pytest.raises(ValueError, match="statistic='maximum': expected 'rms', 'l1' or 'max'"):
        sc.as_scaled_array(np.float32([1, 2]), statistic="maximum")
    with pytest.raises(ValueError, match="statistic='l2'"):
        sc.dynamic_rescale(sc.as_scaled_array(np.float32([1, 2])), "l2")
