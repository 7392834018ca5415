"""The refinements, slowly and to the letter: dictionaries, sorted tuples, one palette, no hashing.

All graphs are refined together. A colour is a tuple that spells out its definition; a palette
shared by all graphs replaces it by a number, handed out in order of appearance.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import networkx as nx

__all__ = ["History", "equivalent", "slow_fwl", "slow_gpnn", "slow_wl"]

Pair = tuple[int, int]
Colouring = list[dict[Any, int]]
History = list[Colouring]


class Palette:
    """Numbers for colours: equal colours, equal numbers."""

    def __init__(self) -> None:
        self.numbers: dict[Hashable, int] = {}

    def __call__(self, *colour: Hashable) -> int:
        return self.numbers.setdefault(colour, len(self.numbers))


def multiset(items: Any) -> tuple[Any, ...]:
    return tuple(sorted(items))


def classes(*colourings: Colouring) -> tuple[int, ...]:
    return tuple(len({c for one in colouring for c in one.values()}) for colouring in colourings)


def equivalent(colouring: Colouring) -> list[int]:
    """The class of every graph by its multiset of colours."""
    palette = Palette()
    return [palette(multiset(one.values())) for one in colouring]


def _iterate(
    state: tuple[Colouring, ...],
    step: Callable[[tuple[Colouring, ...]], tuple[Colouring, ...]],
    rounds: int | None,
) -> list[tuple[Colouring, ...]]:
    """All states from the start to the given round, or until no class of the union splits."""
    states = [state]
    while rounds is None or len(states) <= rounds:
        states.append(step(states[-1]))
        if rounds is None and classes(*states[-1]) == classes(*states[-2]):
            break
    return states


def slow_wl(
    graphs: Sequence[nx.Graph], colours: Sequence[Any], rounds: int | None = None
) -> History:
    palette = Palette()

    def step(state: tuple[Colouring, ...]) -> tuple[Colouring, ...]:
        return (
            [
                {v: palette(old[v], multiset(old[u] for u in graph[v])) for v in graph}
                for graph, old in zip(graphs, state[0], strict=True)
            ],
        )

    start = [{v: palette(c[v]) for v in g} for g, c in zip(graphs, colours, strict=True)]
    return [state[0] for state in _iterate((start,), step, rounds)]


def slow_fwl(
    graphs: Sequence[nx.Graph], colours: Sequence[Any], rounds: int | None = None
) -> History:
    """Colours of all ordered pairs."""
    palette = Palette()

    def kind(graph: nx.Graph, v: int, u: int) -> str:
        return "self" if u == v else "edge" if graph.has_edge(v, u) else "non-edge"

    def step(state: tuple[Colouring, ...]) -> tuple[Colouring, ...]:
        return (
            [
                {
                    (v, u): palette(old[v, u], multiset((old[v, w], old[u, w]) for w in graph))
                    for v, u in old
                }
                for graph, old in zip(graphs, state[0], strict=True)
            ],
        )

    start = [
        {(v, u): palette(c[v], kind(g, v, u), c[u]) for v in g for u in g}
        for g, c in zip(graphs, colours, strict=True)
    ]
    return [state[0] for state in _iterate((start,), step, rounds)]


def slow_gpnn(
    graphs: Sequence[nx.Graph],
    parts: Sequence[Any],
    interactions: str,
    d: int,
    distances: bool,
    rounds: int | None = None,
    node_labels: Sequence[Any] | None = None,
    edge_labels: Sequence[Any] | None = None,
) -> History:
    """γ of every round. ``parts[g][v]`` is λ_V(v); labels are given per graph as mappings."""
    palette = Palette()
    hops = [dict(nx.all_pairs_shortest_path_length(graph)) for graph in graphs]
    balls = [{v: [u for u in g if h[v].get(u, d + 1) <= d] for v in g}
             for g, h in zip(graphs, hops, strict=True)]  # fmt: skip

    def kind(g: int, v: int, u: int) -> str:
        if u == v:
            return "self"
        if not graphs[g].has_edge(v, u):
            return "non-edge"
        return "within" if parts[g][v] == parts[g][u] else "cross"

    def edge_colour(g: int, v: int, u: int) -> int:
        label = edge_labels[g].get((v, u), "") if edge_labels else ""
        hop = hops[g][v].get(u, "unreachable") if distances else ""
        return palette("edge", parts[g][v], kind(g, v, u), label, hop, parts[g][u])

    def learned(g: int, v: int, u: int) -> bool:
        return (
            kind(g, v, u)
            in {
                "cross": {"cross"},
                "edges": {"cross", "within"},
                "pairs": {"cross", "within", "non-edge"},
            }[interactions]
        )

    def step(state: tuple[Colouring, ...]) -> tuple[Colouring, ...]:
        gammas, alphas = [], []
        for g, graph in enumerate(graphs):
            gamma, alpha, ball = state[0][g], state[1][g], balls[g]
            beta = {
                v: palette("beta", gamma[v], multiset(gamma[u] for u in graph[v])) for v in graph
            }
            new = {
                (v, u): palette("alpha", old, multiset((alpha[v, w], alpha[u, w]) for w in ball[v]))
                if learned(g, v, u)
                else old
                for (v, u), old in alpha.items()
            }
            out = {}
            for v in graph:
                by_part = [
                    (j, multiset((beta[u], new[v, u]) for u in ball[v] if parts[g][u] == j))
                    for j in sorted({parts[g][u] for u in ball[v]})
                ]
                out[v] = palette("gamma", tuple(by_part))
            gammas.append(out)
            alphas.append(new)
        return gammas, alphas

    gamma = [
        {v: palette("start", parts[g][v], node_labels[g][v] if node_labels else "") for v in graph}
        for g, graph in enumerate(graphs)
    ]
    alpha = [
        {(v, u): edge_colour(g, v, u) for v in graph for u in graph}
        for g, graph in enumerate(graphs)
    ]
    return [state[0] for state in _iterate((gamma, alpha), step, rounds)]
