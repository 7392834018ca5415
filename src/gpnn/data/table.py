"""A CSV of SMILES with targets, one molecule a row; also ``.smi`` files and SMILES themselves."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..graph.readers.files import note, one_of, read_bytes, where
from ..graph.readers.smiles import smiles_column
from .molecules import build_molecules, parse
from .raw import MOLECULE, Raw, Skipped
from .targets import column, missing

__all__ = ["is_table", "read_columns", "read_molecules", "read_table"]

IntArray = NDArray[np.int64]

_SUFFIXES = (".csv", ".tsv", ".smi", ".smiles")
_TARGETS = ("target", "label", "labels", "y", "class", "activity")
_NAMES = ("id", "name", "names", "index", "mol_id", "molid", "cid", "cas", "inchi", "inchikey")
_SPLITS = {"train": "train", "training": "train", "val": "valid", "valid": "valid",
           "validation": "valid", "test": "test"}  # fmt: skip


def is_table(path: Path) -> bool:
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() != ".gz"]
    return bool(suffixes) and suffixes[-1] in _SUFFIXES


def read_table(
    path: Path,
    smiles: str | None = None,
    targets: Sequence[str] | None = None,
    usual: str | None = None,
) -> Raw:
    """The molecules and targets of a file.

    A column named ``split`` decides which rows train, validate and test: ``train``, ``valid``,
    ``test``, or ``training``, ``val``, ``validation``. Where it names no row to validate with, some
    of the rows to train on are drawn for that.

    Args:
        smiles: the column of SMILES; else one named so, else the first that reads as SMILES.
        targets: the target columns; ``None`` finds them, an empty list wants none.
        usual: the column of SMILES if it is there, for a model that was trained on it.
    """
    if any(suffix.lower() in (".smi", ".smiles") for suffix in path.suffixes):
        lines = [line.split() for line in _decode(path).splitlines() if not line.startswith("#")]
        return read_molecules([words[0] if words else "" for words in _without_ends(lines)])
    names, columns, ragged = read_columns(path)
    at = _smiles(path, names, columns, smiles or (usual if usual in names else None))
    texts = columns.pop(at)
    split = _split(path, columns, ragged)
    if targets is None:
        targets = _find_targets(path, columns)
    if at in targets:
        raise InputError(f"The column {at!r} holds the SMILES. Name another one with --target.")
    absent = [name for name in targets if name not in columns]
    if absent:
        raise InputError(
            f"{path} has no column {absent[0]!r} to learn or check; its columns are "
            f"{one_of(names)}."
        )
    reasons = {
        row: f"{got} of {len(names)} columns" if got else "blank line"
        for row, got in ragged.items()
    }
    return read_molecules(texts, {name: columns[name] for name in targets}, split, at, reasons)


def read_molecules(
    texts: Sequence[str],
    targets: Mapping[str, Sequence[str]] | None = None,
    split: Sequence[str] | None = None,
    smiles: str | None = None,
    reasons: Mapping[int, str] | None = None,
) -> Raw:
    """Molecules of SMILES; those that do not parse are skipped, with the reason."""
    molecules = parse(texts)
    why = dict(reasons or {})
    for row, molecule in enumerate(molecules):
        if molecule is None and row not in why:
            bad = f"{texts[row]!r} is not SMILES that RDKit can read"
            why[row] = bad if texts[row] else "no SMILES"
    rows = np.array([row for row in range(len(texts)) if row not in why], np.int64)
    graphs, atoms = build_molecules([molecules[row] for row in rows.tolist()])
    parts = np.array(split)[rows] if split is not None else None
    return Raw(
        graphs=graphs,
        kind=MOLECULE,
        nodes=atoms,
        targets={name: column(values)[rows] for name, values in (targets or {}).items()},
        ids=tuple(texts[row] for row in rows.tolist()),
        rows=rows,
        skipped=tuple(Skipped(row, texts[row], why[row]) for row in sorted(why)),
        split=None
        if parts is None
        else {part: np.flatnonzero(parts == part) for part in ("train", "valid", "test")},
        smiles=smiles,
    )


def read_columns(path: Path) -> tuple[list[str], dict[str, list[str]], dict[int, int]]:
    """Column names, columns of text, and the fields of rows that have too few or too many. A blank
    line between rows is a row without fields, so that rows keep their numbers."""
    text = _decode(path)
    first = text.lstrip("\r\n").split("\n", 1)[0]
    delimiter = max(("\t", ";", ","), key=first.count)
    reader = csv.reader(io.StringIO(text), delimiter=delimiter)
    try:
        rows = _without_ends(list(reader))
    except csv.Error as error:
        raise InputError(f"{where(path, reader.line_num - 1)}: not a CSV ({error}).") from None
    if len(rows) < 2:
        raise InputError(f"{path} holds {'a header and no' if rows else 'no header and no'} rows.")
    names = [word.strip() for word in rows.pop(0)]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise InputError(f"{path} has two columns named {twice[0]!r}. Rename one.")
    width = len(names)
    ragged = {
        row: len(fields)
        for row, fields in enumerate(rows)
        if len(fields) < width or any(field.strip() for field in fields[width:])
    }
    padded = [fields + [""] * (len(names) - len(fields)) for fields in rows]
    columns = {name: [row[k].strip() for row in padded] for k, name in enumerate(names)}
    return names, columns, ragged


def _without_ends(rows: list[list[str]]) -> list[list[str]]:
    """Without the blank lines before the first row and after the last."""
    full = [number for number, row in enumerate(rows) if row]
    return rows[full[0] : full[-1] + 1] if full else []


def _decode(path: Path) -> str:
    """The text of a file: UTF-8, or Latin-1 with a note."""
    content = read_bytes(path)
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise InputError(f"{path} is UTF-16. Save it as UTF-8.")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        note(f"{path} is not UTF-8: it was read as Latin-1.")
        return content.decode("latin-1")


def _smiles(path: Path, names: list[str], columns: Mapping[str, Any], given: str | None) -> str:
    if given is not None:
        if given not in names:
            raise InputError(f"{path} has no column {given!r}; its columns are {one_of(names)}.")
        return given
    known = smiles_column([names])
    if known is not None:
        return names[known]
    for name in names:
        sample = [word for word in columns[name][:20] if word]
        if sample and not all(map(str.isdigit, sample)) and None not in parse(sample):
            if name and not name.isdigit() and None not in parse([name]):
                raise InputError(
                    f"{path} has no header: its first line holds {name!r}, which is a molecule "
                    "itself. Add a line with the names of the columns."
                )
            return name
    raise InputError(
        f"{path} has no column of SMILES; its columns are {one_of(names)}. Name it with --smiles."
    )


def _split(
    path: Path, columns: dict[str, list[str]], ragged: Mapping[int, int]
) -> list[str] | None:
    """A column named split, taken out: train, valid or test in every row that is read."""
    name = next((name for name in columns if name.lower() == "split"), None)
    if name is None:
        return None
    words = columns.pop(name)
    parts = [_SPLITS.get(word.lower(), "") for word in words]
    for row in ragged:
        parts[row] = parts[row] or "train"  # it is skipped
    if "" in parts:
        row = parts.index("")
        raise InputError(
            f"{where(path, row + 1)}: the column {name!r} holds {words[row]!r}. It decides which "
            f"rows train, and takes {one_of(list(_SPLITS))}. Fix the row, or rename the column if "
            "it means something else."
        )
    if "train" not in parts:
        raise InputError(f"{path}: the column {name!r} leaves no row to train on.")
    return parts


def _find_targets(path: Path, columns: Mapping[str, list[str]]) -> list[str]:
    usual = [name for name in columns if name.lower() in _TARGETS]
    if len(usual) == 1:
        return usual
    found = {name: column(values) for name, values in columns.items() if not _is_name(name, values)}
    if not found:
        raise InputError(f"{path} has no column to learn besides the SMILES. Add one.")
    binary = all(
        values.dtype.kind == "f" and np.isin(values[~missing(values)], (0, 1)).all()
        for values in found.values()
    )
    if len(found) == 1 or binary:
        return list(found)
    raise InputError(
        f"{path} has several columns that could be the target: {one_of(list(found))}. "
        "Name one with --target."
    )


def _is_name(name: str, values: list[str]) -> bool:
    """Whether a column names the rows: by its header, or as text that never repeats."""
    if name.lower() in _NAMES:
        return True
    words = [value for value in values if value]
    return column(values).dtype.kind != "f" and len(set(words)) == len(words)
