"""A graph in the format of the page: structure, and additional data for models and readers."""

from __future__ import annotations

from typing import Any

from ..errors import InputError
from ..graph.graphs import Graphs
from .request import MAX_EDGES, MAX_VERTICES

__all__ = ["card", "molecule_card"]


def card(
    graph: Graphs, title: str, names: list[str] | None = None, smiles: str | None = None
) -> dict[str, Any]:
    """Return ``{"title", "n", "edges"}`` and, if known, ``names`` of vertices, ``node_labels``,
    ``edge_labels`` (one per edge) and the original ``smiles``.

    Graphs that are too large are refused. Positions take longer than all the rest and are computed
    separately (:mod:`~gpnn.explore.positions`).
    """
    n, m = graph.num_nodes, graph.num_edges
    if n == 0:
        raise InputError(f"{title} has no vertices: there is nothing to show.")
    if n > MAX_VERTICES or m > MAX_EDGES:
        raise InputError(
            f"{title} has {n:,} vertices and {m:,} edges; the explorer takes up to {MAX_VERTICES} "
            f"and {MAX_EDGES:,}. Use 'gpnn partition' or 'gpnn compare' for large graphs."
        )
    record: dict[str, Any] = {"title": title, "n": n, "edges": graph.edges().T.tolist()}
    names = names or (None if graph.vertex_names is None else list(graph.vertex_names))
    if names is not None:
        record["names"] = [name[:12] for name in names]
    if graph.node_labels is not None:
        record["node_labels"] = graph.node_labels.tolist()
    if graph.edge_labels is not None:
        record["edge_labels"] = graph.edge_labels[graph.rows < graph.indices].tolist()
    if smiles is not None:
        record["smiles"] = smiles
    return record


def molecule_card(graph: Graphs, smiles: str) -> dict[str, Any]:
    """Return a graph that was read from SMILES, with its vertices named by their elements."""
    from rdkit import Chem

    table = Chem.GetPeriodicTable()
    assert graph.node_labels is not None
    names = [table.GetElementSymbol(z) if z else "*" for z in graph.node_labels.tolist()]
    return card(graph, smiles, names, smiles)
