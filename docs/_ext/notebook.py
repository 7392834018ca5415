"""Notebooks kept as text: Markdown pages whose ``python`` blocks are cells.

The cells of a page run one after another in one namespace. What a cell prints, and its last line
where that is an expression, is its output; a matplotlib figure becomes a picture. The site shows
the outputs of the build, so they are never older than the code.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = ["execute", "setup"]

_CELL = re.compile(r"^```python\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
_FOLDER = "notebooks/"


def execute(text: str, name: str) -> Iterator[tuple[re.Match[str], str, list[Any]]]:
    """Run every cell of a page: the match, what it printed, the figures it ended in."""
    namespace: dict[str, Any] = {"__name__": name}
    for cell in _CELL.finditer(text):
        line = text.count("\n", 0, cell.start(1))
        body = ast.parse("\n" * line + cell[1], name).body
        printed = io.StringIO()
        value = None
        with contextlib.redirect_stdout(printed):
            last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
            exec(compile(ast.Module(body, []), name, "exec"), namespace)
            if last is not None:
                value = eval(compile(ast.Expression(last.value), name, "eval"), namespace)
        figures = [value] if hasattr(value, "savefig") else []
        if value is not None and not figures:
            printed.write(f"{value!r}\n")
        yield cell, printed.getvalue(), figures


def _picture(figure: Any) -> str:
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=110, facecolor="white")
    return base64.b64encode(content.getvalue()).decode("ascii")


def with_outputs(text: str, name: str) -> str:
    """The page with the outputs of its cells behind them."""
    pieces, end = [], 0
    for cell, printed, figures in execute(text, name):
        pieces.append(text[end : cell.end()])
        end = cell.end()
        if printed:
            pieces.append(f"\n```{{code-block}} text\n:class: output\n\n{printed.rstrip()}\n```\n")
        pieces += [f"\n![Output](data:image/png;base64,{_picture(one)})\n" for one in figures]
    return "".join([*pieces, text[end:]])


def _read(app: Any, docname: str, source: list[str]) -> None:
    if docname.startswith(_FOLDER) and "```python\n" in source[0]:
        source[0] = with_outputs(source[0], str(Path(app.srcdir) / f"{docname}.md"))


def setup(app: Any) -> dict[str, Any]:
    app.connect("source-read", _read)
    return {"version": "1", "parallel_read_safe": True}
