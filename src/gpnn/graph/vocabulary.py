"""Vocabularies: indices for the colours that a model was fitted on."""

from __future__ import annotations

import hashlib
import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import CountedWarning, InputError
from .partition import Partition, unique_rows
from .schemes import get_scheme

__all__ = ["Encoding", "UnseenColours", "Vocabulary"]

IntArray = NDArray[np.int64]


class UnseenColours(CountedWarning):
    """The input has colours, or pairs of adjacent colours, that are not in the vocabulary."""


@dataclass(frozen=True)
class Encoding:
    """Indices of the parts, and counts of what the vocabulary does not contain.

    Attributes:
        index: for every vertex, 0 … k-1 for a known colour and k for an unseen colour.
        unseen_vertices: number of vertices with an unseen colour.
        unseen_pairs: number of directed edges between known colours that were never adjacent.
    """

    index: IntArray
    unseen_vertices: int
    unseen_pairs: int


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """The known colours in ascending order, and the pairs of adjacent colours, if known.

    An unseen colour gets the reserved index ``size``, never that of another colour. Whether an edge
    is within or cross depends on the raw colours (``Partition.cross``), not on these indices: two
    different unseen colours share the reserved index but remain two parts.
    """

    scheme: str
    colours: IntArray
    pairs: IntArray | None = None

    @classmethod
    def fit(cls, partition: Partition) -> Vocabulary:
        """The vocabulary of all colours and adjacent pairs in ``partition``."""
        graphs = partition.graphs
        keys = partition.part[graphs.rows].astype(np.int64) * partition.num_parts
        keys += partition.part[graphs.indices]
        return cls(partition.scheme.name, partition.parts, np.unique(keys))

    @property
    def size(self) -> int:
        """Number of known colours; also the index of the reserved part."""
        return len(self.colours)

    @cached_property
    def digest(self) -> str:
        """A hash of the scheme's name and the colours."""
        hasher = hashlib.sha256(f"{self.scheme} {self.colours.shape}".encode())
        hasher.update(np.ascontiguousarray(self.colours, np.int64).tobytes())
        return hasher.hexdigest()[:8]

    @property
    def labels(self) -> list[str]:
        scheme = get_scheme(self.scheme)
        return [scheme.describe(row) for row in self.colours.tolist()] + ["unseen"]

    def encode(self, partition: Partition) -> Encoding:
        """Indices for the vertices of ``partition``; warns once if anything is unseen."""
        if partition.scheme.name != self.scheme:
            raise InputError(
                f"This vocabulary is for scheme '{self.scheme}'; the partition was made with "
                f"'{partition.scheme.name}'. Partition with the same scheme."
            )
        index = self._look_up(partition.parts)[partition.part]
        graphs = partition.graphs
        unseen_pairs = 0
        if self.pairs is not None:
            left, right = index[graphs.rows], index[graphs.indices]
            known = (left < self.size) & (right < self.size)
            keys = left[known] * self.size + right[known]
            unseen_pairs = int(np.isin(keys, self.pairs, invert=True).sum())
        unseen_vertices = int((index == self.size).sum())
        if unseen_vertices or unseen_pairs:
            scheme = self.scheme.replace("{", "{{").replace("}", "}}")
            text = (
                f"Scheme '{scheme}': {{:,}} of {{:,}} vertices are in parts that were not seen in "
                "training and share one reserved part; {:,} directed edges join parts that were "
                "not adjacent in training."
            )
            warning = UnseenColours(text, unseen_vertices, len(index), unseen_pairs)
            warnings.warn(warning, stacklevel=2)
        return Encoding(index, unseen_vertices, unseen_pairs)

    def _look_up(self, rows: IntArray) -> IntArray:
        if not len(rows) or not self.size:
            return np.full(len(rows), self.size, np.int64)
        if rows.shape[1] != self.colours.shape[1]:
            raise InputError(
                f"Colours of scheme '{self.scheme}' have {self.colours.shape[1]} entries here and "
                f"{rows.shape[1]} in the partition: the scheme has changed since it was fitted."
            )
        _, place = unique_rows(np.concatenate([self.colours, rows]))
        index = np.full(place.max() + 1, self.size, np.int64)
        index[place[: self.size]] = np.arange(self.size)
        return index[place[self.size :]]

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, ready for JSON."""
        return {
            "scheme": self.scheme,
            "colours": self.colours.tolist(),
            "pairs": None if self.pairs is None else self.pairs.tolist(),
        }

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Vocabulary:
        try:
            colours = np.array(content["colours"], np.int64)
            pairs = content["pairs"]
            pairs = None if pairs is None else np.array(pairs, np.int64)
            colours = colours.reshape(len(colours), -1 if colours.size else 1)
            vocabulary = cls(str(content["scheme"]), colours, pairs)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise InputError(
                f"Not a vocabulary: {error!r}. Give the content that Vocabulary.to_dict() wrote."
            ) from None
        if colours.ndim != 2 or len(unique_rows(colours)[0]) != len(colours):
            raise InputError("Not a vocabulary: a colour is named twice.")
        return vocabulary
