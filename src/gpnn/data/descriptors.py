r"""Descriptors: numbers of a whole molecule, which the network reads in addition to its graph.

============ ==================================================================================
``rdkit``    RDKit's list of descriptors: weight, surface, counts of groups, … (about 200)
``morgan``   counts of circular fragments of radius up to two bonds, hashed to 2,048 bins
a column     of the table, such as a temperature or a measured value
============ ==================================================================================

A number x becomes asinh((x - m) / s), with the median m and the spread s (from quartiles) of its
column; a missing value becomes 0, which is the median. Fragments become log(1 + count). m and s are
taken over all rows of the table; labels are not used.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..options import Number
from ..schema import ListOf, Table, Text
from .molecules import parse

__all__ = [
    "COMPUTED",
    "DESCRIPTORS",
    "Descriptors",
    "column_names",
    "morgan_counts",
    "rdkit_descriptors",
]

Floats = NDArray[np.float64]

COMPUTED = ("rdkit", "morgan")
BITS, RADIUS = 2_048, 2
_COLUMN = "column:"


def column_names(wanted: Sequence[str]) -> tuple[str, ...]:
    """The requested descriptors that are columns of the table."""
    return tuple(name for name in wanted if name not in COMPUTED)


@dataclass(frozen=True)
class Descriptors:
    """The descriptors that a model reads; stored with the model.

    Attributes:
        names: ``rdkit`` descriptors by their name, ``morgan``, and ``column:NAME``.
        centre, spread: of every name; 0 and 1 for ``morgan``.
    """

    names: tuple[str, ...]
    centre: tuple[float, ...]
    spread: tuple[float, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of a table that are needed."""
        return tuple(n.removeprefix(_COLUMN) for n in self.names if n.startswith(_COLUMN))

    @property
    def asked(self) -> tuple[str, ...]:
        """The descriptors as requested: ``rdkit``, ``morgan``, columns."""
        own = len(self.names) > len(self.columns) + ("morgan" in self.names)
        return ("rdkit",) * own + ("morgan",) * ("morgan" in self.names) + self.columns

    @property
    def width(self) -> int:
        return len(self.names) + (BITS - 1 if "morgan" in self.names else 0)

    @property
    def summary(self) -> str:
        """A description in words."""
        own = len(self.names) - len(self.columns) - ("morgan" in self.names)
        parts = [f"{own} of RDKit"] * (own > 0)
        parts += [f"{BITS:,} Morgan fragments"] * ("morgan" in self.names)
        return ", ".join([*parts, *(f"column {name}" for name in self.columns)])

    @classmethod
    def fit(
        cls, wanted: Sequence[str], smiles: Sequence[str], columns: Mapping[str, Floats]
    ) -> tuple[Descriptors, NDArray[np.float32]]:
        """Descriptors and their values for these molecules; constant ones are left out."""
        if twice := [name for name in wanted if list(wanted).count(name) > 1]:
            raise InputError(f"The descriptors {twice[0]!r} are given twice.")
        descriptors: dict[str, Floats] = {}
        if absent := [name for name in column_names(wanted) if name not in columns]:
            raise InputError(
                f"There is no column of numbers {absent[0]!r} for the descriptors. Computed ones "
                "are rdkit and morgan."
            )
        if "rdkit" in wanted:
            names = rdkit_names()
            descriptors |= dict(zip(names, rdkit_descriptors(smiles, names).T, strict=True))
        descriptors |= {f"{_COLUMN}{name}": columns[name] for name in column_names(wanted)}
        kept, centre, spread = [], [], []
        for name, values in descriptors.items():
            known = values[np.isfinite(values)]
            if len(known) and known.min() < known.max():
                low, middle, high = np.quantile(known, (0.25, 0.5, 0.75))
                kept.append(name)
                centre.append(float(middle))
                spread.append(float((high - low) / 1.35 or known.std()) or 1.0)
            elif name.startswith(_COLUMN):
                raise InputError(f"The column {name.removeprefix(_COLUMN)!r} never varies.")
        if "morgan" in wanted:
            kept, centre, spread = [*kept, "morgan"], [*centre, 0.0], [*spread, 1.0]
        fitted = cls(tuple(kept), tuple(centre), tuple(spread))
        return fitted, fitted._encode(descriptors, smiles)

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Descriptors:
        """Restore from the result of ``asdict``."""
        names, centre, spread = (tuple(content[key]) for key in ("names", "centre", "spread"))
        if not len(names) == len(centre) == len(spread):
            raise InputError("The descriptors have not as many centres as names.")
        return cls(names, centre, spread)

    def encode(self, smiles: Sequence[str], columns: Mapping[str, Floats]) -> NDArray[np.float32]:
        """The values for other molecules, [molecules, width]."""
        if absent := [name for name in self.columns if name not in columns]:
            raise InputError(
                f"The model reads the column {absent[0]!r} beside the molecule, and the source "
                "has none. Give it a table with that column."
            )
        names = [name for name in self.names if name != "morgan" and not name.startswith(_COLUMN)]
        descriptors = {f"{_COLUMN}{name}": columns[name] for name in self.columns}
        if names:
            descriptors |= dict(zip(names, rdkit_descriptors(smiles, names).T, strict=True))
        return self._encode(descriptors, smiles)

    def _encode(self, found: Mapping[str, Floats], smiles: Sequence[str]) -> NDArray[np.float32]:
        blocks = []
        for name, centre, spread in zip(self.names, self.centre, self.spread, strict=True):
            if name == "morgan":
                blocks.append(np.log1p(morgan_counts(smiles)))
            else:
                values = np.where(np.isfinite(found[name]), found[name], centre)
                blocks.append(np.arcsinh((values - centre) / spread)[:, None])
        if not blocks:
            raise InputError(
                "No descriptor varies over these molecules. Leave them out (--descriptors none)."
            )
        return np.concatenate(blocks, axis=1).astype(np.float32)


DESCRIPTORS = Table(
    {"names": ListOf(Text()), "centre": ListOf(Number(-math.inf)), "spread": ListOf(Number())}
)
"""Schema of the result of ``asdict`` in JSON."""


def rdkit_names() -> list[str]:
    """The descriptors of the installed RDKit."""
    from rdkit.Chem import Descriptors as rdkit

    return [name for name, _ in rdkit.descList]


def rdkit_descriptors(smiles: Sequence[str], names: Sequence[str]) -> Floats:
    """RDKit's descriptors by name, NaN where undefined, [molecules, names]."""
    from rdkit.Chem import Descriptors as rdkit

    known = dict(rdkit.descList)
    if absent := [name for name in names if name not in known]:
        raise InputError(
            f"The model reads RDKit's descriptor {absent[0]}, which the installed RDKit does not "
            "have. Install the version that it was trained with."
        )
    functions = [
        partial(known[name], force=False) if name.endswith("EStateIndex") else known[name]
        for name in names
    ]  # four extremes of the same numbers, which RDKit would otherwise compute four times
    out = np.full((len(smiles), len(names)), np.nan)
    for row, molecule in enumerate(parse(smiles)):
        for place, function in enumerate(functions):
            try:
                out[row, place] = function(molecule)
            except (ValueError, RuntimeError, ZeroDivisionError):  # not defined for this molecule
                continue
    out[~np.isfinite(out)] = np.nan
    return out


def morgan_counts(smiles: Sequence[str]) -> Floats:
    """Number of occurrences of every circular fragment, [molecules, 2048]."""
    from rdkit.Chem import rdFingerprintGenerator

    maker = rdFingerprintGenerator.GetMorganGenerator(radius=RADIUS, fpSize=BITS)
    rows = [maker.GetCountFingerprintAsNumPy(molecule) for molecule in parse(smiles)]
    return np.array(rows, np.float64).reshape(-1, BITS)
