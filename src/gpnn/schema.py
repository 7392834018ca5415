"""Validation of files written by gpnn: rules for nested content, and readers that apply them.

A file may have been edited or damaged. The content is checked field by field when it is read, and
an error names the field: ``model.json: members[0].config.hidden must be …``. The rules of single
values are in :mod:`gpnn.options`.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from .errors import InputError
from .files import reading, write_text

__all__ = [
    *("Anything", "Field", "Lines", "ListOf", "Maybe", "Numbers", "Table", "Text"),
    *("parse_json", "read_json", "read_lines", "read_rows", "write_lines"),
]

MAX_BYTES = 2**30
"""Maximum size of a JSON file."""


class Field(Protocol):
    """A rule: returns the value as plain Python, or raises an error with the field's name."""

    def read(self, name: str, value: Any) -> Any: ...


@dataclass(frozen=True)
class Anything:
    """Any value, for fields that nothing is computed from."""

    def read(self, name: str, value: Any) -> Any:  # noqa: ARG002
        return value


@dataclass(frozen=True)
class Text:
    """A string, of the given length if any."""

    length: int | None = None

    def read(self, name: str, value: Any) -> str:
        if not isinstance(value, str) or self.length not in (None, len(value)):
            long = "" if self.length is None else f" of {self.length} characters"
            raise InputError(f"{name} must be a text{long}; got {value!r}.")
        return value


@dataclass(frozen=True)
class Maybe:
    """A value, or ``None``."""

    rule: Field

    def read(self, name: str, value: Any) -> Any:
        return None if value is None else self.rule.read(name, value)


@dataclass(frozen=True)
class ListOf:
    """A list of at least ``least`` values of one kind."""

    rule: Field
    least: int = 0

    def read(self, name: str, value: Any) -> list[Any]:
        if not isinstance(value, list | tuple) or len(value) < self.least:
            enough = f" of {self.least} or more" if self.least else ""
            raise InputError(f"{name} must be a list{enough}; got {value!r}.")
        return [self.rule.read(f"{name}[{k}]", item) for k, item in enumerate(value)]


@dataclass(frozen=True)
class Numbers:
    """A list of 64-bit integers of at least ``low``, checked as a whole for speed."""

    low: int = -(2**63)

    def read(self, name: str, value: Any) -> list[int]:
        if not isinstance(value, list | tuple) or set(map(type, value)) - {int}:
            raise InputError(f"{name} must be a list of whole numbers; got {value!r}.")
        if value and not (min(value) >= self.low and max(value) < 2**63):
            raise InputError(f"{name} holds {min(value)} to {max(value)}: out of range.")
        return list(value)


@dataclass(frozen=True)
class Table:
    """A mapping of named fields.

    Attributes:
        needed, optional: rules of required and of optional fields.
        more: rule of all other fields; ``None`` refuses them.
    """

    needed: Mapping[str, Field] = field(default_factory=dict)
    optional: Mapping[str, Field] = field(default_factory=dict)
    more: Field | None = None

    def read(self, name: str, value: Any) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise InputError(f"{name} must be a table of fields; got {value!r}.")
        rules = {**self.needed, **self.optional}
        inside = f"{name}." if name else ""
        for key in self.needed:
            if key not in value:
                raise InputError(f"{inside}{key} is missing.")
        for key in value:
            if key not in rules and self.more is None:
                raise InputError(f"{inside}{key} is unknown to this version of gpnn.")
        return {
            key: rules.get(key, self.more or Anything()).read(f"{inside}{key}", one)
            for key, one in value.items()
        }


def parse_json(text: str | bytes, rule: Field, name: str = "") -> Any:
    """Parse JSON text and check it against a rule."""
    try:
        content = json.loads(text, parse_constant=_refuse_constant)
    except RecursionError:
        raise InputError("not JSON: brackets are nested too deeply.") from None
    except ValueError as error:
        raise InputError(f"not JSON ({error}).") from None
    return rule.read(name, content)


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")


def _content(path: Path) -> bytes:
    with reading(path):
        if path.stat().st_size > MAX_BYTES:
            raise InputError(f"{path} is larger than {MAX_BYTES // 2**30} GiB.")
        return path.read_bytes()


def read_json(path: Path, rule: Field, fix: str) -> Any:
    """Read and check a JSON file; ``fix`` is appended to the error message."""
    content = _content(path)
    try:
        return parse_json(content, rule)
    except InputError as error:
        raise InputError(f"{path} is damaged: {error} {fix}") from None


@dataclass(frozen=True)
class Lines:
    """The lines of a JSON lines file, and the sizes of its complete lines and of an incomplete
    last line, which is ignored."""

    rows: list[Any]
    whole: int
    torn: int


def read_rows(path: Path, rules: Field | tuple[Field, Field], fix: str) -> list[Any]:
    """Read a log of JSON lines, each of them finished work. An incomplete last line is left out
    with a note: its work is done again."""
    lines = read_lines(path, rules, fix)
    if lines.torn:
        warnings.warn(
            f"The last line of {path} is incomplete: its work is done again.", stacklevel=2
        )
    return lines.rows


def write_lines(path: Path, rows: Iterable[Any]) -> None:
    """Write a log of JSON lines, as a whole."""
    lines = (json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows)
    write_text(path, "".join(lines))


def read_lines(path: Path, rules: Field | tuple[Field, Field], fix: str) -> Lines:
    """Read a JSON lines file; two rules apply to the first line and to the other lines."""
    content = _content(path)
    end = content.rfind(b"\n") + 1
    first, others = rules if isinstance(rules, tuple) else (rules, rules)
    rows = []
    for number, line in enumerate(content[:end].split(b"\n")[:-1], start=1):
        try:
            rows.append(parse_json(line, first if number == 1 else others))
        except InputError as error:
            raise InputError(f"Line {number} of {path} is damaged: {error} {fix}") from None
    return Lines(rows, end, len(content) - end)
