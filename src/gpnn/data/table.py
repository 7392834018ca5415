"""Tables of molecules with targets, one molecule per row, and lists of SMILES.

CSV and TSV (comma, semicolon or tab; decimal points or commas), SDF, Parquet, ``.smi`` and ``.txt``
lists, all except Parquet also as ``.gz``; ``-`` is standard input, a table or a list.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..graph.readers.files import MAX_FILE_BYTES, one_of, where
from ..graph.readers.smiles import smiles_column
from .formats import STDIN, file_kind, read_parquet, read_sdf
from .molecules import build_molecules, count_molecules, each_molecule, parse
from .pieces import Piece, TableFile
from .raw import MOLECULE, Raw, Skipped
from .targets import FEW_TEXTS, column, missing, texts_among_numbers

__all__ = [
    *("TableChoice", "choose_targets", "is_table", "read_columns", "read_molecules"),
    *("read_piece", "read_table", "smiles_name", "split_parts"),
]

IntArray = NDArray[np.int64]

PIECE = 65_536
_TARGETS = ("target", "label", "labels", "y", "class", "activity")
_NAMES = ("id", "name", "names", "index", "mol_id", "molid", "cid", "cas", "inchi", "inchikey")
_SPLITS = {"train": "train", "training": "train", "val": "valid", "valid": "valid",
           "validation": "valid", "test": "test"}  # fmt: skip


@dataclass(frozen=True)
class TableChoice:
    """User's choice of columns and files of a table.

    Attributes:
        smiles: the column of SMILES; by default a column of that name, else the first that parses
            as SMILES.
        usual: the column of SMILES in training, used if it is present.
        split: the column that defines the split; by default a column named split.
        valid, test: further tables with the validation and test rows.
        descriptors: numeric columns that a network reads in addition to the molecule.
    """

    smiles: str | None = None
    usual: str | None = None
    split: str | None = None
    valid: Path | None = None
    test: Path | None = None
    descriptors: tuple[str, ...] = ()


def is_table(path: Path) -> bool:
    return str(path) == STDIN or bool(file_kind(path))


def read_table(
    path: Path, targets: Sequence[str] | None = None, choice: TableChoice | None = None
) -> Raw:
    """Read the molecules and targets of a file.

    A column named ``split``, or the one chosen, defines the split: ``train``, ``valid``, ``test``,
    or ``training``, ``val``, ``validation``. If it has no validation rows, some of the training
    rows are drawn for validation.

    Args:
        targets: the target columns; ``None`` to detect them, an empty list for none.
    """
    choice = choice or TableChoice()
    names, columns, ragged = _all_files(path, choice)
    given = choice.smiles or (choice.usual if choice.usual in names else None)
    at = smiles_name(path, names, columns, given)
    texts = columns.pop(at)
    split = split_parts(path, columns, ragged, choice.split)
    extra = {name: _descriptor(path, names, columns, name) for name in choice.descriptors}
    targets = choose_targets(path, names, columns, at, targets, extra)
    wanted = {name: columns[name] for name in targets}
    return read_molecules(texts, wanted, split, at, _reasons(names, ragged), extra)


def choose_targets(
    path: Path,
    names: list[str],
    columns: Mapping[str, list[str]],
    smiles: str,
    targets: Sequence[str] | None,
    extra: Collection[str] = (),
) -> list[str]:
    """The target columns: those given, or detected among the remaining columns."""
    if targets is None:
        left = {name: values for name, values in columns.items() if name not in extra}
        targets = _find_targets(path, left) if left or len(names) > 1 else []
    if smiles in targets:
        raise InputError(f"The column {smiles!r} holds the SMILES. Name another one with --target.")
    if both := [name for name in targets if name in extra]:
        raise InputError(f"The column {both[0]!r} cannot be a target and a descriptor.")
    absent = [name for name in targets if name not in columns]
    if absent:
        raise InputError(
            f"{path} has no column {absent[0]!r} to learn or check; its columns are "
            f"{one_of(names)}."
        )
    return list(targets)


def read_piece(
    path: Path,
    names: list[str],
    piece: Piece,
    smiles: str,
    targets: Sequence[str],
    choice: TableChoice,
) -> Raw:
    """The molecules and targets of some rows of a table; rows are numbered in the whole table."""
    columns, first = piece.columns, piece.first
    extra = {name: _descriptor(path, names, columns, name) for name in choice.descriptors}
    reasons = _reasons(names, {row - first: got for row, got in piece.ragged.items()})
    wanted = {name: columns[name] for name in targets}
    raw = read_molecules(columns[smiles], wanted, None, smiles, reasons, extra)
    skipped = tuple(replace(one, row=one.row + first) for one in raw.skipped)
    return replace(raw, rows=raw.rows + first, skipped=skipped)


def _reasons(names: list[str], ragged: Mapping[int, int]) -> dict[int, str]:
    return {
        row: f"{got} of {len(names)} columns" if got else "blank line"
        for row, got in ragged.items()
    }


def read_molecules(
    texts: Sequence[str],
    targets: Mapping[str, Sequence[str]] | None = None,
    split: Sequence[str] | None = None,
    smiles: str | None = None,
    reasons: Mapping[int, str] | None = None,
    descriptors: Mapping[str, NDArray[np.float64]] | None = None,
) -> Raw:
    """Molecules from SMILES; those that do not parse are skipped, with the reason."""
    why = dict(reasons or {})

    def read() -> Iterator[Any]:
        for row, molecule in enumerate(each_molecule(texts)):
            if molecule is None and row not in why:
                bad = f"{texts[row]!r} is not SMILES that RDKit can read"
                why[row] = bad if texts[row] else "no SMILES"
            if row not in why:
                yield molecule

    graphs, atoms = build_molecules(read())
    rows = np.array([row for row in range(len(texts)) if row not in why], np.int64)
    parts = np.array(split)[rows] if split is not None else None
    ids = tuple(texts[row] for row in rows.tolist())
    return Raw(
        graphs=graphs,
        kind=MOLECULE,
        nodes=atoms,
        targets={
            name: column([values[row] for row in rows]) for name, values in (targets or {}).items()
        },
        ids=ids,
        rows=rows,
        skipped=tuple(Skipped(row, texts[row], why[row]) for row in sorted(why)),
        split=None
        if parts is None
        else {part: np.flatnonzero(parts == part) for part in ("train", "valid", "test")},
        smiles=smiles,
        from_smiles=True,
        descriptors={name: values[rows] for name, values in (descriptors or {}).items()},
        counted=count_molecules(ids, graphs, atoms),
    )


def _all_files(
    path: Path, choice: TableChoice
) -> tuple[list[str], dict[str, list[str]], dict[int, int]]:
    """The columns of a table, followed by those of the validation and test tables; row numbers
    continue."""
    names, columns, ragged = read_columns(path)
    more = {part: f for part, f in (("valid", choice.valid), ("test", choice.test)) if f}
    if not more:
        return names, columns, ragged
    clash = choice.split or next((name for name in names if name.lower() == "split"), None)
    if clash is not None:
        raise InputError(
            f"The column {clash!r} of {path} and --valid or --test both split the rows. Give one."
        )
    count = len(columns[names[0]])
    parts = ["train"] * count
    for part, other in more.items():
        own, its, short = read_columns(other)
        if missing_ := [name for name in names if name not in own]:
            raise InputError(f"{other} has no column {missing_[0]!r}, which {path} has.")
        ragged |= {row + count: fields for row, fields in short.items()}
        for name in names:
            columns[name] = columns[name] + its[name]
        count = len(columns[names[0]])
        parts += [part] * (count - len(parts))
    columns["split"] = parts
    return names, columns, ragged


def _descriptor(
    path: Path, names: list[str], columns: Mapping[str, list[str]], name: str
) -> NDArray[np.float64]:
    """A numeric column, NaN where missing."""
    if name not in columns:
        raise InputError(
            f"{path} has no column {name!r} for the descriptors; its columns are {one_of(names)}. "
            "Computed ones are rdkit and morgan."
        )
    values = column(columns[name])
    if values.dtype.kind != "f":
        words = [word for word in values.tolist() if column([word]).dtype.kind != "f"]
        raise InputError(f"Descriptors are numbers, and the column {name!r} holds {words[0]!r}.")
    return values


def read_columns(path: Path) -> tuple[list[str], dict[str, list[str]], dict[int, int]]:
    """Column names, columns of text, and the number of fields of rows that have too few or too
    many. A blank line between rows is a row without fields, so that row numbers do not change."""
    kind = file_kind(path)
    if kind == ".sdf" or kind == ".sd":
        return *read_sdf(path), {}
    if kind == ".parquet":
        return *read_parquet(path), {}
    table = TableFile(path)
    if table.length > MAX_FILE_BYTES:
        raise InputError(
            f"{path} is larger than {MAX_FILE_BYTES // 2**30} GiB. Split it, or see gpnn prepare."
        )
    pieces = list(table.pieces(PIECE))
    columns = {name: [w for one in pieces for w in one.columns[name]] for name in table.names}
    return table.names, columns, {row: got for one in pieces for row, got in one.ragged.items()}


def smiles_name(path: Path, names: list[str], columns: Mapping[str, Any], given: str | None) -> str:
    """The column of SMILES: the one given, one of that name, or the first that parses as SMILES."""
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


def split_parts(
    path: Path, columns: dict[str, list[str]], ragged: Mapping[int, int], given: str | None
) -> list[str] | None:
    """Remove the chosen column, or one named split, and return ``train``, ``valid`` or ``test`` for
    every row; ``None`` if there is no such column."""
    name = given or next((name for name in columns if name.lower() == "split"), None)
    if name is None:
        return None
    if name not in columns:
        raise InputError(f"{path} has no column {name!r} that could split it.")
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
    candidates = {
        name: column(values) for name, values in columns.items() if not _is_name(name, values)
    }
    if not candidates:
        raise InputError(f"{path} has no column to learn besides the SMILES. Add one.")
    binary = all(
        values.dtype.kind == "f" and np.isin(values[~missing(values)], (0, 1)).all()
        for values in candidates.values()
    )
    if len(candidates) == 1 or binary:
        return list(candidates)
    raise InputError(
        f"{path} has several columns that could be the target: {one_of(list(candidates))}. "
        "Name one with --target."
    )


def _is_name(name: str, values: list[str]) -> bool:
    """Whether a column identifies the rows: by its header, or as text without repetitions."""
    if name.lower() in _NAMES:
        return True
    words = [value for value in values if value]
    if len(set(words)) < len(words) or column(values).dtype.kind == "f":
        return False
    return len(texts_among_numbers(column(values))) > FEW_TEXTS * len(words)
