"""Files of molecules other than delimited text, as columns of text: SDF, Parquet, lists of SMILES.

Every reader gives the names of the columns and the columns; the SMILES are the column ``smiles``.
"""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..graph.readers.files import note, read_bytes

__all__ = ["LISTS", "STDIN", "decimal_commas", "file_kind", "read_parquet", "read_sdf"]

STDIN = "-"
LISTS = (".smi", ".smiles", ".txt")
KINDS = (".csv", ".tsv", *LISTS, ".sdf", ".sd", ".parquet")
Columns = dict[str, list[str]]

_INDEX = re.compile(r"__index_level_\d+__")
_COMMA = re.compile(r"[-+]?\d+(?:,\d+)?(?:[eE][-+]?\d+)?")
_THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2},\d{3}")


def file_kind(path: Path) -> str:
    """The suffix that says how a table is written, without ``.gz``; empty for none of ours."""
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() != ".gz"]
    return suffixes[-1] if suffixes and suffixes[-1] in KINDS else ""


def read_sdf(path: Path) -> tuple[list[str], Columns]:
    """A row per record: its structure as canonical SMILES, and its properties.

    Stereo is taken from the coordinates. A record that RDKit cannot read is a row without SMILES.
    A property named smiles is kept as ``smiles (property)``.
    """
    try:
        from rdkit import Chem, rdBase
    except ImportError:
        raise InputError("SDF needs RDKit. Install it: pip install 'gpnn[mol]'.") from None
    rows: list[dict[str, str]] = []
    with rdBase.BlockLogs():
        for molecule in Chem.ForwardSDMolSupplier(io.BytesIO(read_bytes(path))):
            row = {"smiles": ""}
            if molecule is not None:
                row["smiles"] = Chem.MolToSmiles(molecule)
                title = molecule.GetProp("_Name").strip() if molecule.HasProp("_Name") else ""
                row |= {"name": title} if title else {}
                for key in molecule.GetPropNames():
                    name = f"{key} (property)" if key.lower() == "smiles" else key
                    row[name] = molecule.GetProp(key).strip()
            rows.append(row)
    if not rows:
        raise InputError(f"{path} holds no molecules.")
    names = list(dict.fromkeys(name for row in rows for name in row))
    return names, {name: [row.get(name, "") for row in rows] for name in names}


def read_parquet(path: Path) -> tuple[list[str], Columns]:
    """The columns of a Parquet file as text, empty where missing; without the row numbers that
    pandas keeps in it."""
    try:
        from pyarrow import parquet
    except ImportError:
        raise InputError(
            f"{path} is Parquet, which needs pyarrow: pip install pyarrow. Or save it as CSV."
        ) from None
    try:
        table: Any = parquet.ParquetFile(path).read()
    except FileNotFoundError:
        raise InputError(f"There is no file {path}. Check the path.") from None
    except (OSError, ValueError, NotImplementedError) as error:
        reason = str(error).rstrip(".")
        raise InputError(f"{path} cannot be read as Parquet: {reason}.") from None
    names = [name for name in table.column_names if not _INDEX.fullmatch(name)]
    if twice := [name for name in names if names.count(name) > 1]:
        raise InputError(f"{path} has two columns {twice[0]!r}. Rename one.")
    columns = {name: list(map(_text, table.column(name).to_pylist())) for name in names}
    if not columns or not len(next(iter(columns.values()))):
        raise InputError(f"{path} holds no rows.")
    return list(columns), columns


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return "" if value is None else str(value)


def decimal_commas(path: Path | str, columns: Columns) -> Columns:
    """Numbers written with a comma, such as 1,5, with a point instead; columns that may be
    thousands (all like 1,234) are refused."""
    changed = []
    for name, values in columns.items():
        words = [word for word in values if "," in word]
        if not words or not all(_COMMA.fullmatch(w) or _is_gap(w) for w in values):
            continue
        if all(_THOUSANDS.fullmatch(word) for word in words):
            raise InputError(
                f"{path}: the column {name!r} holds numbers such as {words[0]!r}, which can mean "
                f"{words[0].replace(',', '')} or {words[0].replace(',', '.')}. Write them with a "
                "decimal point and without separators of thousands."
            )
        columns[name] = [word.replace(",", ".") for word in values]
        changed.append(name)
    if changed:
        note(f"{path}: decimal commas were read as points in {', '.join(changed)}.")
    return columns


def _is_gap(word: str) -> bool:
    from .targets import MISSING

    return word.strip().lower() in MISSING
