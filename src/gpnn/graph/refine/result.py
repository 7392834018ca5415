"""Results of a colour refinement: colours of every round, digests and first differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError

__all__ = ["Refinement", "Witness"]

IntArray = NDArray[np.int64]
Colours = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Witness:
    """A vertex colour that occurs with different frequency in two graphs.

    Attributes:
        round: the round of the colour (0 = start).
        colour: the colour, 32 hexadecimal digits.
        left, right: vertices of the two graphs with this colour, numbered from 0 in each graph.
    """

    round: int
    colour: str
    left: tuple[int, ...]
    right: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Refinement:
    """The result of a colour refinement on a set of graphs.

    Colours are 128-bit values (two uint64), the same in every run, call and machine; two vertices
    of any graphs have equal colours at round r if and only if they have the same history up to r.

    Attributes:
        ptr: vertices of graph g are ``ptr[g]:ptr[g+1]``.
        recorded: the last round stored for every graph; shape [graphs].
        stable: the first round whose classes the next round did not split, -1 if the requested
            rounds were too few to determine it; shape [graphs].
        digest: one 128-bit value per graph; two graphs are distinguished if and only if their
            digests differ, also between calls with the same options; shape [graphs, 2].
        pairs: whether signatures count pairs of vertices (2-FWL) instead of vertices.
    """

    ptr: IntArray
    recorded: IntArray
    stable: IntArray
    digest: Colours
    pairs: bool
    _colours: Colours = field(repr=False)
    _signatures: Colours = field(repr=False)
    _again: Callable[[Sequence[int], int], Refinement] = field(repr=False)

    def __len__(self) -> int:
        return len(self.recorded)

    @property
    def classes(self) -> IntArray:
        """The class of every graph, numbered from 0 in order; equal if the digests are equal."""
        _, first, inverse = np.unique(self.digest, axis=0, return_index=True, return_inverse=True)
        rank = np.argsort(np.argsort(first))
        return rank[inverse.reshape(-1)].astype(np.int64)

    def at(self, round: int = -1) -> Colours:
        """Colours of all vertices at a round stored for every graph: shape [vertices, 2].

        -1 is the last stored round of every graph, which is the same for all graphs only if
        ``rounds`` was given to the refinement.
        """
        sizes = np.diff(self.ptr)
        kept = self.recorded + 1
        if round != -1 and len(self):
            self._round(int(kept.argmin()), round)
        rounds = self.recorded if round == -1 else np.full(len(self), round)
        first = np.cumsum(sizes * kept) - sizes * kept + sizes * rounds
        return self._colours[np.repeat(first - self.ptr[:-1], sizes) + np.arange(self.ptr[-1])]

    def colours(self, g: int, round: int = -1) -> Colours:
        """Colours of the vertices of graph g at a round (-1: the last stored): shape [n, 2]."""
        g = range(len(self))[g]
        sizes = np.diff(self.ptr)
        n = int(sizes[g])
        at = int(sizes[:g] @ (self.recorded[:g] + 1)) + self._round(g, round) * n
        return self._colours[at : at + n]

    def signature(self, g: int, round: int = -1) -> tuple[int, int]:
        """The multiset of colours of graph g at a round, as one 128-bit value."""
        g = range(len(self))[g]
        at = int(self.recorded[:g].sum()) + g + self._round(g, round)
        return int(self._signatures[at, 0]), int(self._signatures[at, 1])

    def distinguishes(self, g: int, h: int) -> bool:
        return bool((self.digest[g] != self.digest[h]).any())

    def first_difference(self, g: int, h: int) -> int | None:
        """The first round at which the multisets of colours of two graphs differ, or ``None``."""
        if not self.distinguishes(g, h):
            return None
        here, i, j = self, g, h
        tried = 0
        while True:
            last = int(min(here.recorded[i], here.recorded[j]))
            for r in range(tried, last + 1):
                if here.signature(i, r) != here.signature(j, r):
                    return r
            # Under `pairs`, colours of distant pairs can differ before those of any vertex.
            tried = last + 1
            here, i, j = self._again((g, h), 2 * last + 2), 0, 1

    def witness(self, g: int, h: int) -> Witness | None:
        """A vertex colour with different counts in two graphs, at the first round that has one.

        Chooses the colour with the largest difference, then the smallest hash; ``None`` if the
        graphs are not distinguished. For 2-FWL a vertex has the colour of its pair (v, v), which
        can differ one round later than other pairs.
        """
        r = self.first_difference(g, h)
        if r is None:
            return None
        while True:
            both = self._again((g, h), r)
            left, right = both.colours(0), both.colours(1)
            every = np.concatenate([left, right])
            number = np.unique(every, axis=0, return_inverse=True)[1].reshape(-1)
            size = int(number.max(initial=-1)) + 1
            mine = np.bincount(number[: len(left)], minlength=size)
            other = np.bincount(number[len(left) :], minlength=size)
            if (mine != other).any():
                break
            r += 1
        best = np.flatnonzero(np.abs(mine - other) == np.abs(mine - other).max())
        chosen = int(best[0])
        low, high = every[int(np.flatnonzero(number == chosen)[0])].tolist()
        return Witness(
            r,
            f"{high:016x}{low:016x}",
            tuple(np.flatnonzero(number[: len(left)] == chosen).tolist()),
            tuple(np.flatnonzero(number[len(left) :] == chosen).tolist()),
        )

    def _round(self, g: int, round: int) -> int:
        last = int(self.recorded[g])
        if not -1 <= round <= last:
            raise InputError(
                f"Graph {g} was refined up to round {last}; round {round} is not available. "
                f"Run the refinement with rounds={round}."
            )
        return last if round == -1 else round
