"""Parse pasted text, typed text and opened files into graphs.

Files are sent as text, so compressed and binary formats are refused: a small file can unpack to
gigabytes. For the same reason, the page does not read sparse6, whose header may claim any number of
vertices.
"""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path, PurePath
from typing import Any

from ..errors import InputError
from ..graph.graphs import Graphs
from ..graph.readers import FORMATS, InputNote, read_graphs
from .graph_json import card, molecule_card
from .request import fields, integer, text

__all__ = ["KINDS", "parse"]

KINDS = ("edges", "graph6", "smiles", "file")
MAX_CHARACTERS = 800_000
MAX_SMILES = 2_000
_SUFFIXES = {
    suffix: name
    for name in ("edges", "graphml", "graph6", "smiles")
    for suffix in FORMATS[name].suffixes
    if suffix != ".s6"
}


def parse(request: dict[str, Any]) -> dict[str, Any]:
    """Read one graph.

    Args:
        request: ``kind`` (``edges``, ``graph6``, ``smiles`` or ``file``); ``text``; ``name`` of a
            file; ``index`` of the graph to return (default 0).

    Returns:
        ``graph`` (see :func:`~gpnn.explore.graph_json.card`), ``count`` of graphs in the text,
        ``index``, and ``notes`` on what was dropped or ignored.
    """
    given = fields(request, "the request", needed=("kind", "text"), known=("name", "index"))
    kind = text(given["kind"], "kind")
    if kind not in KINDS:
        raise InputError(f"There is no kind of input {kind!r}. Choose from {', '.join(KINDS)}.")
    typed = text(given["text"], "the text", MAX_CHARACTERS)
    if not typed.strip():
        raise InputError(f"There is no text. Give {_WANTED[kind]}.")
    read = _smiles(typed.strip()) if kind == "smiles" else _read(kind, typed, given.get("name"))
    graphs, shown, notes = read
    if len(graphs) == 0:
        raise InputError(f"{shown} holds no graph. Give {_WANTED[kind]}.")
    index = integer(given.get("index", 0), "index", 0, len(graphs) - 1)
    graph = graphs[index]
    title = shown if len(graphs) == 1 else f"{shown}, graph {index}"
    if str(graphs.normalised):
        notes.append(str(graphs.normalised))
    return {
        "graph": molecule_card(graph, shown) if kind == "smiles" else card(graph, title),
        "count": len(graphs),
        "index": index,
        "notes": notes,
    }


_WANTED = {
    "edges": "an edge list: two names a line, such as '0 1'",
    "graph6": "a line of graph6, such as 'DqK'",
    "smiles": "a SMILES, such as 'c1ccccc1'",
    "file": f"a file with one of the endings {', '.join(_SUFFIXES)}",
}


def _smiles(typed: str) -> tuple[Graphs, str, list[str]]:
    from ..graph.readers.smiles import parse_smiles

    return parse_smiles(text(typed, "the SMILES", MAX_SMILES)), typed, []


def _read(kind: str, typed: str, name: Any) -> tuple[Graphs, str, list[str]]:
    """Return the graphs, the name of their source, and notes. The reader needs a file, so the text
    is written to a temporary file with a fixed name."""
    shown, suffix = {"edges": ("pasted edges", ".edges"), "graph6": ("pasted graph6", ".g6")}.get(
        kind, ("", "")
    )
    if kind == "file":
        shown = PurePath(text(name, "name", 200).replace("\\", "/")).name or "the file"
        suffix = PurePath(shown).suffix.lower()
        if suffix not in _SUFFIXES:
            raise InputError(
                f"{shown}: files ending in {suffix or 'nothing'!r} are not read on the page. Known "
                f"are {', '.join(_SUFFIXES)}; unpack compressed ones first."
            )
    if _SUFFIXES[suffix] == "graph6" and any(
        line.strip().removeprefix(">>sparse6<<").startswith(":") for line in typed.splitlines()
    ):
        raise InputError(f"{shown}: sparse6 is not read on the page. Give graph6.")
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always", InputNote)
        path = Path(folder) / f"input{suffix}"
        try:
            path.write_text(typed, encoding="utf-8")
        except UnicodeEncodeError:
            raise InputError(f"{shown} holds an incomplete character. Give plain text.") from None
        try:
            graphs = read_graphs(path)
        except InputError as error:
            raise InputError(str(error).replace(str(path), shown)) from None
    messages = [str(item.message) for item in noted if issubclass(item.category, InputNote)]
    return graphs, shown, [note.replace(str(path), shown) for note in messages]
