"""Examples in pages: ``pycon`` blocks are doctests, ``console`` blocks commands with outputs."""

from __future__ import annotations

import contextlib
import doctest
import io
import re
import shlex
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
LEARNED = ("train", "evaluate", "predict", "explain")
"""Commands whose figures depend on the machine: their outputs are compared without numbers."""


def pages() -> list[Path]:
    """The pages people write, and the README."""
    found = [p for p in DOCS.rglob("*.md") if "_build" not in p.parts and "results" not in p.parts]
    return [ROOT / "README.md", *sorted(found)]


def blocks(text: str, kind: str) -> str:
    """The fenced blocks of one kind; all other lines are blank, so that line numbers hold."""
    kept, inside = [], False
    for line in text.splitlines():
        fence = line.startswith("```")
        if fence:
            inside = not inside and line.strip() == f"```{kind}"
        kept.append(line if inside and not fence else "")
    return "\n".join(kept) + "\n"


def doctest_of(page: Path) -> doctest.DocTest:
    source = blocks(page.read_text(encoding="utf-8"), "pycon")
    name = page.relative_to(ROOT).as_posix()
    return doctest.DocTestParser().get_doctest(source, {"__name__": "__main__"}, name, str(page), 0)


@dataclass(frozen=True)
class Command:
    """A command of a page and what the page says it prints."""

    page: Path
    line: int
    words: tuple[str, ...]
    expected: str


def commands(page: Path) -> Iterator[Command]:
    lines = blocks(page.read_text(encoding="utf-8"), "console").splitlines()
    for number, line in enumerate(lines):
        if line.startswith("$ "):
            rest = lines[number + 1 :]
            end = next((i for i, said in enumerate(rest) if said.startswith("$ ")), len(rest))
            expected = "\n".join(rest[:end]).strip()
            yield Command(page, number + 1, tuple(shlex.split(line[2:])), expected)


def run(words: tuple[str, ...]) -> str:
    """What a ``gpnn`` command prints, both streams together; ``cat`` prints a file."""
    if words[0] == "cat":
        return Path(words[1]).read_text(encoding="utf-8")
    from gpnn.cli import main

    assert words[0] == "gpnn", f"pages run gpnn and cat, not {words[0]}"
    printed, before = io.StringIO(), sys.argv
    with (
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(printed),
        contextlib.suppress(SystemExit),
        warnings.catch_warnings(),
    ):
        sys.argv = list(words)
        try:
            main()
        finally:
            sys.argv = before
    return printed.getvalue()


def matches(command: Command, got: str) -> bool:
    expected = command.expected + "\n"
    if command.words[0] == "gpnn" and command.words[1] in LEARNED:
        expected, got = _without_numbers(expected), _without_numbers(got)
    return doctest.OutputChecker().check_output(expected, got, FLAGS)


def _without_numbers(text: str) -> str:
    return re.sub(r"[-+]?\d+(?:\.\d+)?", "#", text)
