"""Escaping of user-supplied text: one rule for every kind of output.

=================  ==================================================================
terminal           :func:`printable`: no control or text direction characters
messages           :func:`shortened`: an input of thousands of characters is not repeated
CSV                :func:`csv_cell`: no cell that a spreadsheet would evaluate
Markdown           :func:`markdown`: no markup, no column separator
pictures           ``gpnn.plots.save``: no mathematics between dollar signs
HTML               the explorer's page sets text only, never markup
=================  ==================================================================
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["csv_cell", "did_you_mean", "markdown", "plural", "printable", "shortened"]

MAX_WORD, MAX_MESSAGE = 300, 2_000
"""Maximum number of characters of a word and of a whole message."""

_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters; tab and line end stay
    "\u200e\u200f\u202a-\u202e\u2066-\u2069"  # marks that change the direction of text
    "\ud800-\udfff]"  # surrogates, as in file names that are not UTF-8
)
_FORMULA = re.compile(r"[=+\-@\t\r]")
_MARKUP = re.compile(r"([\\`\[<|])")


def printable(text: str) -> str:
    """The text with terminal control characters escaped."""
    return _UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def shortened(text: str, word: int = MAX_WORD, most: int = MAX_MESSAGE) -> str:
    """The text with the middle of long words, and of a long text as a whole, left out."""
    if len(text) > word:
        text = re.sub(rf"\S{{{word + 1},}}", lambda found: _cut(found[0], word), text)
    return _cut(text, most)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most * 2 // 3]} … {text[-(most // 4) :]}"


def plural(count: int, noun: str) -> str:
    """``1 epoch``, ``2 epochs``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def csv_cell(value: Any) -> Any:
    """A value for a CSV file. ``None`` becomes empty, and text that a spreadsheet would evaluate as
    a formula gets a leading apostrophe, as in spreadsheets. Numbers are unchanged."""
    if value is None:
        return ""
    if not isinstance(value, str) or not _FORMULA.match(value):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value


def markdown(text: str) -> str:
    """Escape text for a line or table cell of Markdown: no columns, code, links or HTML."""
    return _MARKUP.sub(r"\\\1", printable(text)).replace("\n", " ")


def did_you_mean(
    name: str, choices: Iterable[str], spelled: Mapping[str, str] | None = None
) -> str:
    """`` Did you mean A or B?`` if there are close matches, else an empty string. ``spelled`` maps
    further lower-case spellings to choices."""
    known = {choice.lower(): choice for choice in choices} | dict(spelled or {})
    close = difflib.get_close_matches(name[:100].lower(), known, n=3, cutoff=0.6)
    meant = dict.fromkeys(known[word] for word in close)
    return f" Did you mean {' or '.join(meant)}?" if meant else ""
