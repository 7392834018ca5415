"""Console output: control characters in user-supplied text are escaped, never executed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.segment import Segment

from ..text import printable

__all__ = ["PlainConsole"]


class PlainConsole(Console):
    """A console that prints control characters as escape sequences."""

    def render(self, renderable: Any, options: Any = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                yield segment._replace(text=printable(segment.text))
