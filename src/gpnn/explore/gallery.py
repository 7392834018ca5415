"""Graphs to start from: the named pairs, molecules of the included MUTAG, a karate club."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from ..errors import InputError
from ..graph.graphs import Graphs
from .graph_json import card, molecule_card

__all__ = ["gallery", "open_sources"]

MOLECULES = (2, 5, 15, 82, 115, 180)
ATOMS = ("C", "N", "O", "F", "I", "Cl", "Br")  # the labels 0 … 6 of MUTAG


@cache
def gallery() -> dict[str, Any]:
    """Return ``{"entries": [{"id", "title", "story", "graphs"}]}``; an entry has one graph or
    two."""
    return {"entries": [*_pairs(), _karate(), *(_molecule(index) for index in MOLECULES)]}


def _pairs() -> list[dict[str, Any]]:
    from ..lab.named import NAMED_PAIRS, named_pair

    entries = []
    for name in NAMED_PAIRS:
        pair, left, right = named_pair(name)
        cards = [card(left, pair.left), card(right, pair.right)]
        title = f"{pair.left} and {pair.right}"
        entries.append({"id": name, "title": title, "story": pair.story, "graphs": cards})
    return entries


def _karate() -> dict[str, Any]:
    import networkx as nx
    import numpy as np

    from ..graph.convert import as_graphs

    story = "34 members of a club and 78 friendships, before it split in two (Zachary 1977)."
    club = np.array(nx.karate_club_graph().edges)  # without the weights, which no part depends on
    graph = card(as_graphs(club), "karate club")
    return {"id": "karate", "title": "karate club", "story": story, "graphs": [graph]}


def _molecule(index: int) -> dict[str, Any]:
    from ..data.datasets import load_graphs

    return {
        "id": f"mutag-{index}",
        "title": f"MUTAG molecule {index}",
        "story": f"Number {index} of the 188 nitroaromatic compounds of MUTAG.",
        "graphs": [_atoms(load_graphs("MUTAG")[index], f"MUTAG:{index}")],
    }


def _atoms(graph: Graphs, title: str) -> dict[str, Any]:
    assert graph.node_labels is not None
    return card(graph, title, [ATOMS[label] for label in graph.node_labels.tolist()])


def open_sources(sources: Sequence[str], load: Callable[[str], Graphs]) -> list[dict[str, Any]]:
    """Return the graphs given on the command line: a named pair, or single graphs.

    Args:
        load: loads the graphs of a source; there must be exactly one.
    """
    from ..lab.named import NAMED_PAIRS, named_pair

    if len(sources) == 1 and sources[0] in NAMED_PAIRS:
        pair, left, right = named_pair(sources[0])
        return [card(left, pair.left), card(right, pair.right)]
    cards = []
    for source in sources:
        graphs = load(source)
        if len(graphs) != 1:
            raise InputError(
                f"'{source}' holds {len(graphs):,} graphs; the explorer opens one. Pick it, as in "
                f"{source}:0."
            )
        if source.upper().startswith("MUTAG:"):
            cards.append(_atoms(graphs, source))
        elif source.startswith("smiles:"):
            cards.append(molecule_card(graphs, source.removeprefix("smiles:")))
        else:
            cards.append(card(graphs, source))
    return cards
