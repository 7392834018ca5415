"""Vectorised parsing of the fields of a text file into numbers.

A field is a run of bytes other than space, tab, comma and line ends. A million lines take a
fraction of a second, and the line of every field is kept for error messages.
"""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from .files import where

__all__ = ["Fields", "float_table", "integer_table"]

Ints = NDArray[np.int64]

_SEPARATOR = np.zeros(256, np.bool_)
_SEPARATOR[list(b" \t,\r\n")] = True
_MAX_DIGITS = 18


@dataclass(frozen=True, slots=True)
class Fields:
    """All fields of a text: bytes ``start[i]:stop[i]``, on 0-based line ``line[i]``."""

    text: NDArray[np.uint8]
    start: Ints
    stop: Ints
    line: Ints

    @classmethod
    def of(cls, raw: bytes) -> Fields:
        text = np.frombuffer(raw, np.uint8)
        inside = (~_SEPARATOR[text]).view(np.int8)
        ends = np.flatnonzero(np.diff(inside, prepend=np.int8(0), append=np.int8(0)))
        start, stop = ends[::2], ends[1::2]
        return cls(text, start, stop, np.searchsorted(np.flatnonzero(text == 10), start))

    def __len__(self) -> int:
        return len(self.start)

    def take(self, which: Ints | slice) -> Fields:
        return Fields(self.text, self.start[which], self.stop[which], self.line[which])

    def string(self, index: int) -> str:
        return bytes(self.text[self.start[index] : self.stop[index]]).decode(errors="replace")

    def integers(self) -> tuple[Ints, NDArray[np.bool_]]:
        """The value of every field, and whether it is an integer of up to 18 digits."""
        negative = self.text[self.start] == ord("-") if len(self) else np.zeros(0, np.bool_)
        digits = self.stop - self.start - negative
        good = (digits > 0) & (digits <= _MAX_DIGITS)
        value = np.zeros(len(self), np.int64)
        longest = int(digits.max(initial=0, where=good))
        for place in range(longest):
            here = good & (digits > place)
            digit = self.text[np.where(here, self.stop - 1 - place, 0)] - np.uint8(48)
            good &= ~here | (digit <= 9)
            value += np.where(here & good, digit, 0).astype(np.int64) * 10**place
        return np.where(negative, -value, value), good


def integer_table(raw: bytes, path: Path, columns: int | None = None) -> Ints:
    """A table of integers, shape [lines, columns]; blank lines are skipped.

    ``columns`` is inferred from the first line by default.
    """
    fields = Fields.of(raw)
    if columns is None:
        columns = int(np.count_nonzero(fields.line == fields.line[0])) if len(fields) else 1
    values, good = fields.integers()
    if not good.all():
        bad = int(np.flatnonzero(~good)[0])
        raise InputError(
            f"{where(path, int(fields.line[bad]))}: expected a whole number, got "
            f"{fields.string(bad)!r}."
        )
    lines, counts = np.unique(fields.line, return_counts=True)
    if (counts != columns).any():
        bad = int(np.flatnonzero(counts != columns)[0])
        raise InputError(
            f"{where(path, int(lines[bad]))}: expected {columns} numbers, got {counts[bad]}. "
            "The file is truncated or of another kind."
        )
    return values.reshape(-1, columns)


def float_table(raw: bytes, path: Path) -> NDArray[np.float64]:
    """A comma- or space-separated table of numbers, shape [lines, columns]; empty means NaN."""
    text = raw.strip(b"\r\n ")
    if b"," in text:
        text = re.sub(rb"(?m)(^|,)[ \t]*(?=,|\r?$)", rb"\1nan", text)
    text = text.replace(b",", b" ")
    if not text:
        return np.zeros((0, 1))
    try:
        return np.loadtxt(io.BytesIO(text), dtype=np.float64, ndmin=2, comments=None)
    except ValueError as error:
        row = re.search(r"row (\d+)", str(error))
        line = int(row[1]) if row else 0
        raise InputError(f"{where(path, line)} or near it: {error}.") from None
