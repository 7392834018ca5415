"""Readers of graph files: one module per format, and a function that selects the format."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from ...errors import InputError
from ...files import exists, user_path
from ...text import did_you_mean
from ..graphs import Graphs
from .files import InputNote, one_of

__all__ = ["FORMATS", "Format", "InputNote", "is_edge_list", "read_graphs"]


@dataclass(frozen=True, slots=True)
class Format:
    """A file format: how to detect it, and its reader (imported on first use).

    Attributes:
        suffixes: file suffixes, in lower case.
        find: module and function that detect a folder of this format, if it uses folders.
        read: module and function that read a path into ``Graphs``.
        options: names of keyword arguments that ``read`` accepts.
    """

    name: str
    read: str
    suffixes: tuple[str, ...] = ()
    find: str | None = None
    options: frozenset[str] = frozenset()


FORMATS: dict[str, Format] = {
    entry.name: entry
    for entry in (
        Format(
            "edges",
            "edge_list:read_edge_list",
            (".edges", ".edgelist", ".txt", ".csv", ".tsv"),
            options=frozenset({"num_nodes"}),
        ),
        Format("graphml", "graphml:read_graphml", (".graphml",)),
        Format("graph6", "graph6:read_graph6", (".g6", ".s6")),
        Format(
            "smiles",
            "smiles:read_smiles",
            (".smi", ".smiles"),
            options=frozenset({"column", "bad"}),
        ),
        Format("npz", "npz:read_npz", (".npz",)),
        Format("tu", "tu:read_tu_graphs", find="tu:find_tu"),
        Format("ogb", "ogb:read_ogb_graphs", find="ogb:find_ogb"),
    )
}
_PICKLES = (".gpickle", ".pickle", ".pkl", ".pt", ".pth", ".npy")


def read_graphs(path: str | Path, format: str | None = None, **options: Any) -> Graphs:
    """Read a file, a folder or a zip of a folder.

    Args:
        format: a name in ``FORMATS``; inferred from the suffix or the content of a folder by
            default. A CSV is read as SMILES if ``column`` is given or its header has a SMILES
            column.
        options: ``num_nodes`` for edge lists; ``column`` and ``bad`` for SMILES.
    """
    path = user_path(path)
    if not exists(path):
        raise InputError(f"There is no file or folder {path}. Check the path.")
    options = {name: value for name, value in options.items() if value is not None}
    if path.is_file() and path.suffix.lower() == ".zip":
        from .archive import unpack

        path = unpack(path)
    entry = _named(format) if format is not None else _detect(path, options)
    foreign = set(options) - entry.options
    if foreign:
        raise InputError(
            f"The format {entry.name} of {path} does not take {one_of(sorted(foreign))}."
        )
    try:
        graphs: Graphs = _load(entry.read)(path, **options)
    except MemoryError:
        raise InputError(f"{path} names more vertices or edges than memory holds.") from None
    return graphs


def is_edge_list(path: Path) -> bool:
    """Whether a file is read as an edge list, by its suffix and header."""
    return _detect(path, {}).name == "edges"


def _load(name: str) -> Callable[..., Any]:
    module, _, function = name.partition(":")
    loaded: Callable[..., Any] = getattr(import_module(f".{module}", __name__), function)
    return loaded


def _named(name: str) -> Format:
    if name not in FORMATS:
        meant = did_you_mean(str(name), FORMATS)
        raise InputError(
            f"There is no format {name!r}.{meant} Choose from {one_of(list(FORMATS))}."
        )
    return FORMATS[name]


def _detect(path: Path, options: dict[str, Any]) -> Format:
    if path.is_dir():
        return _detect_folder(path)
    suffixes = [suffix.lower() for suffix in path.suffixes]
    last = (
        suffixes[-2] if suffixes[-1:] == [".gz"] and len(suffixes) > 1 else (suffixes or [""])[-1]
    )
    if last in _PICKLES:
        raise InputError(
            f"{path} may hold pickled objects, which can run any code when opened, so it is not. "
            "Save the graph as an edge list, .graphml, .g6 or .npz."
        )
    if last in (".csv", ".tsv") and ("column" in options or _names_smiles(path)):
        return FORMATS["smiles"]
    for entry in FORMATS.values():
        if last in entry.suffixes:
            return entry
    known = [suffix for entry in FORMATS.values() for suffix in entry.suffixes]
    raise InputError(
        f"{path}: the suffix {last!r} is not known. Choose from {one_of(known)}, folders and zips "
        f"of TU and OGB; or give the format: {one_of(list(FORMATS))}."
    )


def _detect_folder(path: Path) -> Format:
    for entry in FORMATS.values():
        if entry.find is not None and _load(entry.find)(path) is not None:
            return entry
    raise InputError(
        f"{path} holds neither a TU collection (NAME_A.txt) nor an OGB dataset (raw/edge.csv.gz)."
    )


def _names_smiles(path: Path) -> bool:
    from .files import read_bytes
    from .smiles import smiles_column

    header = read_bytes(path).split(b"\n", 1)[0].decode("utf-8-sig", errors="replace")
    return smiles_column([header.replace("\t", ",").replace('"', "").split(",")]) is not None
