"""The pictures of the concepts page: ``python docs/pictures/concepts.py`` writes them beside it."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

import gpnn
from gpnn.data.datasets import load_graphs
from gpnn.graph import refine
from gpnn.lab.compare import side_by_side
from gpnn.lab.named import named_pair
from gpnn.plots.draw import draw_graph
from gpnn.plots.layout import layout
from gpnn.plots.palette import INK, palette
from gpnn.plots.save import save

HERE = Path(__file__).parent
SCHEMES = ("degree", "core", "core-degree", "core-onion", "triangle", "ego-1")


def title(axes: Axes, text: str) -> None:
    axes.set_title(text, loc="left", fontsize=10, fontweight="bold", color=INK)


def schemes() -> Figure:
    """The karate club under six schemes."""
    graph = gpnn.as_graphs(nx.karate_club_graph())
    place = layout(graph)
    figure = Figure(figsize=(11, 5.4), layout="constrained")
    for axes, name in zip(figure.subplots(2, 3).flat, SCHEMES, strict=True):
        cut = gpnn.partition(graph, name)
        draw_graph(axes, cut, place, palette(cut.num_parts))
        title(axes, f"{name}: {cut.num_parts} parts, {cut.cross_edges().shape[1]} cross edges")
    return figure


def boundary() -> Figure:
    """A molecule, one of its parts, and its boundary subgraph."""
    cut = gpnn.partition(load_graphs("MUTAG")[2], "core-degree")
    place = layout(cut.graphs)
    colours = palette(cut.num_parts)
    edges = cut.graphs.edges()
    within = cut.part[edges[0]] == cut.part[edges[1]]
    largest = int(cut.sizes.argmax())
    views = (
        ("the graph and its parts", np.ones(len(place), bool), np.ones(len(within), bool)),
        (f"the part “{cut.labels[largest]}”", cut.part == largest, within),
        ("the boundary subgraph", cut.border, np.ones(len(within), bool)),
    )
    figure = Figure(figsize=(11, 2.8), layout="constrained")
    for axes, (name, vertices, kept) in zip(figure.subplots(1, 3), views, strict=True):
        shown = kept & vertices[edges[0]] & vertices[edges[1]]
        for across, style in ((False, "solid"), (True, (0, (3, 1.6)))):
            lines = list(place[edges[:, shown & (within != across)].T])
            axes.add_collection(LineCollection(lines, colors=INK, linewidths=1.8, linestyles=style))
        fill = [colours[p] if v else "#ececf0" for p, v in zip(cut.part, vertices, strict=True)]
        ring = [INK if b and v else "white" for b, v in zip(cut.border, vertices, strict=True)]
        axes.scatter(*place.T, s=190, c=fill, edgecolors=ring, linewidths=1.8, zorder=3)
        _finish(axes, name)
    return figure


def interactions() -> Figure:
    """The pairs of vertices on which each interaction type learns α."""
    cut = gpnn.partition([[0, 1, 2, 2, 3], [1, 2, 0, 3, 4]], "core")
    n = cut.graphs.num_nodes
    angle = 2 * np.pi * (np.array([0, 1, 2, 3, 4]) / n + 0.05)
    place = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    edges = cut.graphs.edges()
    every = np.stack(np.triu_indices(n, 1))
    learned = {"cross": cut.cross_edges(), "edges": edges, "pairs": every}
    colours = palette(cut.num_parts)
    figure = Figure(figsize=(10, 3.2), layout="constrained")
    for axes, (name, pairs) in zip(figure.subplots(1, 3), learned.items(), strict=True):
        axes.add_collection(
            LineCollection(list(place[pairs.T]), colors="#CC79A7", linewidths=7, alpha=0.6)
        )
        axes.add_collection(LineCollection(list(place[edges.T]), colors=INK, linewidths=1.6))
        axes.scatter(
            *place.T, s=240, c=[colours[p] for p in cut.part], edgecolors="white", zorder=3
        )
        _finish(axes, f"{name}: α on {2 * pairs.shape[1]} ordered pairs")
    return figure


def rounds() -> Figure:
    """Decalin and bicyclopentyl, round by round."""
    pair, left, right = named_pair("decalin")
    graphs = side_by_side(left, right)
    found = refine.gpnn(graphs, gpnn.partition(graphs, "degree").colours, "pairs", rounds=3)
    places = [layout(left), layout(right)]
    figure = Figure(figsize=(11, 3.5), layout="constrained")
    panels = figure.subplots(2, 4)
    for step in range(4):
        number = np.unique(found.at(step), axis=0, return_inverse=True)[1].reshape(-1)
        _, first = np.unique(number, return_index=True)
        number = np.argsort(np.argsort(first))[number]
        shades = palette(int(number.max()) + 1)
        for g, name in enumerate((pair.left, pair.right)):
            axes, own = panels[g, step], number[graphs.ptr[g] : graphs.ptr[g + 1]]
            other = np.delete(number, np.s_[graphs.ptr[g] : graphs.ptr[g + 1]])
            alone = ~np.isin(own, other)
            lines = list(places[g][graphs[g].edges().T])
            axes.add_collection(LineCollection(lines, colors="#8a8a92", linewidths=1.4))
            axes.scatter(
                *places[g].T,
                s=130,
                c=[shades[c] for c in own],
                edgecolors=[INK if odd else "white" for odd in alone],
                linewidths=1.8,
                zorder=3,
            )
            _finish(axes, f"{name}, round {step}")
    return figure


def _finish(axes: Axes, text: str) -> None:
    title(axes, text)
    axes.set_aspect("equal")
    axes.margins(0.14)
    axes.axis("off")


if __name__ == "__main__":
    for draw in (schemes, boundary, interactions, rounds):
        save(draw(), HERE / f"concept-{draw.__name__}.png")
