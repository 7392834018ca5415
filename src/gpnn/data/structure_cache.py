"""Partitions and interaction classes, cached on disk where this saves time."""

from __future__ import annotations

import warnings
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..graph.class_tables import InteractionClasses, RoundTable
from ..graph.classes import interaction_classes
from ..graph.graphs import Graphs
from ..graph.partition import Partition, partition
from ..graph.peers.structure import PeerStructure
from ..graph.readers.files import InputNote
from ..graph.registry import get_scheme, mixed_schemes
from ..graph.structure import Structure
from ..nn.peers import PeerSpec
from .cache import Arrays, key_of, recall, uses_cache

__all__ = ["SMALL", "cached_classes", "cached_partition", "cached_peer"]

IntArray = NDArray[np.int64]

SMALL = 2_000
"""Minimum number of vertices to use the cache; below, computing takes milliseconds."""

_LISTS = ("class_ptr", "class_id", "class_count")
_ARRAYS = (
    "pair_ptr", "pair_centre", "pair_other", "pair_class", "start", "start_ptr", "start_id",
)  # fmt: skip
_TABLE = tuple(field.name for field in fields(RoundTable) if field.name != "size")


def cached_partition(graphs: Graphs, scheme: str) -> Partition:
    """Cached :func:`~gpnn.graph.partition.partition`.

    The schemes of the paper partition a million vertices in less than a tenth of a second and are
    not stored (see :data:`~gpnn.data.cache.WORTH`); orbits and ego graphs take longer. A scheme
    registered by a user is always computed, because its name does not identify its code.
    """
    names = [one.strip() for part in mixed_schemes(scheme) or [scheme] for one in part.split("+")]
    own = all(get_scheme(name).colour.__module__.startswith("gpnn.") for name in names)
    if not own or _computes(graphs):
        return partition(graphs, scheme)

    def compute() -> Arrays:
        cut = partition(graphs, scheme)
        return {"colours": cut.colours, "parts": cut.parts, "part": cut.part}

    arrays = recall(key_of("partition", _arrays(graphs), scheme=scheme), compute)
    return Partition(graphs, get_scheme(scheme), **arrays)


def cached_classes(
    graphs: Graphs,
    part: NDArray[Any],
    structure: Structure,
    edge_labels: IntArray | None,
    vertex_labels: IntArray | None = None,
) -> InteractionClasses:
    """Cached :func:`~gpnn.graph.classes.interaction_classes`, with merged classes.

    The key depends on the parts themselves, not on the name of a scheme.
    """

    def compute() -> InteractionClasses:
        return interaction_classes(
            graphs, part, structure, edge_labels, vertex_labels=vertex_labels
        )

    if _computes(graphs):
        return compute()
    labels = {"edge_labels": edge_labels, "vertex_labels": vertex_labels}
    arrays = {**_arrays(graphs), "part": part, **labels}
    read = ("interactions", "d", "layers", "distances")
    options = {name: value for name, value in structure.to_dict().items() if name in read}
    packed = recall(key_of("classes", arrays, **options), lambda: _pack(compute()))
    return _unpack(packed, graphs, structure)


def cached_peer(graphs: Graphs, peer: PeerSpec, edged: bool) -> PeerStructure:
    """The structure of the graphs that a peer reads; notes about it are issued as warnings."""

    def compute() -> PeerStructure:
        return peer.build(graphs, edged)

    if _computes(graphs):
        structure = compute()
    else:
        key = key_of("peer", _arrays(graphs), peer=repr(peer.options), kind=peer.kind.name,
                     edged=edged)  # fmt: skip
        structure = PeerStructure.from_arrays(recall(key, lambda: compute().to_arrays()))
    for note in structure.notes:
        warnings.warn(note, InputNote, stacklevel=3)
    return structure


def _computes(graphs: Graphs) -> bool:
    return graphs.num_nodes < SMALL or not uses_cache()


def _arrays(graphs: Graphs) -> dict[str, NDArray[Any] | None]:
    return {"ptr": graphs.ptr, "indptr": graphs.indptr, "indices": graphs.indices}


def _pack(classes: InteractionClasses) -> Arrays:
    """All arrays except those of the graphs, by name and round."""
    arrays: Arrays = {name: getattr(classes, name) for name in _ARRAYS}
    for r, table in enumerate(classes.tables):
        arrays |= {f"{name}.{r}": getattr(table, name) for name in _TABLE}
        arrays |= {f"{name}.{r}": getattr(classes, name)[r] for name in _LISTS}
    return arrays


def _unpack(arrays: Arrays, graphs: Graphs, structure: Structure) -> InteractionClasses:
    rounds = range(structure.layers)
    tables = tuple(
        RoundTable(
            size=len(arrays[f"previous.{r}"]), **{name: arrays[f"{name}.{r}"] for name in _TABLE}
        )
        for r in rounds
    )
    rest: dict[str, Any] = {name: arrays[name] for name in _ARRAYS}
    for name in _LISTS:
        rest[name] = tuple(arrays[f"{name}.{r}"] for r in rounds)
    return InteractionClasses(
        structure=structure,
        merged=True,
        ptr=graphs.ptr,
        start_entry=None,
        tables=tables,
        **rest,
    )
