"""Support for sources that list every undirected edge once."""

from __future__ import annotations

from dataclasses import replace

from ..graphs import Graphs

__all__ = ["undirected"]


def undirected(graphs: Graphs) -> Graphs:
    """Reset the count of added reverse edges, since the source means both directions."""
    return replace(graphs, normalised=replace(graphs.normalised, reversed_added=0))
