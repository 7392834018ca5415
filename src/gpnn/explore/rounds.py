"""Rounds of colours in one palette for all graphs, and the verdict of a method on two graphs.

The colours of a refinement are hashes. Here every class of vertices gets a small, persistent
number: when a class splits, its largest piece keeps the number and the others get new numbers. So a
vertex changes colour on the page only if its class was split in this round.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..graph import refine
from ..graph.partition import Partition, unique_rows
from ..graph.refine import Refinement
from ..plots.palette import OKABE_ITO, palette
from .request import METHODS

__all__ = ["MAX_ROUNDS", "Rounds", "lasting_numbers", "run"]

IntArray = NDArray[np.int64]

MAX_ROUNDS = 40
"""Maximum number of rounds shown, unless the first that distinguishes two graphs comes later."""
FEW_ROUNDS = 8

_Refine = Callable[[Partition, int, int | None], Refinement]


def _variant(name: str) -> _Refine:
    return lambda cut, d, rounds: refine.gpnn(cut.graphs, cut.colours, name, d, rounds=rounds)


_REFINE: dict[str, _Refine] = {
    "1-wl": lambda cut, _, rounds: refine.wl(cut.graphs, rounds=rounds),
    "cross": _variant("cross"),
    "edges": _variant("edges"),
    "pairs": _variant("pairs"),
    "3-wl": lambda cut, _, rounds: refine.fwl(cut.graphs, rounds=rounds),
}


@dataclass(frozen=True, eq=False)
class Rounds:
    """Result of one method on one or two graphs.

    Attributes:
        method: a name in ``METHODS``.
        numbers: class of every vertex of all graphs in every round, [rounds + 1, vertices].
        stable: the round after which no class splits, or ``None`` if it was not reached.
        distinguishes: the verdict on two graphs, ``None`` for one.
        round: the first round that distinguishes them; for ``3-wl`` and ``pairs`` by the colours of
            pairs, which the vertices may show only later, in ``vertex_round``.
        witness: the class that differs, with its counts in both graphs.
    """

    method: str
    numbers: IntArray
    stable: int | None
    distinguishes: bool | None = None
    round: int | None = None
    vertex_round: int | None = None
    witness: str | None = None

    def to_dict(self, ptr: IntArray) -> dict[str, Any]:
        """Return plain lists: ``rounds[r][g][v]`` is the class of vertex v of graph g in round
        r."""
        return {
            "title": METHODS[self.method],
            "rounds": [
                [row[a:b].tolist() for a, b in pairwise(ptr.tolist())] for row in self.numbers
            ],
            "palette": _shades(self.numbers),
            "stable": self.stable,
            **self.verdict(),
        }

    def verdict(self) -> dict[str, Any]:
        """Return the line of the table."""
        return {
            "method": self.method,
            "distinguishes": self.distinguishes,
            "round": self.round,
            "vertex_round": self.vertex_round,
            "witness": self.witness,
        }


def run(method: str, cut: Partition, d: int) -> Rounds:
    """Run one method on the graphs of a partition, with a verdict if there are two."""
    refined = _REFINE[method]
    if len(cut.graphs) == 1:
        return _alone(method, cut, lambda rounds: refined(cut, d, rounds))
    refinement = refined(cut, d, None)
    first, witness = refinement.first_difference(0, 1), refinement.witness(0, 1)
    stable = int(refinement.stable.max())
    last = max(min(stable, MAX_ROUNDS), 0 if witness is None else witness.round)
    shown = refinement if last <= refinement.recorded.min() else refined(cut, d, last)
    numbers = lasting_numbers([shown.at(r) for r in range(last + 1)], cut.part)
    done = stable if stable <= last else None
    if first is None or witness is None:
        return Rounds(method, numbers, done, False)
    at = numbers[witness.round]
    side = int(cut.graphs.ptr[1])
    number = int(at[witness.left[0]] if witness.left else at[side + witness.right[0]])
    text = f"colour {number + 1}: {len(witness.left)} | {len(witness.right)} vertices"
    return Rounds(method, numbers, done, True, first, witness.round, text)


def _alone(method: str, cut: Partition, refined: Callable[[int], Refinement]) -> Rounds:
    """Return the rounds of one graph. A few rounds are tried first, as no verdict needs the last
    round."""
    for rounds in (FEW_ROUNDS, MAX_ROUNDS):
        refinement = refined(rounds)
        stable = int(refinement.stable[0])
        if stable >= 0:
            break
    last = stable if stable >= 0 else MAX_ROUNDS
    numbers = lasting_numbers([refinement.at(r) for r in range(last + 1)], cut.part)
    return Rounds(method, numbers, stable if stable >= 0 else None)


def lasting_numbers(rounds: Sequence[NDArray[np.uint64]], part: NDArray[Any]) -> IntArray:
    """Assign small numbers to classes; the largest piece of a class that splits keeps its number.

    Args:
        rounds: colours of all vertices, [vertices, 2] per round, each a refinement of the previous
            round.
        part: the part of every vertex; classes of the first round are numbered in this order.
    """
    numbers = np.empty((len(rounds), len(part)), np.int64)
    place = unique_rows(rounds[0].view(np.int64))[1]
    first = np.full(place.max(initial=-1) + 1, np.iinfo(np.int64).max)
    np.minimum.at(first, place, part)
    numbers[0] = np.argsort(np.argsort(first, kind="stable"))[place]
    total = len(first)
    for r, colours in enumerate(rounds[1:], start=1):
        place = unique_rows(colours.view(np.int64))[1]
        size = np.bincount(place)
        parent = np.empty(len(size), np.int64)
        parent[place] = numbers[r - 1]
        order = np.lexsort((-size, parent))
        young = np.concatenate(([False], np.diff(parent[order]) == 0))
        number = parent.copy()
        number[order[young]] = total + np.arange(young.sum())
        total += int(young.sum())
        numbers[r] = number[place]
    return numbers


def _shades(numbers: IntArray) -> list[str]:
    """Return a colour for every number. If there are more classes than hues, the classes are on a
    ramp in the order of their descent, so that pieces of one class have similar colours."""
    count = int(numbers.max(initial=-1)) + 1
    colours = palette(count)
    if count <= len(OKABE_ITO):
        return colours
    lineage, _ = unique_rows(np.ascontiguousarray(numbers.T))
    ranked = [""] * count
    for rank, number in enumerate(lineage[:, -1].tolist()):
        ranked[number] = colours[rank]
    return ranked
