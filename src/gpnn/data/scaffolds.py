"""Groups of equal molecules, and of molecules with the same scaffold."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from .molecules import parse
from .samples import Samples

__all__ = ["canonical", "repeated_molecules", "scaffold_names", "scaffold_of"]

IntArray = NDArray[np.int64]


def repeated_molecules(samples: Samples) -> IntArray | None:
    """A number for every sample, equal for equal molecules; ``None`` if no molecule is repeated, or
    if samples are not molecules given as SMILES."""
    if not samples.from_smiles:
        return None
    names = _canonical(samples.ids) if samples.groups is None else samples.groups
    _, number = np.unique(names, return_inverse=True)
    return None if number.max(initial=-1) + 1 == len(names) else number.astype(np.int64)


def scaffold_of(samples: Samples) -> IntArray:
    """A number for every sample, equal for molecules with the same Bemis–Murcko scaffold."""
    _, number = np.unique(scaffold_names(samples), return_inverse=True)
    return number.astype(np.int64)


def scaffold_names(samples: Samples) -> tuple[str, ...]:
    """The Bemis–Murcko scaffold (rings and their linkers) of every molecule as SMILES without
    stereo; empty if there is no ring."""
    if not samples.from_smiles:
        raise InputError(
            "Scaffolds need molecules given as SMILES. Use --split random or stratified."
        )
    return _scaffolds(samples.ids)


def canonical(texts: tuple[str, ...]) -> tuple[str, ...]:
    """The canonical SMILES of molecules."""
    from rdkit import Chem

    return tuple(Chem.MolToSmiles(molecule) for molecule in parse(texts))


_canonical = lru_cache(maxsize=4)(canonical)


@lru_cache(maxsize=4)
def _scaffolds(texts: tuple[str, ...]) -> tuple[str, ...]:
    from rdkit.Chem.Scaffolds import MurckoScaffold

    return tuple(
        MurckoScaffold.MurckoScaffoldSmiles(mol=molecule, includeChirality=False)
        for molecule in parse(texts)
    )
