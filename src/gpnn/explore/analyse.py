"""The pure function behind the page."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..graph.isomorphism import isomorphism
from ..graph.partition import Partition, partition
from ..plots.palette import palette
from .request import Request, read_request
from .rounds import run
from .why import reasons

__all__ = ["analyse"]


def analyse(request: dict[str, Any]) -> dict[str, Any]:
    """Compute parts, kinds of edges, border, rounds of colours and verdicts of one or two graphs.

    Only the structure is used; labels of vertices and edges are ignored.

    Args:
        request: a JSON object with

            - ``graphs``: one or two of ``{"n": 4, "edges": [[0, 1], …]}``;
            - ``scheme``: the partitioning scheme (default ``core-degree``);
            - ``interactions``: the variant to run: ``cross``, ``edges`` (default) or ``pairs``;
            - ``d``: radius of N_d (default 1);
            - ``methods``: other methods to run: ``1-wl``, ``cross``, ``edges``, ``pairs``,
              ``3-wl``. Default: all for two graphs, to compare them; none for one graph.

    Returns:
        ``scheme``, ``d``; ``parts`` with label, colour and counts per graph; ``graphs`` with the
        part, border and reason of every vertex, every edge with its kind, the boundary subgraph;
        ``methods`` with the rounds of each method, in one palette for both graphs; ``verdicts``,
        one line per method; ``isomorphic`` for two graphs (``None`` if the search gave up, and for
        one graph).
    """
    asked = read_request(request)
    cut = partition(asked.graphs, asked.scheme)
    results = {name: run(name, cut, asked.d) for name in asked.methods}
    pair = len(asked.graphs) == 2
    apart = isomorphism(asked.graphs).distinguishes(0, 1) if pair else None
    return {
        "scheme": _scheme(asked),
        "d": asked.d,
        "parts": _parts(cut),
        "graphs": _graphs(cut),
        "methods": {name: rounds.to_dict(asked.graphs.ptr) for name, rounds in results.items()},
        "verdicts": [rounds.verdict() for rounds in results.values()] if pair else [],
        "isomorphic": None if apart is None else not apart,
    }


def _scheme(asked: Request) -> dict[str, str]:
    rule = asked.scheme
    return {
        "name": rule.name, "definition": rule.definition, "cost": rule.cost, "power": rule.power,
    }  # fmt: skip


def _parts(cut: Partition) -> list[dict[str, Any]]:
    """Return the legend: vertices and connected components of every part, per graph."""
    counts = np.zeros((len(cut.graphs), cut.num_parts), np.int64)
    np.add.at(counts, (cut.graphs.graph_of, cut.part), 1)
    components = cut.components()
    return [
        {
            "part": part,
            "label": label,
            "colour": colour,
            "counts": counts[:, part].tolist(),
            "components": components[:, part].tolist(),
        }
        for part, (label, colour) in enumerate(zip(cut.labels, palette(cut.num_parts), strict=True))
    ]


def _graphs(cut: Partition) -> list[dict[str, Any]]:
    graphs = cut.graphs
    why = reasons(cut)
    boundary, members = cut.boundary()
    inside = members[boundary.edges()]
    across = cut.cross[graphs.rows < graphs.indices]
    ends = graphs.edges()
    out = []
    for g in range(len(graphs)):
        low, high = int(graphs.ptr[g]), int(graphs.ptr[g + 1])
        mine = (ends[0] >= low) & (ends[0] < high)
        near = inside[:, (inside[0] >= low) & (inside[0] < high)] - low
        edges, kinds = (ends[:, mine] - low).T.tolist(), across[mine].tolist()
        out.append(
            {
                "n": high - low,
                "part": cut.part[low:high].tolist(),
                "border": cut.border[low:high].tolist(),
                "why": why[low:high],
                "edges": [
                    {"ends": edge, "kind": "cross" if cross else "within"}
                    for edge, cross in zip(edges, kinds, strict=True)
                ],
                "boundary": {
                    "vertices": np.flatnonzero(cut.border[low:high]).tolist(),
                    "edges": near.T.tolist(),
                },
            }
        )
    return out
