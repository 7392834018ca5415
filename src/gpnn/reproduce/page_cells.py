"""Cells and lines of the tables on pages."""

from __future__ import annotations

from collections.abc import Sequence

from .paper import Figure
from .protocols import Summary

__all__ = ["NONE", "gain_text", "head_of", "line", "mean_and_spread", "number"]

NONE = "—"
"""A cell without a value."""


def head_of(head: Sequence[str]) -> list[str]:
    """The first two lines of a table."""
    return [line(head), f"|{'---|' * len(head)}"]


def line(cells: Sequence[str]) -> str:
    """A line of a table."""
    return f"| {' | '.join(cells)} |"


def mean_and_spread(value: Summary | Figure | None, digits: int) -> str:
    """Mean ± standard deviation."""
    if value is None:
        return NONE
    spread = f" ± {number(value.std, digits)}" if value.std is not None else ""
    return number(value.mean, digits) + spread


def gain_text(gain: Summary | None, digits: int) -> str:
    """Mean ± standard error, with a sign."""
    if gain is None:
        return NONE
    spread = f" ± {number(gain.error, digits)}" if gain.error is not None else ""
    return f"{round(gain.mean, digits) + 0.0:+.{digits}f}{spread}"


def number(value: float | None, digits: int) -> str:
    """A number with so many digits."""
    return NONE if value is None else f"{value:.{digits}f}"
