"""From figure to file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InputError
from ..files import atomic_path

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["FORMATS", "check_format", "save"]

FORMATS = (".png", ".svg", ".pdf")


def check_format(path: Path) -> None:
    """Refuse a name whose ending is no picture format, before any work is done."""
    if path.suffix.lower() not in FORMATS:
        raise InputError(
            f"Cannot draw into '{path}': give a name that ends in {', '.join(FORMATS)}."
        )


def save(figure: Figure, path: Path) -> None:
    """Write the picture at once or not at all; the same figure gives the same bytes."""
    check_format(path)
    stamp = {"Date": None} if path.suffix.lower() == ".svg" else None
    if path.suffix.lower() == ".pdf":
        stamp = {"CreationDate": None}
    with atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=150, facecolor="white", metadata=stamp)
