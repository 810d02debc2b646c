"""Nodes of a graph that reach each other."""

import numpy as np

from scalify_hlo.analysis.cycles import cycles


def test_nodes_that_reach_each_other() -> None:
    edges = {0: {1}, 1: {2}, 2: {0, 3}, 3: {4}, 4: {3}, 5: {5, 0}, 6: set[int]()}
    first, second = frozenset({0, 1, 2}), frozenset({3, 4})
    assert cycles(edges) == {0: first, 1: first, 2: first, 3: second, 4: second, 5: frozenset({5}), 6: frozenset({6})}


def test_it_is_what_products_of_matrices_say() -> None:
    rng = np.random.default_rng(0)
    for size in (1, 4, 9, 30):
        for share in (0.03, 0.1, 0.4):
            edge = rng.random((size, size)) < share
            reached = np.linalg.matrix_power(edge + np.eye(size), size) > 0
            expected = {i: frozenset(np.flatnonzero(reached[i] & reached[:, i]).tolist()) for i in range(size)}
            assert cycles({i: set(np.flatnonzero(row).tolist()) for i, row in enumerate(edge)}) == expected


def test_a_long_cycle() -> None:
    size = 20_000
    assert len(cycles({i: {(i + 1) % size} for i in range(size)})[0]) == size
