"""Console output: text is not wrapped, and control characters in it are escaped, never executed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.segment import Segment

from ..text import printable

__all__ = ["PlainConsole"]


class PlainConsole(Console):
    """A console that does not wrap text and prints control characters as escape sequences.

    Paths and commands in a line of text therefore stay in one piece. Tables keep to the width.
    """

    def print(self, *objects: Any, soft_wrap: bool | None = None, **options: Any) -> None:
        if soft_wrap is None:
            soft_wrap = all(isinstance(one, str) for one in objects)
        super().print(*objects, soft_wrap=soft_wrap, **options)

    def render(self, renderable: Any, options: Any = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                yield segment._replace(text=printable(segment.text))
