"""Write figures to files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InputError
from ..files import atomic_path
from ..text import printable, shortened

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["FORMATS", "check_format", "save"]

FORMATS = (".png", ".svg", ".pdf")
MAX_NAME = 120
"""Maximum number of characters of a text in a figure."""


def check_format(path: Path) -> None:
    """Refuse a file name without a known picture suffix, before any work is done."""
    if path.suffix.lower() not in FORMATS:
        raise InputError(
            f"Cannot draw into '{path}': give a name that ends in {', '.join(FORMATS)}."
        )


def show_as_text(figure: Figure) -> None:
    """Show texts literally: dollar signs do not start a formula, and long texts are shortened. The
    tick labels of logarithmic axes are formulas and stay unchanged."""
    from matplotlib.text import Text

    ours = {
        id(label)
        for axes in figure.axes
        for axis in (axes.xaxis, axes.yaxis)
        if axis.get_scale() in ("log", "symlog")
        for label in (*axis.get_ticklabels(), *axis.get_ticklabels(minor=True))
    }
    for artist in figure.findobj(Text):
        if id(artist) not in ours:
            artist.set_parse_math(False)
            artist.set_text(shortened(printable(artist.get_text()), MAX_NAME, MAX_NAME))


def save(figure: Figure, path: Path) -> None:
    """Write the figure atomically; the same figure gives the same bytes."""
    check_format(path)
    show_as_text(figure)
    stamp = {"Date": None} if path.suffix.lower() == ".svg" else None
    if path.suffix.lower() == ".pdf":
        stamp = {"CreationDate": None}
    with atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=150, facecolor="white", metadata=stamp)
