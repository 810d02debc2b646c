"""Names that a module has not yet: the least number that is free, where they are given one after another."""

import pytest

from scalify_hlo.module.fresh_names import fresh_name


@pytest.mark.parametrize("count", [0, 1, 2, 3, 7, 8, 100])
def test_the_next_of_a_row(count: int) -> None:
    assert fresh_name("f", {f"f_{i}" for i in range(count)}.__contains__) == f"f_{count}"


@pytest.mark.parametrize("taken", [{1}, {0, 3}, {0, 1, 3, 7}, {2, 5}])
def test_one_that_is_free_where_numbers_are_missing(taken: set[int]) -> None:
    assert fresh_name("f", {f"f_{i}" for i in taken}.__contains__) not in {f"f_{i}" for i in taken}


def test_few_questions_for_many_names() -> None:
    asked: list[str] = []

    def is_taken(name: str) -> bool:
        asked.append(name)
        return int(name.removeprefix("f_")) < 5000

    assert fresh_name("f", is_taken) == "f_5000" and len(asked) < 40
