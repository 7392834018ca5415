"""Equation 2 carried out pair by pair, tuples in dictionaries, and tables spelt out again."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any

import networkx as nx
import numpy as np

from gpnn.graph.graphs import Graphs

__all__ = ["Palette", "Slow", "expand", "multiset", "slow_set", "weigh"]

Pair = tuple[int, int]


class Palette:
    """Numbers for nested tuples: equal tuples, equal numbers."""

    def __init__(self) -> None:
        self.numbers: dict[Hashable, int] = {}

    def __call__(self, *value: Hashable) -> int:
        return self.numbers.setdefault(value, len(self.numbers))


def multiset(items: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(sorted(items))


@dataclass
class Slow:
    """One graph by the letter: α of all pairs per round, what is learned and what is read."""

    near: list[Pair]
    alpha: list[dict[Pair, int]]
    learned: list[list[Pair]]
    tuples: list[Counter[tuple[int, int]]]
    read: set[Pair]


def slow(
    palette: Palette,
    graph: nx.Graph,
    part: dict[int, int],
    labels: dict[Pair, int] | None,
    which: str,
    d: int,
    rounds: int,
    distances: bool,
    marks: dict[int, int],
) -> Slow:
    hops = dict(nx.all_pairs_shortest_path_length(graph))
    ball = {v: sorted(u for u in hops[v] if hops[v][u] <= d) for v in graph}

    def start(v: int, u: int) -> int:
        edge = graph.has_edge(v, u)
        kind = 0 if v == u else 3 if not edge else 1 if part[v] == part[u] else 2
        label = 1 + labels[v, u] if edge and labels else 0
        far = hops[v][u] if distances else 0
        return palette(part[v], kind, part[u], label, far, marks[v], marks[u])

    def computed(v: int, u: int, i: int) -> bool:
        if v == u:
            return False
        if which == "pairs":
            return hops[v][u] <= (rounds + 1 - i) * d
        return graph.has_edge(v, u) and (which == "edges" or part[v] != part[u])

    alpha = [{(v, u): start(v, u) for v in graph for u in hops[v]}]
    near = [(v, u) for v in sorted(graph) for u in ball[v]]
    out = Slow(near, alpha, [[]], [Counter()], set(near))
    for i in range(1, rounds + 1):
        old = alpha[-1]
        new = dict(old)
        out.learned.append([pair for pair in old if computed(*pair, i)])
        out.tuples.append(Counter())
        for v, u in out.learned[-1]:
            tuples = [(old[v, w], old[u, w]) for w in ball[v]]
            new[v, u] = palette(old[v, u], multiset(tuples))
            out.tuples[-1].update(tuples)
            out.read.update([(v, u), *((x, w) for w in ball[v] for x in (v, u))])
        alpha.append(new)
    return out


def slow_set(
    palette: Palette, graphs: Graphs, part: Any, labels: Any, which: str, d: int, rounds: int,
    distances: bool, marks: Any = None,
) -> list[Slow]:  # fmt: skip
    """Every graph of a set, its vertices numbered as in the set; ``marks``: labels of vertices."""
    whole = graphs.to_networkx()
    entries = dict(zip(zip(graphs.rows.tolist(), graphs.indices.tolist(), strict=True),
                       [] if labels is None else labels.tolist(), strict=False))  # fmt: skip
    colour = dict(enumerate(np.asarray(part).tolist()))
    own = dict.fromkeys(colour, 0) if marks is None else dict(enumerate(marks.tolist()))
    options = (colour, entries, which, d, rounds, distances, own)
    return [
        slow(palette, whole.subgraph(range(a, b)), *options)
        for a, b in itertools.pairwise(graphs.ptr.tolist())
    ]


def expand(palette: Palette, start: np.ndarray, tables: Iterable[Any]) -> list[list[int]]:
    """α of every row of the α table of every round, spelt out from the arrays alone."""
    begin = [palette(*row) for row in start.tolist()]
    out = [begin]
    for table in tables:
        rows = out[-1]
        members: list[list[tuple[int, int]]] = [[] for _ in table.previous]
        owner = np.repeat(np.arange(table.size), np.diff(table.entry_ptr))
        counts = table.entry_count.astype(int)
        signed: list[Counter[tuple[int, int]]] = [Counter() for _ in table.previous]
        for c, t, count in zip(owner, table.entry_tuple, counts, strict=True):
            signed[c][rows[table.first[t]], rows[table.second[t]]] += count
        for c in np.flatnonzero(table.shared >= 0):
            for e in range(*table.shared_ptr[table.shared[c] :][:2]):
                t = table.shared_tuple[e]
                signed[c][rows[table.first[t]], rows[table.second[t]]] += table.shared_count[e]
        for c, one in enumerate(signed):
            assert min(one.values(), default=0) >= 0
            members[c] += one.elements()
        learned = [
            palette(rows[p], multiset(m)) for p, m in zip(table.previous, members, strict=True)
        ]
        out.append(learned + begin)
    return out


def weigh(values: Iterable[int], weights: np.ndarray) -> Counter[int]:
    out: Counter[int] = Counter()
    for value, weight in zip(values, weights.tolist(), strict=True):
        out[value] += weight
    return out
