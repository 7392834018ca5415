"""The text format of GIN and of EXP/CEXP (``GRAPHSAT.txt``): adjacency lists with tags.

The first line is the number of graphs. Each graph has a line ``n label``, followed by n lines
``tag degree neighbour…`` with neighbours numbered from 0.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ..graphs import Graphs
from .fields import Fields
from .files import read_bytes, where

__all__ = ["read_graphsat"]


def read_graphsat(path: Path) -> tuple[Graphs, NDArray[np.int64]]:
    """The graphs (``node_labels`` are the tags) and the label of every graph."""
    fields = Fields.of(read_bytes(path))
    values, good = fields.integers()
    if not good.all() or not len(values):
        bad = int(np.flatnonzero(~good)[0]) if len(values) else -1
        line = int(fields.line[bad]) if bad >= 0 else 0
        raise InputError(f"{where(path, line)}: expected a whole number.")
    numbers = values.tolist()
    at, end = 1, len(numbers)
    sizes: list[int] = []
    labels: list[int] = []
    tags: list[int] = []
    counts: list[int] = []
    src: list[int] = []
    dst: list[int] = []

    def place() -> str:
        return where(path, int(fields.line[min(at, end - 1)]))

    for _ in range(numbers[0]):
        if at + 2 > end:
            raise InputError(f"{place()}: the file ends after {len(sizes)} of {numbers[0]} graphs.")
        n, label = numbers[at : at + 2]
        at += 2
        before = len(src)
        for vertex in range(n):
            if at + 2 > end or at + 2 + numbers[at + 1] > end or numbers[at + 1] < 0:
                raise InputError(f"{place()}: graph {len(sizes)} ends inside vertex {vertex}.")
            tag, degree = numbers[at : at + 2]
            tags.append(tag)
            dst.extend(numbers[at + 2 : at + 2 + degree])
            src.extend([vertex] * degree)
            at += 2 + degree
        sizes.append(n)
        labels.append(label)
        counts.append(len(src) - before)
    if at != end:
        raise InputError(f"{place()}: more follows after {numbers[0]} graphs.")
    try:
        graphs = Graphs.from_edges(
            src,
            dst,
            np.array(sizes, np.int64),
            bounds=np.concatenate(([0], np.cumsum(counts, dtype=np.int64))),
            local=True,
            node_labels=tags,
        )
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    return graphs, np.array(labels, np.int64)
