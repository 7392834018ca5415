"""Input validation of refinements: colour rows, labels, rounds and memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import sizes
from ...errors import InputError
from ..graphs import Graphs

__all__ = [
    "check_kept", "check_rounds", "colour_rows", "edge_labels",
    "hash_vertices", "most", "select",
]  # fmt: skip

IntArray = NDArray[np.int64]
Colours = NDArray[np.uint64]


def colour_rows(graphs: Graphs, colours: Any) -> IntArray:
    """Vertex colours as integer rows [n, w]; ``None`` gives every vertex the colour 0."""
    n = graphs.num_nodes
    if colours is None:
        return np.zeros((n, 1), np.int64)
    array = np.asarray(colours)
    if array.size == 0 and array.ndim == 1:
        array = array.astype(np.int64)
    if array.dtype.kind not in "iub":
        raise InputError(
            f"Vertex colours must be whole numbers; got dtype {array.dtype}. "
            "Number the colours first, the same way for all graphs."
        )
    if array.dtype == np.uint64:
        array = array.view(np.int64)
    if array.ndim not in (1, 2) or len(array) != n:
        raise InputError(
            f"Vertex colours must have shape [{n}] or [{n}, w], one row per vertex; "
            f"got shape {list(array.shape)}."
        )
    return np.ascontiguousarray(array.reshape(n, -1) if n else array.reshape(0, 1), np.int64)


def hash_vertices(graphs: Graphs, rows: IntArray, labels: bool) -> tuple[Colours, Colours]:
    """``(part, start)``: the colours λ_V, and the same combined with node labels if requested."""
    from ..kernels import colour_hash

    if labels and graphs.node_labels is None and graphs.edge_labels is None:
        raise InputError(
            "labels=True, but the graphs have neither node labels nor edge labels. "
            "Read them with labels, or compare the structure alone with labels=False."
        )
    part = colour_hash.hash_rows(rows, np.zeros((len(rows), 2), np.uint64))
    if labels and graphs.node_labels is not None:
        return part, colour_hash.hash_rows(graphs.node_labels.reshape(-1, 1).astype(np.int64), part)
    return part, part


def edge_labels(graphs: Graphs, labels: bool) -> IntArray:
    """The label of every CSR entry, or an empty array."""
    if labels and graphs.edge_labels is not None:
        return graphs.edge_labels.astype(np.int64, copy=False)
    return np.zeros(0, np.int64)


def check_rounds(rounds: int | None) -> int:
    """Number of rounds in the form used by the kernels: -1 for "until stable"."""
    if rounds is None:
        return -1
    if isinstance(rounds, bool) or not isinstance(rounds, int | np.integer) or rounds < 0:
        raise InputError(
            "rounds must be a whole number of at least 0, or None for 'until stable'; got "
            f"{rounds!r}."
        )
    return int(rounds)


def most() -> int:
    """Maximum number of vertex colours stored over all rounds (16 bytes each, twice on growth)."""
    return sizes.available_bytes() // 48


def check_kept(failed: int, test: str) -> None:
    """Raise if a kernel ran out of memory at graph ``failed`` (-1 means success)."""
    if failed >= 0:
        raise InputError(
            f"{test} keeps the colours of every round, and memory ran out at graph {failed}, which "
            "needs very many rounds. Give rounds=k for the first k rounds only, or fewer graphs."
        )


def select(graphs: Graphs, rows: IntArray, chosen: Sequence[int]) -> tuple[Graphs, IntArray]:
    """A subset of the graphs, with their colour rows."""
    picked = [graphs[g] for g in chosen]
    bounds = [(int(graphs.ptr[g]), int(graphs.ptr[g + 1])) for g in chosen]
    return Graphs.concatenate(picked), np.concatenate([rows[a:b] for a, b in bounds])
