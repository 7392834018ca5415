"""Molecules as graphs of their heavy atoms, with columns of atoms and bonds.

==================== ============================================================ ==== ====
atom column          values                                                       OGB  full
==================== ============================================================ ==== ====
element              atomic number 1 … 118, less one                              yes  yes
chirality            unspecified, clockwise, counter-clockwise, other             yes
neighbours           0 … 10, hydrogens included                                   yes  yes
charge               -5 … 5, plus five                                            yes  yes
hydrogens            0 … 8                                                        yes  yes
radical electrons    0 … 4                                                        yes  yes
hybridisation        sp, sp², sp³, sp³d, sp³d²                                    yes  yes
aromatic, in a ring  no, yes                                                      yes  yes
stereo centre        none, R, S, without a label                                       yes
smallest ring        0 for none, 3 … 12                                                yes
isotope              no, yes                                                           yes
==================== ============================================================ ==== ====

A bond has a type, stereo and conjugation, and in the full set whether it is in a ring, joined into
one number. A value outside a list gets its last code ("misc").

Molecules read from SMILES have all columns. A model reads the **full** set, without clockwise and
counter-clockwise: these depend on the order of the atoms in the text, while R and S contain the
same information and do not. Models of the ogbg-mol* datasets, and those of gpnn 0.1 and 0.2, read
the nine columns of **OGB** (:func:`select_columns`).

Treatment of molecules: hydrogens written as atoms are removed where RDKit removes them; several
fragments (salts, solvents) stay together as one graph; charges and stereo stay as written, nothing
is neutralised. :func:`count_molecules` counts all of these cases.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..graph.graphs import Graphs
from ..graph.readers.smiles import parse_molecules
from ..graph.readers.undirected import undirected

__all__ = [
    *("ATOM_COLUMNS", "FULL", "OGB", "build_molecules", "count_molecules", "each_molecule"),
    *("join_bonds", "parse", "select_columns"),
]

IntArray = NDArray[np.int64]

ATOM_COLUMNS = (
    *("element", "chirality", "neighbours", "charge", "hydrogens"),
    *("radical electrons", "hybridisation", "aromatic", "in a ring"),
    *("stereo centre", "smallest ring", "isotope"),
)
OGB = tuple(range(9))
FULL = tuple(number for number, name in enumerate(ATOM_COLUMNS) if name != "chirality")
_CHIRALITY = ("CHI_UNSPECIFIED", "CHI_TETRAHEDRAL_CW", "CHI_TETRAHEDRAL_CCW", "CHI_OTHER")
_HYBRIDS = ("SP", "SP2", "SP3", "SP3D", "SP3D2")
_BONDS = ("SINGLE", "DOUBLE", "TRIPLE", "AROMATIC")
_HEAD = np.array([0xDEADBEEF, 0, 16, 4, 0], "<u4").tobytes()
"""First bytes of a serialised molecule: a marker, and the version of the layout."""
GROUP = 128
"""Number of molecules that are read at a time."""
_STEREO = ("STEREONONE", "STEREOZ", "STEREOE", "STEREOCIS", "STEREOTRANS", "STEREOANY")


def parse(texts: Sequence[str]) -> list[Any]:
    """RDKit's molecules; None for texts that do not parse or have no atoms."""
    return [molecule if molecule is not None and molecule.GetNumAtoms() else None
            for molecule in parse_molecules(texts)]  # fmt: skip


def each_molecule(texts: Sequence[str]) -> Iterator[Any]:
    """Like :func:`parse`, in groups: a caller that consumes them one by one releases them while
    they are still in the processor cache."""
    for low in range(0, len(texts), GROUP):
        yield from parse(texts[low : low + GROUP])


def build_molecules(molecules: Iterable[Any]) -> tuple[Graphs, IntArray]:
    """The graphs with bonds as edge labels, and the atom columns [atoms, 12]."""
    left, blocks = iter(molecules), []
    while group := list(islice(left, GROUP)):
        blocks.append(_block(group))
    blocks = blocks or [_block([])]
    sizes, counts, atoms, table = (np.concatenate(part) for part in zip(*blocks, strict=True))
    graphs = Graphs.from_edges(
        table[:, 0].copy(),
        table[:, 1].copy(),
        sizes,
        bounds=np.concatenate(([0], np.cumsum(counts))),
        local=True,
        edge_labels=2 * join_bonds(table[:, 2:5]) + table[:, 5],
    )
    return undirected(graphs), atoms


def _block(molecules: Sequence[Any]) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Number of atoms and of bonds of every molecule, and their columns."""
    sizes = np.array([molecule.GetNumAtoms() for molecule in molecules], np.int64)
    counts = np.array([molecule.GetNumBonds() for molecule in molecules], np.int64)
    atom_ptr, bond_ptr = (np.concatenate(([0], np.cumsum(n))) for n in (sizes, counts))
    atoms = np.zeros((atom_ptr[-1], len(ATOM_COLUMNS)), np.int64)
    table = np.zeros((bond_ptr[-1], 6), np.int64)
    read = _read_bytes(molecules, atom_ptr, bond_ptr, atoms, table)
    for k in np.flatnonzero(~read).tolist():
        atoms[atom_ptr[k] : atom_ptr[k + 1]], table[bond_ptr[k] : bond_ptr[k + 1]] = _rows(
            molecules[k]
        )
    return sizes, counts, atoms, table


def _rows(molecule: Any) -> tuple[IntArray, IntArray]:
    """Atoms and bonds of one molecule, from RDKit's objects."""
    rings = molecule.GetRingInfo()
    atoms = [_atom(atom, rings) for atom in molecule.GetAtoms()]
    bonds = [_bond(bond) for bond in molecule.GetBonds()]
    return np.array(atoms, np.int64), np.array(bonds, np.int64).reshape(-1, 6)


def _read_bytes(
    molecules: Sequence[Any],
    atom_ptr: IntArray,
    bond_ptr: IntArray,
    atoms: IntArray,
    bonds: IntArray,
) -> NDArray[np.bool_]:
    """Fill the rows of molecules from RDKit's binary serialisation, which takes a fifth of the time
    of reading its objects. Returns which molecules were read this way.

    Other versions of the layout are not read. The first molecule is read in both ways; if a number
    differs, all molecules are read from objects.
    """
    from .kernels.molecule_bytes import read_molecules

    read = np.zeros(len(molecules), np.bool_)
    if not len(molecules):
        return read
    parts = [molecule.ToBinary() for molecule in molecules]
    if parts[0][:20] != _HEAD:
        return read
    starts = np.concatenate(([0], np.cumsum(list(map(len, parts)))))
    data = np.frombuffer(b"".join(parts), np.uint8)
    read_molecules(data, starts, atom_ptr, bond_ptr, atoms, bonds, read)
    for v in np.flatnonzero(atoms[:, 1]).tolist():
        k = int(np.searchsorted(atom_ptr, v, side="right")) - 1
        atoms[v, 9] = _centre(molecules[k].GetAtomWithIdx(v - int(atom_ptr[k])))
    first = int(read.argmax())
    if read[first]:
        rows, own = slice(*atom_ptr[first : first + 2]), slice(*bond_ptr[first : first + 2])
        if not all(map(np.array_equal, (atoms[rows], bonds[own]), _rows(molecules[first]))):
            read[:] = False
    return read


def select_columns(nodes: IntArray, graphs: Graphs, width: int) -> tuple[IntArray, Graphs]:
    """Select the columns for a model with ``width`` columns, from molecules that have all columns;
    other molecules stay unchanged."""
    if nodes.shape[1] != len(ATOM_COLUMNS):
        return nodes, graphs
    if width == len(OGB):
        bonds = None if graphs.edge_labels is None else graphs.edge_labels // 2
        return nodes[:, OGB], replace(graphs, edge_labels=bonds)
    return nodes[:, FULL], graphs


def count_molecules(texts: Sequence[str], graphs: Graphs, nodes: IntArray) -> dict[str, int]:
    """Number of molecules with notable properties, by name; nothing is changed."""
    column = dict(zip(ATOM_COLUMNS, nodes.T, strict=True))
    owner = np.repeat(np.arange(len(graphs)), np.diff(graphs.ptr))
    atoms = {
        "with charges": column["charge"] != 5,
        "with stereo centres": column["stereo centre"] > 0,
        "with hydrogens as atoms": column["element"] == 0,
        "with isotopes": column["isotope"] > 0,
        "without carbon": column["element"] == 5,
    }
    counts = {name: len(np.unique(owner[which])) for name, which in atoms.items()}
    counts["without carbon"] = len(graphs) - counts["without carbon"]
    counts["of several fragments (salts)"] = sum("." in text for text in texts)
    counts["with [H] in the text"] = sum("[H]" in text for text in texts)
    return {name: count for name, count in counts.items() if count}


def join_bonds(columns: IntArray) -> IntArray:
    """Join (type, stereo, conjugated) into one number."""
    return (columns[:, 0] * 8 + columns[:, 1]) * 2 + columns[:, 2]


def _place(value: str, known: tuple[str, ...]) -> int:
    return known.index(value) if value in known else len(known)


def _ranged(value: int, low: int, high: int) -> int:
    return value - low if low <= value <= high else high - low + 1


def _atom(atom: Any, rings: Any) -> tuple[int, ...]:
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
        _centre(atom),
        min(rings.MinAtomRingSize(atom.GetIdx()), 12),
        int(atom.GetIsotope() > 0),
    )


def _centre(atom: Any) -> int:
    """0 for no stereo centre, 1 for R, 2 for S, 3 for a stereo centre without label."""
    if str(atom.GetChiralTag()) == "CHI_UNSPECIFIED":
        return 0
    label = atom.GetProp("_CIPCode") if atom.HasProp("_CIPCode") else ""
    return 1 + _place(label, ("R", "S"))


def _bond(bond: Any) -> tuple[int, ...]:
    return (
        bond.GetBeginAtomIdx(),
        bond.GetEndAtomIdx(),
        _place(str(bond.GetBondType()), _BONDS),
        _place(str(bond.GetStereo()), _STEREO),
        int(bond.GetIsConjugated()),
        int(bond.IsInRing()),
    )
