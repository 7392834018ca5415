"""Texts that name a source of graphs.

They are tried in this order: ``g6:TEXT``, ``smiles:TEXT`` and generated graphs such as
``planted:core`` (:mod:`gpnn.data.generated`); a path, or one graph of a file as ``FILE:5`` (counted
from 0); a dataset, or one graph of it as ``MUTAG:5``; a text without prefix that is graph6 or
SMILES, but not both.
"""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

from ..errors import InputError
from ..files import exists, user_path
from ..graph.graphs import Graphs
from ..text import did_you_mean

__all__ = ["bare_kind", "no_source", "resolve"]

_SMILES = re.compile(r"(\[[^\[\]]+\]|Br|Cl|[BCNOSPFI]|[bcnosp]|[()=#\-+\\/:.$*~@]|%\d\d|\d)+")
_SUFFIXES = (".csv", ".tsv", ".smi", ".gz", ".txt", ".zip", ".npz", ".graphml", ".g6", ".sdf")
_ATOM = re.compile(r"\[|[BCNOSPFIbcnosp*]")


def resolve(text: str, data: str | Path | None = None) -> Graphs:
    """The graphs that a text names."""
    kind, colon, rest = text.partition(":")
    if colon and kind == "g6":
        return _graph6(rest)
    if colon and kind == "smiles":
        return _smiles(rest)
    from .generated import is_generated, read_generated

    if is_generated(text):
        return read_generated(text).graphs
    if text and exists(user_path(text)):
        from ..graph.readers import read_graphs

        return read_graphs(text)
    from .catalogue import get

    name, colon, index = text.rpartition(":")
    if colon and index.isdecimal() and exists(user_path(name)):
        from ..graph.readers import read_graphs

        return _pick(read_graphs(name), name, index)
    try:
        entry = get(name if colon else text)
    except InputError as error:
        return _bare(text, str(error))
    from .datasets import load_graphs

    graphs = load_graphs(entry.name, data)
    return _pick(graphs, entry.name, index) if colon else graphs


def _pick(graphs: Graphs, name: str, index: str) -> Graphs:
    if not index.isdecimal() or int(index) >= len(graphs):
        raise InputError(
            f"{name} holds graphs 0 to {len(graphs) - 1}, not {index!r}. Name one as {name}:0."
        )
    return graphs[int(index)]


def _bare(text: str, unknown: str) -> Graphs:
    """The graph of a text without prefix: graph6 or SMILES."""
    kind = bare_kind(text)
    if kind == "smiles":
        return _smiles(text)
    if kind == "g6":
        return _graph6(text)
    raise InputError(no_source(text, unknown))


def bare_kind(text: str) -> str | None:
    """``g6`` or ``smiles`` for a text that is one of them; ``None`` for neither, both raise."""
    graph6 = _graph6_or_none(text)
    smiles = looks_like_smiles(text)
    if smiles and find_spec("rdkit") is not None:
        try:
            _smiles(text)
        except InputError:
            smiles = False
        else:
            if graph6 is None:
                return "smiles"
    if graph6 is not None and smiles:
        raise InputError(f"{text!r} is both graph6 and SMILES. Write g6:{text} or smiles:{text}.")
    return None if graph6 is None else "g6"


def looks_like_smiles(text: str) -> bool:
    return bool(_SMILES.fullmatch(text)) and bool(_ATOM.search(text))


def no_source(text: str, unknown: str) -> str:
    """Error message for a text that names no source, with suggestions."""
    path = user_path(text)
    if len(path.parts) > 1 or path.suffix.lower() in _SUFFIXES:
        near = path.parent if exists(path.parent) else None
        names = [] if near is None or not near.is_dir() else [item.name for item in near.iterdir()]
        inside = {name.lower(): str(path.parent / name) for name in names}
        where = "" if near is not None else f" There is no folder {path.parent} either."
        return f"There is no file {path}.{did_you_mean(path.name, (), inside) or where}"
    hint = ""
    if looks_like_smiles(text) and find_spec("rdkit") is None:
        hint = " It may be SMILES, which need RDKit: pip install 'gpnn[mol]'."
    return f"{text!r} is no file or folder, no dataset, not graph6 and not SMILES.{hint} {unknown}"


def _graph6_or_none(text: str) -> Graphs | None:
    try:
        return _graph6(text)
    except InputError:
        return None


def _graph6(text: str) -> Graphs:
    from ..graph.readers.graph6 import parse_graph6

    return parse_graph6(text)


def _smiles(text: str) -> Graphs:
    from ..graph.readers.smiles import parse_smiles

    return parse_smiles(text)
