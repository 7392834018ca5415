"""Choose the reader for a source with labels."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from ..errors import InputError
from ..files import exists, user_path
from .encoder import Encoder
from .formats import STDIN, file_kind
from .generated import is_generated, read_generated
from .raw import MOLECULE, Raw
from .table import TableChoice, is_table, read_molecules, read_table

__all__ = ["read_source"]

EDGE_LISTS = (".csv", ".tsv", ".txt")
"""Suffixes of tables that edge lists have too."""


def read_source(
    source: str,
    names: list[str] | None,
    choice: TableChoice,
    data: str | Path | None,
    numbers: bool,
    like: Encoder | None,
    nodes: bool = False,
) -> Raw:
    """Read a source with the reader for its kind.

    Args:
        names: the targets, ``None`` to detect them, empty for none.
        choice: columns and files of a table of molecules.
        numbers: whether to use numeric targets if a TU collection also has classes.
        like: the encoder of a model, for a source to predict.
        nodes: whether to classify the vertices of one graph.
    """
    from .benchmark_readers import plain, read_benchmark, read_ogb_folder, read_tu_folder
    from .sources import resolve

    path = user_path(source)
    if nodes or (like is not None and like.task.node_level and path.suffix.lower() == ".npz"):
        from .node_file import read_node_file

        return read_node_file(path, labelled=names is None or len(names) > 0)
    file = exists(path) and path.is_file() and is_table(path)
    if source == STDIN or (file and _holds_molecules(path, like)):
        return read_table(path, names, choice)
    if choice.valid or choice.test or choice.split or (choice.descriptors and like is None):
        raise InputError(
            "--valid, --test, --split-column and columns as --descriptors need a table of "
            f"molecules, which {source} is not."
        )
    if is_generated(source):
        return read_generated(source)
    if source.startswith("smiles:"):
        return read_molecules([source.removeprefix("smiles:")])
    if not exists(path):
        if source.startswith("g6:"):
            return plain(resolve(source))
        return _by_name(source, lambda name: read_benchmark(name, data, numbers))
    if path.is_file() and path.suffix.lower() == ".zip":
        from ..graph.readers.archive import unpack

        path = unpack(path)
    if path.is_dir():
        from ..graph.readers.ogb import find_ogb
        from ..graph.readers.tu import find_tu

        if find_tu(path) is not None:
            return read_tu_folder(path, numbers)
        if find_ogb(path) is not None:
            return read_ogb_folder(path)
        from .graph_folder import read_graph_folder

        return read_graph_folder(path, names)
    return plain(resolve(str(path), data))


def _holds_molecules(path: Path, like: Encoder | None) -> bool:
    """Whether a file is a table of molecules. A model of other graphs may get an edge list, which
    has the suffix of a table; it refuses molecules."""
    from ..graph.readers import is_edge_list

    if like is None or like.kind == MOLECULE:
        return True
    return file_kind(path) not in EDGE_LISTS or not is_edge_list(path)


def _by_name(source: str, read: Callable[[str], Raw]) -> Raw:
    """A dataset, or one graph of it as ``MUTAG:5``; else graph6 or SMILES without prefix."""
    from .benchmark_readers import plain
    from .catalogue import get
    from .sources import bare_kind, no_source, resolve

    name, colon, index = source.rpartition(":")
    try:
        entry = get(name if colon else source)
    except InputError as error:
        if colon and exists(user_path(name)):
            raise InputError(
                f"{name} is a file or folder, and a colon picks a graph of a dataset alone. Give "
                "it as it is; 'gpnn explain' picks a row with --row."
            ) from None
        kind = bare_kind(source)
        if kind == "smiles":
            return read_molecules([source])
        if kind == "g6":
            return plain(resolve(source))
        raise InputError(no_source(source, str(error))) from None
    raw = read(entry.name)
    if not colon:
        return raw
    if not index.isdecimal() or int(index) >= len(raw.graphs) or raw.node_level:
        raise InputError(f"{entry.name} has no graph {index!r} of its own. Leave out ':{index}'.")
    return raw.take(np.arange(len(raw.graphs)) == int(index))
