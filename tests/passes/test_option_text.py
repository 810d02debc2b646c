"""Options as text and back."""

import dataclasses
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalify_hlo.errors import ScalifyError
from scalify_hlo.passes.option_text import field_help, parse_options, print_options
from scalify_hlo.passes.pipeline_text import parse_pipeline_text


@dataclasses.dataclass(frozen=True)
class Base:
    """A base."""

    # What is taken:
    # a name or a glob.
    text: str = "all"


@dataclasses.dataclass(frozen=True)
class Options(Base):
    """One field of each type."""

    # Whether.
    flag: bool = False
    # How many.
    count: int = 3
    # How much.
    share: float = 0.5
    # Which of two.
    choice: Literal["a", "b"] = "a"
    # Which types.
    some_types: tuple[str, ...] = ("f32",)


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ("", {}),
        ("flag", {"flag": True}),
        ("flag=true count=5", {"flag": True, "count": 5}),
        ("share=.25 choice=b", {"share": 0.25, "choice": "b"}),
        ("text=0,3-5", {"text": "0,3-5"}),
        ("text=p['w'][0]*", {"text": "p['w'][0]*"}),
        ("text='a b' count=1", {"text": "a b", "count": 1}),
        ('text="a b"', {"text": "a b"}),
        ("text={a {b} c} flag", {"text": "a {b} c", "flag": True}),
        ("some-types=f16,bf16", {"some_types": ("f16", "bf16")}),
        ("some_types=", {"some_types": ()}),
    ],
)
def test_parse(text: str, changes: dict[str, object]):
    assert parse_options(Options(), text) == dataclasses.replace(Options(), **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("colour=red", "unknown option 'colour'; the options are text, flag"),
        ("flag=yes", "invalid value 'yes' for flag: expected true or false"),
        ("count=many", "invalid value 'many' for count: expected int"),
        ("choice=c", "invalid value 'c' for choice: expected 'a' or 'b'"),
        ("text", "option text needs a value"),
        ("text='a", "unbalanced '"),
        ("text={a", "unbalanced {"),
    ],
)
def test_refused(text: str, message: str):
    with pytest.raises(ScalifyError) as error:
        parse_options(Options(), text)
    assert message in str(error.value)


names = st.text(st.sampled_from("abc[]'*.,-09 "), max_size=8)


@given(
    st.builds(
        Options,
        text=names,
        flag=st.booleans(),
        count=st.integers(),
        share=st.floats(allow_nan=False),
        choice=st.sampled_from(["a", "b"]),
        some_types=st.lists(st.sampled_from(["f16", "f32"])).map(tuple),
    )
)
def test_printed_options_read_back(options: Options):
    assert parse_options(Options(), print_options(options)) == options
    (node,) = parse_pipeline_text(f"name{{{print_options(options)}}}", "here")
    assert parse_options(Options(), node.options or "") == options


def test_help_is_the_comment_above_the_field():
    assert field_help(Options)["text"] == "What is taken: a name or a glob."
    assert field_help(Options)["some_types"] == "Which types."
