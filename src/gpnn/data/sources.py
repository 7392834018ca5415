"""What a person types as the source of graphs.

In this order: ``g6:TEXT`` and ``smiles:TEXT``; a path; a dataset, or one graph of it as
``MUTAG:5`` (counted from 0); a bare text that is graph6 or SMILES, but not both.
"""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

from ..errors import InputError
from ..graph.graphs import Graphs

__all__ = ["resolve"]

_SMILES = re.compile(r"(\[[^\[\]]+\]|Br|Cl|[BCNOSPFI]|[bcnosp]|[()=#\-+\\/:.$*~@]|%\d\d|\d)+")
_ATOM = re.compile(r"\[|[BCNOSPFIbcnosp*]")


def resolve(text: str, data: str | Path | None = None) -> Graphs:
    """The graphs that a text names."""
    kind, colon, rest = text.partition(":")
    if colon and kind == "g6":
        return _graph6(rest)
    if colon and kind == "smiles":
        return _smiles(rest)
    if _exists(text):
        from ..graph.readers import read_graphs

        return read_graphs(text)
    from .catalogue import get

    name, colon, index = text.rpartition(":")
    try:
        entry = get(name if colon else text)
    except InputError as error:
        return _bare(text, str(error))
    from .datasets import load_graphs

    graphs = load_graphs(entry.name, data)
    return _pick(graphs, entry.name, index) if colon else graphs


def _exists(text: str) -> bool:
    try:
        return bool(text) and Path(text).expanduser().exists()
    except (OSError, ValueError, RuntimeError):  # too long, a NUL byte, no such user
        return False


def _pick(graphs: Graphs, name: str, index: str) -> Graphs:
    if not index.isdecimal() or int(index) >= len(graphs):
        raise InputError(
            f"{name} holds graphs 0 to {len(graphs) - 1}, not {index!r}. Name one as {name}:0."
        )
    return graphs[int(index)]


def _bare(text: str, unknown: str) -> Graphs:
    """graph6 or SMILES without saying which."""
    graph6 = _graph6_or_none(text)
    smiles = bool(_SMILES.fullmatch(text)) and bool(_ATOM.search(text))
    if smiles and find_spec("rdkit") is not None:
        from ..graph.readers.smiles import parse_smiles

        try:
            molecule = parse_smiles(text)
        except InputError:
            smiles = False
        else:
            if graph6 is None:
                return molecule
    if graph6 is not None and smiles:
        raise InputError(
            f"{text!r} is both graph6 and SMILES. Say which: g6:{text} or smiles:{text}."
        )
    if graph6 is not None:
        return graph6
    hint = " It may be SMILES, which need RDKit: pip install 'gpnn[mol]'." if smiles else ""
    raise InputError(
        f"{text!r} is no file or folder, no dataset, not graph6 and not SMILES.{hint} {unknown}"
    )


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
