"""Cycles of a graph: which of its nodes reach each other."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet


def cycles(edges: Mapping[int, AbstractSet[int]]) -> dict[int, frozenset[int]]:
    """For each node those that it reaches and that reach it, itself included: its strongly connected component.

    edges: from each node. Each edge is followed twice, once in either direction (Kosaraju's algorithm).
    """
    finished: list[int] = []
    entered: set[int] = set()
    for start in edges:
        pending = [(start, False)]
        while pending:
            node, done = pending.pop()
            if done:
                finished.append(node)
            elif node not in entered:
                entered.add(node)
                pending.append((node, True))
                pending += [(following, False) for following in edges[node] if following not in entered]
    before: dict[int, list[int]] = {node: [] for node in edges}
    for node, following in edges.items():
        for each in following:
            before[each].append(node)
    found: dict[int, frozenset[int]] = {}
    for start in reversed(finished):
        if start in found:
            continue
        component, waiting = {start}, [start]
        while waiting:
            new = [node for node in before[waiting.pop()] if node not in found and node not in component]
            component.update(new)
            waiting += new
        found |= dict.fromkeys(component, frozenset(component))
    return found
