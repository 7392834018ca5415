r"""Learned schemes: parts as a small learned function of invariants, fixed after training.

.. math::
    \lambda(v) = \mathrm{argmax}_{j < k}\; s_\theta(\varphi(v))_j, \qquad
    s_\theta(x) = \max\big(0,\; \tfrac{\log(1 + x) - m}{\sigma} A + a\big)\, B + b

:math:`\varphi(v)` is the *profile* of a vertex, integers that the graph core computes: degree, core
number, onion layer, triangles, and the probabilities that a random walk returns after 4 and 6
steps, all in bins (``--scheme profile`` partitions by the profile itself). A learned scheme depends
on a vertex only through :math:`\varphi`. It is therefore invariant, and no finer than ``profile``.

:class:`~gpnn.nn.learned.LearnedGPNN` learns :math:`\theta` with the network. Afterwards the scheme
is used like any other: it is registered under a name that contains a hash of :math:`\theta`, and is
stored with the model.
"""

from __future__ import annotations

import hashlib
import json
import re
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..options import Number
from ..schema import ListOf, Table
from .graphs import Graphs
from .registry import Scheme, get_scheme, install_scheme
from .walks import walk_encodings

__all__ = [
    *("PROFILE", "LearnedScheme", "known_learned", "learned_parts", "part_name", "profile"),
    "smallest",
]

IntArray = NDArray[np.int64]
Floats = NDArray[np.float64]

PROFILE = ("degree", "core", "onion layer", "triangles", "return in 4", "return in 6")
"""Columns of a profile, binned: counts as 0, 1, 2, 3, 4-7, 8-15, …; probabilities in eighths."""
WIDTH = 16
MOST = 16
"""Maximum number of parts of a learned scheme."""
OFFSET = 0.3137
"""Shift of the bin boundaries of probabilities. No return probability of a small graph lies on a
boundary, so that rounding never decides the bin."""


def learned_parts(scheme: str) -> int:
    """k of a scheme ``learned-k`` that is not yet learned; 0 for any other scheme."""
    match = re.fullmatch(r"learned-([0-9]+)", scheme)
    if match is None:
        return 0
    count = int(match[1])
    if not 2 <= count <= MOST:
        raise InputError(f"learned-k needs k from 2 to {MOST}; got {scheme!r}.")
    return count


def profile(graphs: Graphs) -> IntArray:
    """φ of every vertex, [vertices, 6]."""
    from .kernels.peel import peel
    from .kernels.triangles import triangles

    core, layer = peel(graphs.ptr, graphs.indptr, graphs.indices)
    counts = [graphs.degree, core, layer, triangles(graphs.indptr, graphs.indices)]
    back = walk_encodings(graphs, 5)[:, [2, 4]]
    eighths = np.floor(8 * back + OFFSET).astype(np.int64)
    return np.column_stack([*map(_binned, counts), eighths])


def _binned(counts: NDArray[Any]) -> IntArray:
    """Bins of counts: 0 to 3 unchanged, then one bin per doubling."""
    counts = np.asarray(counts, np.int64)
    doubled = np.frexp(counts.astype(np.float64))[1] + 1  # 4 → 4, 8 → 5
    return np.where(counts < 4, counts, doubled).astype(np.int64)


def smallest(column: int, number: int) -> float:
    """The smallest value in a bin of a column of the profile; for probabilities a bound."""
    if column < PROFILE.index("return in 4"):
        return float(number) if number < 4 else 2.0 ** (number - 2)
    return max(0.0, (number - OFFSET) / 8)


@dataclass(frozen=True)
class LearnedScheme:
    """θ: shift and scale of log(1 + φ), [6] each; A [6, 16], a [16], B [16, k], b [k]."""

    shift: Floats
    scale: Floats
    first: Floats
    first_bias: Floats
    second: Floats
    second_bias: Floats

    @property
    def parts(self) -> int:
        return len(self.second_bias)

    def scores(self, colours: IntArray) -> Floats:
        """s_θ of every profile, [rows, k]."""
        x = (np.log1p(colours.astype(np.float64)) - self.shift) / self.scale
        hidden = np.maximum(0.0, x @ self.first + self.first_bias)
        scores: Floats = hidden @ self.second + self.second_bias
        return scores

    def of_profiles(self, colours: IntArray) -> IntArray:
        """The part of every profile, [rows]."""
        best: IntArray = self.scores(colours).argmax(1).astype(np.int64)
        return best

    def __call__(self, graphs: Graphs) -> IntArray:
        return self.of_profiles(profile(graphs))

    @cached_property
    def scheme(self) -> Scheme:
        """The scheme, registered under its name so that every command can use it."""
        digest = hashlib.sha256(json.dumps(self.to_dict()).encode()).hexdigest()[:8]
        return install_scheme(
            Scheme(
                f"learned-{self.parts}-{digest}",
                self,
                f"learned: one of {self.parts} parts, by a small network of the profile",
                "O(|E|^1.5 + |V| · |E|) per graph",
                "no finer than profile",
                1,
                _describe,
            )
        )

    def to_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name).tolist() for name in _FIELDS}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> LearnedScheme:
        checked = _RULE.read("learned", content)
        for name in ("first", "second"):
            if len({len(row) for row in checked[name]}) != 1:
                raise InputError(f"learned.{name} must be a table with rows of equal length.")
        arrays = {name: np.array(checked[name], np.float64) for name in _FIELDS}
        width, parts = len(arrays["first_bias"]), len(arrays["second_bias"])
        count = len(PROFILE)
        shapes = ((count,), (count,), (count, width), (width,), (width, parts), (parts,))
        if tuple(a.shape for a in arrays.values()) != shapes or (arrays["scale"] <= 0).any():
            raise InputError("learned holds arrays of other shapes.")
        return cls(**arrays)


_FIELDS = ("shift", "scale", "first", "first_bias", "second", "second_bias")
_ROW = ListOf(Number(-np.inf))
_RULE = Table({name: ListOf(_ROW) if name in ("first", "second") else _ROW for name in _FIELDS})


def part_name(number: int) -> str:
    """A letter, so that names of learned parts differ from the numbers of parts."""
    return string.ascii_uppercase[number]


def _describe(row: Sequence[int]) -> str:
    return part_name(row[0])


def known_learned(scheme: str) -> LearnedScheme | None:
    """The learned scheme with the given name, or ``None`` for other schemes."""
    try:
        colour = get_scheme(scheme).colour
    except InputError:
        return None
    return colour if isinstance(colour, LearnedScheme) else None
