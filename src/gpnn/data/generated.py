"""Sources that are generated: ``planted:core`` (:mod:`gpnn.data.planted`), ``counts:5-cycle``
(:mod:`gpnn.data.counted`).

``planted:core,graphs=100,seed=7`` sets the number of graphs and the seed, ``planted:core:5`` is a
single graph.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError
from ..options import Whole

if TYPE_CHECKING:
    from .raw import Raw

__all__ = ["Generated", "is_generated", "read_generated"]

MOST, MOST_SEED, DIGITS = 20_000, 2**31 - 1, 19
"""Largest number of graphs, largest seed, and digits of a number that is read."""

GRAPHS = {"planted": 200, "counts": 1_000}
"""Kind of generated graphs → default number of graphs."""
_RULES = {"graphs": Whole(4, MOST), "seed": Whole(0, MOST_SEED)}


@dataclass(frozen=True)
class Generated:
    """The meaning of a text such as ``planted:core,graphs=100,seed=7:5``.

    Attributes:
        kind, family: ``planted`` and ``core``.
        graphs: number of graphs; ``seed``: the seed, or ``None`` if there is none in the text.
        index: number of the single graph that is meant, or ``None`` for all.
    """

    kind: str
    family: str
    graphs: int
    seed: int | None = None
    index: int | None = None

    @classmethod
    def parse(cls, source: str) -> Generated:
        """Read a text for which :func:`is_generated` is true."""
        kind, _, text = source.partition(":")
        text, colon, index = text.partition(":")
        family, *options = text.split(",")
        given: dict[str, int] = {}
        for option in options:
            name, _, value = option.partition("=")
            if name not in _RULES:
                raise InputError(
                    f"{source!r}: there is no option {name!r}. Give graphs and seed, as in "
                    f"{kind}:{family},graphs=100,seed=7."
                )
            if name in given:
                raise InputError(f"{source!r} gives {name} twice.")
            number = int(value) if _is_number(value) else value
            given[name] = _RULES[name].read(f"{name} of {source!r}", number)
        own = cls(kind, family, given.get("graphs", GRAPHS[kind]), given.get("seed"))
        if not colon:
            return own
        if not _is_number(index) or int(index) >= own.graphs:
            name = source.rpartition(":")[0]
            raise InputError(f"{name} has graphs 0 to {own.graphs - 1}, not {index!r}.")
        return replace(own, index=int(index))

    def read(self) -> Raw:
        """Graphs and targets; the seed is 0 if none is given."""
        from .counted import counted
        from .planted import planted

        make = {"planted": planted, "counts": counted}[self.kind]
        raw = make(self.family, self.graphs, self.seed or 0)
        return raw if self.index is None else raw.take(np.arange(self.graphs) == self.index)


def is_generated(source: str) -> bool:
    """Whether a text names generated graphs."""
    kind, colon, _ = source.partition(":")
    return bool(colon) and kind in GRAPHS


def read_generated(source: str) -> Raw:
    """Graphs and targets for a text such as ``planted:core,seed=7``."""
    return Generated.parse(source).read()


def _is_number(text: str) -> bool:
    return text.isdecimal() and len(text) < DIGITS
