"""SMILES: molecules as graphs of their heavy atoms, one per line or per row of a CSV.

Vertices are RDKit's atoms in the order of the string (hydrogens stay implicit unless written as
atoms), ``node_labels`` are the atomic numbers, and ``edge_labels`` are RDKit's bond type codes: 1,
2, 3 for single, double, triple, 12 for aromatic. Charges and stereochemistry are not kept.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ...errors import InputError
from ..graphs import Graphs
from .files import note, one_of, read_bytes, where
from .undirected import undirected

__all__ = ["parse_molecules", "parse_smiles", "read_smiles", "smiles_column"]

_COLUMNS = ("smiles", "canonical_smiles", "mol", "smi")
_MAX_NOTED = 5
MAX_SMILES = 20_000
"""Maximum length of a SMILES string. RDKit takes 10 s for 20,000 aromatic atoms in a row."""


def parse_smiles(text: str) -> Graphs:
    """Parse one molecule."""
    parsed = parse_molecules([text])[0]
    if parsed is None:
        raise InputError(f"{text!r} is not SMILES that RDKit can read.")
    return _build([parsed], None)


def read_smiles(
    path: Path, column: str | None = None, bad: Literal["raise", "skip"] = "raise"
) -> Graphs:
    """Read the molecules of a ``.smi`` file (SMILES, then an optional name) or of a CSV column.

    Args:
        column: name of the CSV column; by default a column named smiles, canonical_smiles, mol or
            smi, or the first column whose first rows RDKit can parse.
        bad: what to do with rows that do not parse: ``raise``, or ``skip`` with a count.
    """
    if bad not in ("raise", "skip"):
        raise InputError(f"bad must be 'raise' or 'skip', not {bad!r}.")
    text = read_bytes(path).decode("utf-8-sig", errors="replace")
    lines, texts, names = _smi(text) if _is_smi(path) else _csv(path, text, column)
    if _is_smi(path) and column is not None:
        raise InputError(f"{path} has no named columns: leave out column={column!r}.")
    molecules = parse_molecules(texts)
    failed = [k for k, molecule in enumerate(molecules) if molecule is None]
    if failed and bad == "raise":
        raise InputError(
            f"{where(path, lines[failed[0]])}: {texts[failed[0]]!r} is not SMILES that RDKit can "
            f"read ({len(failed)} of {len(texts)} rows). Fix them or use bad='skip'."
        )
    if failed:
        shown = one_of([str(lines[k] + 1) for k in failed[:_MAX_NOTED]])
        more = ", …" if len(failed) > _MAX_NOTED else ""
        note(f"{path}: {len(failed)} of {len(texts)} rows skipped (lines {shown}{more}).")
    kept = [k for k, molecule in enumerate(molecules) if molecule is not None]
    return _build([molecules[k] for k in kept], names and [names[k] for k in kept])


def smiles_column(rows: Sequence[Sequence[str]]) -> int | None:
    """The index of the SMILES column according to the header, or None."""
    header = [word.strip().lower() for word in rows[0]] if rows else []
    return next((header.index(name) for name in _COLUMNS if name in header), None)


def _is_smi(path: Path) -> bool:
    return any(suffix.lower() in (".smi", ".smiles") for suffix in path.suffixes)


def _smi(text: str) -> tuple[list[int], list[str], list[str] | None]:
    rows = [
        (number, line.split(None, 1))
        for number, line in enumerate(text.split("\n"))
        if line.strip() and not line.startswith("#")
    ]
    named = bool(rows) and all(len(words) > 1 for _, words in rows)
    names = [words[1].strip() for _, words in rows] if named else None
    return [number for number, _ in rows], [words[0] for _, words in rows], names


def _csv(path: Path, text: str, column: str | None) -> tuple[list[int], list[str], None]:
    delimiter = "\t" if "\t" in text.split("\n", 1)[0] else ","
    reader = csv.reader(io.StringIO(text), delimiter=delimiter)
    numbered: list[tuple[int, list[str]]] = []
    try:
        numbered.extend((reader.line_num - 1, row) for row in reader if row)
    except csv.Error as error:
        raise InputError(f"{where(path, reader.line_num - 1)}: not a CSV ({error}).") from None
    rows = [row for _, row in numbered]
    if not rows:
        raise InputError(f"{path} is empty: no SMILES.")
    header = [word.strip() for word in rows[0]]
    if column is not None and column not in header:
        raise InputError(f"{path} has no column {column!r}; its columns are {one_of(header)}.")
    at = header.index(column) if column is not None else smiles_column(rows)
    first = 1
    if at is None:
        at, first = _guess(path, rows)
    for line, row in numbered[first:]:
        if len(row) <= at:
            raise InputError(f"{where(path, line)}: expected {at + 1} columns, got {len(row)}.")
    picked = numbered[first:]
    return [line for line, _ in picked], [row[at].strip() for _, row in picked], None


def _guess(path: Path, rows: list[list[str]]) -> tuple[int, int]:
    """The first column whose first rows are SMILES, and the first data row (0 if the header row
    is also a SMILES, else 1)."""
    sample = rows[1:6] or rows[:1]
    for at in range(len(rows[0])):
        words = [row[at].strip() if at < len(row) else "" for row in sample]
        if all(words) and None not in parse_molecules(words):
            return at, 1 if parse_molecules([rows[0][at].strip()])[0] is None else 0
    raise InputError(
        f"{path} has no column of SMILES that can be recognised by its name ({one_of(_COLUMNS)}) "
        "or content. Name it with column=."
    )


def parse_molecules(texts: Sequence[str]) -> list[Any]:
    """RDKit molecules; None for strings that do not parse. RDKit's log messages are suppressed."""
    try:
        from rdkit import Chem, rdBase
    except ImportError:
        raise InputError("SMILES need RDKit. Install it: pip install 'gpnn[mol]'.") from None
    with rdBase.BlockLogs():
        return [Chem.MolFromSmiles(text) if _may_parse(text) else None for text in texts]


def _may_parse(text: str) -> bool:
    """Whether a string can be passed to RDKit: valid Unicode of moderate length."""
    if not 0 < len(text) <= MAX_SMILES:
        return False
    return text.isascii() or not any("\ud800" <= c <= "\udfff" for c in text)


def _build(molecules: Sequence[Any], names: list[str] | None) -> Graphs:
    atoms = [atom.GetAtomicNum() for molecule in molecules for atom in molecule.GetAtoms()]
    bonds = [
        (bond.GetBeginAtomIdx(), bond.GetEndAtomIdx(), int(bond.GetBondType()))
        for molecule in molecules
        for bond in molecule.GetBonds()
    ]
    table = np.array(bonds, np.int64).reshape(-1, 3).T.copy()
    counts = [molecule.GetNumBonds() for molecule in molecules]
    return undirected(
        Graphs.from_edges(
            table[0],
            table[1],
            np.array([molecule.GetNumAtoms() for molecule in molecules], np.int64),
            bounds=np.concatenate(([0], np.cumsum(counts, dtype=np.int64))),
            local=True,
            node_labels=np.array(atoms, np.int64),
            edge_labels=table[2],
            graph_names=names,
        )
    )
