"""A table of molecules of any length, read in two passes: a first pass over the whole table, then
piece by piece.

The first pass determines properties of the whole table: the encoding and the columns of the file,
the number of rows, the columns with decimal commas, and the SHA-256 of its bytes, by which a
resumed run checks that the table is still the same.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import shutil
import sys
import tempfile
import zlib
from codecs import getincrementaldecoder
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any

from ..errors import InputError
from ..files import reading
from ..graph.readers.files import note, where
from ..sizes import check_unpacked
from .formats import (
    LISTS,
    STDIN,
    Columns,
    DecimalCommas,
    file_kind,
    parquet_columns,
    sdf_names,
    sdf_rows,
)
from .molecules import parse

__all__ = ["Piece", "TableFile"]

CHUNK = 2**20


@dataclass(frozen=True)
class Piece:
    """Consecutive rows of a table.

    Attributes:
        first: the number of the first row, from 0.
        columns: their texts, by name.
        ragged: number of fields of rows with too few or too many fields, by row number in the
            table; 0 for a blank line.
    """

    first: int
    columns: Columns
    ragged: dict[int, int]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))


class TableFile:
    """A table of molecules: CSV, TSV, lists of SMILES and SDF, also as ``.gz``; Parquet; ``-`` is
    standard input, which is copied to a temporary file.

    Attributes:
        path: the path as shown in messages.
        names: names of the columns.
        rows: number of rows; for an SDF, counted by its separators.
        sha256, length: hash and number of the unpacked bytes.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.kind = path, file_kind(path)
        self.commas: set[str] = set()
        self._copy: IO[bytes] | None = None
        if str(path) == STDIN:
            self._copy = tempfile.NamedTemporaryFile(prefix="gpnn-")  # noqa: SIM115
            shutil.copyfileobj(sys.stdin.buffer, self._copy)
            self._copy.flush()
        self._file = path if self._copy is None else Path(self._copy.name)
        self.sha256, self.length, self._encoding = self._bytes()
        if self.kind in (".sdf", ".sd"):
            with self._stream() as stream:
                self.names, self.rows = sdf_names(path, stream)
        elif self.kind == ".parquet":
            batches = [(list(c), len(next(iter(c.values()), []))) for c in parquet_columns(path)]
            self.names, self.rows = (batches[0][0] if batches else []), sum(n for _, n in batches)
            if not self.rows:
                raise InputError(f"{path} holds no rows.")
        else:
            self._list = self._is_list()
            self._scan()

    def pieces(self, size: int, first: int = 0) -> Iterator[Piece]:
        """All pieces of ``size`` rows from row ``first``, a multiple of ``size``, on."""
        pieces = self._pieces(size)
        return (piece for piece in pieces if piece.first >= first)

    @cached_property
    def head(self) -> Columns:
        """The columns of the first rows, used to detect the column of SMILES."""
        return next(self.pieces(20)).columns

    @contextmanager
    def _stream(self) -> Iterator[IO[bytes]]:
        packed = self._file.suffix.lower() == ".gz"
        with reading(self.path):
            try:
                with gzip.open(self._file) if packed else self._file.open("rb") as stream:
                    yield stream  # type: ignore[misc]
            except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                raise InputError(
                    f"{self.path} is truncated or not gzip ({error}). Get the file again."
                ) from None

    def _bytes(self) -> tuple[str, int, str]:
        """Digest and length of the content, and its encoding: UTF-8, or Latin-1 with a warning."""
        total, length, encoding = hashlib.sha256(), 0, "utf-8-sig"
        text = self.kind not in (".sdf", ".sd", ".parquet")
        decoder = getincrementaldecoder("utf-8")()
        with self._stream() as stream:
            packed = self._file.stat().st_size
            while part := stream.read(CHUNK):
                if text and not length and part[:2] in (b"\xff\xfe", b"\xfe\xff"):
                    raise InputError(f"{self.path} is UTF-16. Save it as UTF-8.")
                length += len(part)
                total.update(part)
                check_unpacked(self.path, packed, length)
                if text and encoding != "latin-1":
                    encoding = _encoding(decoder, part, encoding)
        if text and encoding != "latin-1" and _encoding(decoder, b"", encoding, True) == "latin-1":
            encoding = "latin-1"
        if encoding == "latin-1":
            note(f"{self.path} is not UTF-8: it was read as Latin-1.")
        return total.hexdigest(), length, encoding

    @contextmanager
    def _lines(self, newline: str) -> Iterator[Iterator[str]]:
        with self._stream() as stream:
            yield io.TextIOWrapper(stream, self._encoding, newline=newline)

    def _is_list(self) -> bool:
        """Whether the file has one molecule per line instead of a header and columns."""
        if self.kind not in LISTS and str(self.path) != STDIN:
            return False
        with self._lines("") as lines:
            first = next((words for words in _words(lines) if words), None)
        if first is None:
            return False
        return self.kind in LISTS[:2] or parse(first[:1])[0] is not None

    def _scan(self) -> None:
        """Count the rows; raise if the file is not a table."""
        if self._list:
            self.names = ["smiles"]
            with self._lines("") as lines:
                self.rows = sum(1 for _ in _without_ends(_words(lines)))
            return
        with self._lines("\n") as lines:
            first = next((text for line in lines if (text := line.lstrip("\r\n"))), "")
        self._delimiter = max(("\t", ";", ","), key=first.count)
        rows = self._delimited()
        header = next(rows, None)
        self.names = [word.strip() for word in header or ()]
        if twice := [name for name in self.names if self.names.count(name) > 1]:
            raise InputError(f"{self.path} has two columns named {twice[0]!r}. Rename one.")
        self.rows, commas, width = 0, DecimalCommas(self.path, self.names), len(self.names)
        long, example = 0, (0, 0)
        for fields in rows:
            if len(fields) > width and any(map(str.strip, fields[width:])):
                example = example if long else (self.rows, len(fields))
                long += 1
            commas.see(fields)
            self.rows += 1
        if not self.rows:
            content = "a header and no" if header else "no header and no"
            raise InputError(f"{self.path} holds {content} rows.")
        if 2 * long > self.rows:
            raise InputError(
                f"{where(self.path, example[0] + 1)}: {example[1]} fields under {width} headings, "
                f"in {long:,} of {self.rows:,} rows. Put fields that hold {self._delimiter!r}, "
                "such as numbers with decimal commas, in quotes, or delimit the table by "
                "semicolons."
            )
        self.commas = commas.decide()

    def _delimited(self) -> Iterator[list[str]]:
        """The fields of every row, the header first."""
        with self._lines("\n") as lines:
            reader = csv.reader(lines, delimiter=self._delimiter)
            try:
                yield from _without_ends(reader)
            except csv.Error as error:
                place = where(self.path, reader.line_num - 1)
                raise InputError(f"{place}: not a CSV ({error}).") from None

    def _pieces(self, size: int) -> Iterator[Piece]:
        first = 0
        if self.kind == ".parquet":
            for columns in parquet_columns(self._file, size):
                yield (piece := Piece(first, columns, {}))
                first += len(piece)
            return
        if self.kind in (".sdf", ".sd"):
            with self._stream() as stream:
                records = sdf_rows(stream)
                while chosen := list(islice(records, size)):
                    columns = {name: [row.get(name, "") for row in chosen] for name in self.names}
                    yield Piece(first, columns, {})
                    first += len(chosen)
            return
        if self._list:
            with self._lines("") as lines:
                words = _without_ends(_words(lines))
                while rows := list(islice(words, size)):
                    yield Piece(first, {"smiles": [row[0] if row else "" for row in rows]}, {})
                    first += len(rows)
            return
        fields = self._delimited()
        next(fields)
        while rows := list(islice(fields, size)):
            yield self._piece(first, rows)
            first += len(rows)

    def _piece(self, first: int, rows: list[list[str]]) -> Piece:
        width = len(self.names)
        ragged = {
            first + row: len(own)
            for row, own in enumerate(rows)
            if len(own) < width or (len(own) > width and any(map(str.strip, own[width:])))
        }
        padded = [own if len(own) >= width else own + [""] * (width - len(own)) for own in rows]
        columns = {name: [own[k].strip() for own in padded] for k, name in enumerate(self.names)}
        for name in self.commas:
            columns[name] = [word.replace(",", ".") for word in columns[name]]
        return Piece(first, columns, ragged)


def _encoding(decoder: Any, part: bytes, known: str, final: bool = False) -> str:
    try:
        decoder.decode(part, final)
    except UnicodeDecodeError:
        return "latin-1"
    return known


def _words(lines: Iterator[str]) -> Iterator[list[str]]:
    """The words of every line of a list; lines that begin with # are ignored."""
    whole = chain.from_iterable(line.splitlines() for line in lines)
    return (line.split() for line in whole if not line.startswith("#"))


def _without_ends(rows: Iterator[list[str]]) -> Iterator[list[str]]:
    """Without the blank lines before the first row and after the last."""
    blank, begun = 0, False
    for row in rows:
        if not row:
            blank += begun
            continue
        yield from ([] for _ in range(blank))
        blank, begun = 0, True
        yield row
