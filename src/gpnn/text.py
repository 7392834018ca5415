"""Texts of users in what is written: one rule for every place they may end up.

=================  ==================================================================
terminal           :func:`printable`: no control characters, nothing that turns text round
messages           :func:`shortened`: an input of thousands of characters is not repeated
CSV                :func:`csv_cell`: no cell that a spreadsheet would compute
Markdown           :func:`markdown`: no markup, no column separator
pictures           ``gpnn.plots.save``: no mathematics between dollars
HTML               the explorer's page sets text only, never markup
=================  ==================================================================
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["csv_cell", "did_you_mean", "markdown", "printable", "shortened"]

MAX_WORD, MAX_MESSAGE = 300, 2_000
"""Characters of a word and of a whole message that are repeated."""

_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters; tab and line end stay
    "\u200e\u200f\u202a-\u202e\u2066-\u2069"  # marks that turn the direction of text
    "\ud800-\udfff]"  # halves of characters, as in file names that are not UTF-8
)
_FORMULA = re.compile(r"[=+\-@\t\r]")
_MARKUP = re.compile(r"([\\`\[<|])")


def printable(text: str) -> str:
    """The text with characters that a terminal would obey written as escapes."""
    return _UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def shortened(text: str, word: int = MAX_WORD, most: int = MAX_MESSAGE) -> str:
    """The text with the middle left out of words, and of a whole, that are too long."""
    if len(text) > word:
        text = re.sub(rf"\S{{{word + 1},}}", lambda found: _cut(found[0], word), text)
    return _cut(text, most)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most * 2 // 3]} … {text[-(most // 4) :]}"


def csv_cell(value: Any) -> Any:
    """A value for a CSV: nothing for ``None``; a text that a spreadsheet would take for a formula
    gets an apostrophe in front, as spreadsheets write it themselves. Numbers stay."""
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
    """A text in a table or a line of Markdown: no column, code, link or HTML of its own."""
    return _MARKUP.sub(r"\\\1", printable(text)).replace("\n", " ")


def did_you_mean(
    name: str, choices: Iterable[str], spelled: Mapping[str, str] | None = None
) -> str:
    """`` Did you mean A or B?``, where something is close; else nothing. ``spelled`` says what a
    choice in lower case is called."""
    known = {choice.lower(): choice for choice in choices} | dict(spelled or {})
    close = difflib.get_close_matches(name[:100].lower(), known, n=3, cutoff=0.6)
    meant = dict.fromkeys(known[word] for word in close)
    return f" Did you mean {' or '.join(meant)}?" if meant else ""
