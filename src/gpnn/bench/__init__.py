"""``gpnn bench partition``: a benchmark against other graph libraries."""

from .race import run_race
from .report import to_markdown

__all__ = ["run_race", "to_markdown"]
