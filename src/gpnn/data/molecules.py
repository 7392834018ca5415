"""Molecules as graphs with the atom and bond columns of the Open Graph Benchmark.

The columns are those of the ogbg-mol* datasets, so that a model trained on one of them reads
SMILES, and the other way round. A value outside a list takes its last place ("misc").

==================== ============================================================
atom column          values
==================== ============================================================
element              atomic number 1 … 118, less one
chirality            unspecified, clockwise, counter-clockwise, other
neighbours           0 … 10, hydrogens included
charge               -5 … 5, plus five
hydrogens            0 … 8
radical electrons    0 … 4
hybridisation        sp, sp², sp³, sp³d, sp³d²
aromatic, in a ring  no, yes
==================== ============================================================

A bond is its type, stereo and conjugation, joined into one number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..graph.graphs import Graphs
from ..graph.readers.smiles import parse_molecules
from ..graph.readers.undirected import undirected

__all__ = ["ATOM_COLUMNS", "build_molecules", "join_bonds", "parse"]

IntArray = NDArray[np.int64]

ATOM_COLUMNS = (
    *("element", "chirality", "neighbours", "charge", "hydrogens"),
    *("radical electrons", "hybridisation", "aromatic", "in a ring"),
)
_CHIRALITY = ("CHI_UNSPECIFIED", "CHI_TETRAHEDRAL_CW", "CHI_TETRAHEDRAL_CCW", "CHI_OTHER")
_HYBRIDS = ("SP", "SP2", "SP3", "SP3D", "SP3D2")
_BONDS = ("SINGLE", "DOUBLE", "TRIPLE", "AROMATIC")
_STEREO = ("STEREONONE", "STEREOZ", "STEREOE", "STEREOCIS", "STEREOTRANS", "STEREOANY")


def parse(texts: Sequence[str]) -> list[Any]:
    """RDKit's molecules; None for what does not parse or has no atoms."""
    return [molecule if molecule is not None and molecule.GetNumAtoms() else None
            for molecule in parse_molecules(texts)]  # fmt: skip


def build_molecules(molecules: Sequence[Any]) -> tuple[Graphs, IntArray]:
    """The graphs with bonds as edge labels, and the atom columns [atoms, 9]."""
    atoms = [_atom(atom) for molecule in molecules for atom in molecule.GetAtoms()]
    bonds = [_bond(bond) for molecule in molecules for bond in molecule.GetBonds()]
    table = np.array(bonds, np.int64).reshape(-1, 5)
    counts = [molecule.GetNumBonds() for molecule in molecules]
    graphs = Graphs.from_edges(
        table[:, 0].copy(),
        table[:, 1].copy(),
        np.array([molecule.GetNumAtoms() for molecule in molecules], np.int64),
        bounds=np.concatenate(([0], np.cumsum(counts, dtype=np.int64))),
        local=True,
        edge_labels=join_bonds(table[:, 2:]),
    )
    return undirected(graphs), np.array(atoms, np.int64).reshape(-1, len(ATOM_COLUMNS))


def join_bonds(columns: IntArray) -> IntArray:
    """(type, stereo, conjugated) as one number."""
    return (columns[:, 0] * 8 + columns[:, 1]) * 2 + columns[:, 2]


def _place(value: str, known: tuple[str, ...]) -> int:
    return known.index(value) if value in known else len(known)


def _ranged(value: int, low: int, high: int) -> int:
    return value - low if low <= value <= high else high - low + 1


def _atom(atom: Any) -> tuple[int, ...]:
    return (
        _ranged(atom.GetAtomicNum(), 1, 118),
        _place(str(atom.GetChiralTag()), _CHIRALITY),
        _ranged(atom.GetTotalDegree(), 0, 10),
        _ranged(atom.GetFormalCharge(), -5, 5),
        _ranged(atom.GetTotalNumHs(), 0, 8),
        _ranged(atom.GetNumRadicalElectrons(), 0, 4),
        _place(str(atom.GetHybridization()), _HYBRIDS),
        int(atom.GetIsAromatic()),
        int(atom.IsInRing()),
    )


def _bond(bond: Any) -> tuple[int, ...]:
    return (
        bond.GetBeginAtomIdx(),
        bond.GetEndAtomIdx(),
        _place(str(bond.GetBondType()), _BONDS),
        _place(str(bond.GetStereo()), _STEREO),
        int(bond.GetIsConjugated()),
    )
