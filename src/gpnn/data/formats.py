"""Files of molecules other than delimited text, as columns of text: SDF, Parquet, lists of SMILES.

Every reader returns the column names and the columns; the SMILES are in the column ``smiles``.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..graph.readers.files import note, read_bytes

__all__ = [
    *("LISTS", "STDIN", "DecimalCommas", "file_kind", "parquet_columns", "read_parquet"),
    *("read_sdf", "sdf_names", "sdf_rows"),
]

STDIN = "-"
LISTS = (".smi", ".smiles", ".txt")
KINDS = (".csv", ".tsv", *LISTS, ".sdf", ".sd", ".parquet")
Columns = dict[str, list[str]]

_INDEX = re.compile(r"__index_level_\d+__")
_COMMA = re.compile(r"[-+]?\d+(?:,\d+)?(?:[eE][-+]?\d+)?")
_THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2},\d{3}")
_SDF_NAME = re.compile(rb"<([^>]*)>")


def file_kind(path: Path) -> str:
    """The suffix that determines the format of a table, without ``.gz``; empty if unknown."""
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() != ".gz"]
    return suffixes[-1] if suffixes and suffixes[-1] in KINDS else ""


def read_sdf(path: Path) -> tuple[list[str], Columns]:
    """One row per record: its structure as canonical SMILES, and its properties."""
    rows = list(sdf_rows(io.BytesIO(read_bytes(path))))
    if not rows:
        raise InputError(f"{path} holds no molecules.")
    names = list(dict.fromkeys(name for row in rows for name in row))
    return names, {name: [row.get(name, "") for row in rows] for name in names}


def sdf_rows(stream: Any) -> Iterator[dict[str, str]]:
    """The SMILES and properties of every record.

    Stereo is taken from the coordinates. A record that RDKit cannot read is a row without SMILES.
    A property named smiles is kept as ``smiles (property)``.
    """
    try:
        from rdkit import Chem, rdBase
    except ImportError:
        raise InputError("SDF needs RDKit. Install it: pip install 'gpnn[mol]'.") from None
    supplier = Chem.ForwardSDMolSupplier(stream)
    while True:
        with rdBase.BlockLogs():
            try:
                molecule = next(supplier)
            except StopIteration:
                return
        row = {"smiles": ""}
        if molecule is not None:
            row["smiles"] = Chem.MolToSmiles(molecule)
            title = molecule.GetProp("_Name").strip() if molecule.HasProp("_Name") else ""
            row |= {"name": title} if title else {}
            for key in molecule.GetPropNames():
                row[_property(key)] = molecule.GetProp(key).strip()
        yield row


def sdf_names(path: Path, stream: Any) -> tuple[list[str], int]:
    """The columns and the number of records of an SDF, from its text, without parsing molecules."""
    names, records, title, pending = dict.fromkeys(("smiles", "name")), 0, True, False
    for line in stream:
        if line.startswith(b"$$$$"):
            records, title, pending = records + 1, True, False
            continue
        pending = pending or bool(line.strip())
        if not title and line.startswith(b">") and (match := _SDF_NAME.search(line)):
            names[_property(match[1].decode("utf-8", "replace"))] = None
        title = False
    if not records + pending:
        raise InputError(f"{path} holds no molecules.")
    return list(names), records + pending


def _property(key: str) -> str:
    return f"{key} (property)" if key.lower() == "smiles" else key


def read_parquet(path: Path) -> tuple[list[str], Columns]:
    """The columns of a Parquet file as text, empty where missing."""
    table: Columns = {}
    for columns in parquet_columns(path):
        for name, values in columns.items():
            table.setdefault(name, []).extend(values)
    if not table or not len(next(iter(table.values()))):
        raise InputError(f"{path} holds no rows.")
    return list(table), table


def parquet_columns(path: Path, size: int = 65_536) -> Iterator[Columns]:
    """The columns of ``size`` rows at a time, without the index columns of pandas."""
    try:
        from pyarrow import parquet
    except ImportError:
        raise InputError(
            f"{path} is Parquet, which needs pyarrow: pip install pyarrow. Or save it as CSV."
        ) from None
    try:
        file: Any = parquet.ParquetFile(path)
        names = [name for name in file.schema_arrow.names if not _INDEX.fullmatch(name)]
        if twice := [name for name in names if names.count(name) > 1]:
            raise InputError(f"{path} has two columns {twice[0]!r}. Rename one.")
        for batch in file.iter_batches(size):
            columns = batch.to_pydict()
            yield {name: list(map(_text, columns[name])) for name in names}
    except FileNotFoundError:
        raise InputError(f"There is no file {path}. Check the path.") from None
    except (OSError, ValueError, NotImplementedError) as error:
        if isinstance(error, InputError):
            raise
        reason = str(error).rstrip(".")
        raise InputError(f"{path} cannot be read as Parquet: {reason}.") from None


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return "" if value is None else str(value)


class DecimalCommas:
    """Detects, row by row, numeric columns with decimal commas, such as 1,5. Columns whose commas
    may separate thousands (all like 1,234) raise."""

    def __init__(self, path: Path | str, names: list[str]) -> None:
        self.path, self.names = path, names
        self.open = dict(enumerate(names))
        self.first: dict[int, str] = {}
        self.decimal: set[int] = set()

    def see(self, fields: list[str]) -> None:
        for place in list(self.open):
            word = fields[place].strip() if place < len(fields) else ""
            if not _COMMA.fullmatch(word) and not _is_gap(word):
                del self.open[place]
            elif "," in word:
                self.first.setdefault(place, word)
                if not _THOUSANDS.fullmatch(word):
                    self.decimal.add(place)

    def decide(self) -> set[str]:
        """The columns with decimal commas; issues a warning that names them."""
        places = [place for place in self.open if place in self.first]
        for place in places:
            if place not in self.decimal:
                word = self.first[place]
                raise InputError(
                    f"{self.path}: the column {self.names[place]!r} holds numbers such as "
                    f"{word!r}, which can mean {word.replace(',', '')} or "
                    f"{word.replace(',', '.')}. Write them with a decimal point and without "
                    "separators of thousands."
                )
        names = [self.names[place] for place in places]
        if names:
            note(f"{self.path}: decimal commas were read as points in {', '.join(names)}.")
        return set(names)


def _is_gap(word: str) -> bool:
    from .targets import MISSING

    return word.strip().lower() in MISSING
