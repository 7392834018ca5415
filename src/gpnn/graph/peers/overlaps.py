"""GraphSNN: overlap of the neighbourhoods of adjacent vertices."""

from __future__ import annotations

import numpy as np

from ..graphs import Graphs
from .structure import PeerStructure, Relation

__all__ = ["overlaps"]


def overlaps(graphs: Graphs, power: float, edged: bool) -> PeerStructure:
    r"""Normalised weights of the overlap subgraphs :math:`S_{uv} = G[\bar N(u) \cap \bar N(v)]`.

    .. math::
        \omega_{vu} = \frac{|E_{vu}|}{|V_{vu}| (|V_{vu}| - 1)} |V_{vu}|^\lambda, \qquad
        \tilde A_{vu} = \omega_{vu} \Big/ \sum_{w \in N(v)} \omega_{vw}

    The relation ``overlap`` weights neighbours by :math:`\tilde A_{vu} + 1`; if edges have labels,
    it weights the messages along ``original`` edges.
    """
    from ..kernels.overlaps import overlap_sizes

    vertices, edges = overlap_sizes(graphs.indptr, graphs.indices)
    weight = edges * vertices.astype(np.float64) ** power / (vertices * (vertices - 1.0))
    rows = graphs.rows.astype(np.int64)
    total = np.bincount(rows, weight, graphs.num_nodes)
    out = PeerStructure()
    into, column, number = "vertex", graphs.indices.astype(np.int64), np.arange(len(rows))
    if edged:
        out.connect(graphs, "vertex", rows, column, number, True, "original")
        into, column = "original", number
    out.relations["overlap"] = Relation("vertex", into, rows, column, weight / total[rows] + 1)
    return out
