"""What a recipe may hold."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import InputError

__all__ = ["RANGES", "check_counts", "number", "read_toml", "refuse_unknown"]

LEAST = {
    "layers": 1, "hidden": 1, "d": 1, "batch_size": 1, "epochs": 1, "steps": 0, "halve_every": 0,
    "seeds": 1, "trials": 1,
}  # fmt: skip
MOST = {"layers": 32, "d": 5}
"""What a network takes; said here again, so that reading a recipe does not import torch."""
RANGES = {"lr": (1e-9, math.inf), "weight_decay": (0.0, math.inf), "dropout": (0.0, 0.999)}


def refuse_unknown(content: Any, what: str, known: set[str]) -> None:
    """Refuse a table with keys that mean nothing."""
    if not isinstance(content, Mapping):
        raise InputError(f"{what} must be a table; got {content!r}.")
    unknown = sorted(set(content) - known)
    if unknown:
        raise InputError(
            f"{', '.join(unknown)} is no field of {what}. Fields are {', '.join(sorted(known))}."
        )


def check_counts(held: Any, prefix: str) -> None:
    """Refuse counts that are no whole numbers, too small, or more than a network takes."""
    for name, least in LEAST.items():
        value = getattr(held, name, least)
        most = MOST.get(name, math.inf)
        if type(value) is not int or not least <= value <= most:
            bounds = f"{least} to {most}" if name in MOST else f"{least} or more"
            raise InputError(f"{prefix}{name} must be a whole number, {bounds}; got {value!r}.")


def number(name: str, value: Any, prefix: str) -> float:
    """The value as a float, if it is a number in its range."""
    low, high = RANGES[name]
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        most = "" if high == math.inf else f" and {high} at most"
        raise InputError(f"{prefix}{name} must be a number, at least {low}{most}; got {value!r}.")
    return float(value)


def read_toml(path: Path, what: str) -> dict[str, Any]:
    """The content of a TOML file, or words on what is wrong with it."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"Cannot read {what} {path}: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not TOML: {error}. Fix the file.") from None
