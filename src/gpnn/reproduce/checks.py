"""TOML files of recipes and search spaces."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..files import exists, reading

__all__ = ["read_toml", "refuse_unknown"]


def refuse_unknown(content: Any, what: str, known: set[str]) -> None:
    """Raise an error if a table has unknown keys."""
    if not isinstance(content, Mapping):
        raise InputError(f"{what} must be a table; got {content!r}.")
    unknown = sorted(set(content) - known)
    if unknown:
        raise InputError(
            f"{', '.join(unknown)} is not a field of {what}. Fields are {', '.join(sorted(known))}."
        )


def read_toml(path: Path, what: str) -> dict[str, Any]:
    """Return the content of a TOML file; an invalid file raises an error with the reason."""
    if not exists(path):
        raise InputError(f"Cannot read {what} {path}: there is no such file.")
    with reading(path):
        content = path.read_bytes()
    try:
        return tomllib.loads(content.decode())
    except RecursionError:
        raise InputError(f"{path} is not {what}: brackets are nested too deeply.") from None
    except ValueError as error:  # not TOML, not UTF-8
        raise InputError(f"{path} is not TOML: {error}. Fix the file.") from None
