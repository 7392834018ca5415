"""Description of a learned scheme: its parts, and a small decision tree that imitates it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..graph.learned import PROFILE, LearnedScheme, part_name, smallest
from .replica import Replica
from .setup import Setup

__all__ = ["describe_learned", "tree_of"]

DEPTH = 3


def describe_learned(scheme: LearnedScheme, setup: Setup, replica: Replica) -> dict[str, Any]:
    """Statistics of the training graphs: number of vertices of every part, parts without vertices
    (dead), share of cross edges, and the tree with its fidelity."""
    own = setup.training_vertices(replica)
    cells = setup.cut.parts
    part_of_cell = scheme.of_profiles(cells)
    part = part_of_cell[setup.cut.part]
    sizes = np.bincount(part[own], minlength=scheme.parts)
    graphs = setup.samples.graphs
    inside = own[graphs.rows]
    cross = part[graphs.rows] != part[graphs.indices]
    weight = np.bincount(setup.cut.part[own], minlength=len(cells))
    text, fidelity = tree_of(cells, part_of_cell, weight)
    return {
        "scheme": scheme.scheme.name,
        "vertices": sizes.tolist(),
        "dead": [part_name(part) for part in np.flatnonzero(sizes == 0).tolist()],
        "cross": round(float(cross[inside].mean()), 4) if inside.any() else 0.0,
        "tree": text,
        "fidelity": round(fidelity, 4),
    }


def tree_of(
    cells: NDArray[np.int64], parts: NDArray[np.int64], weight: NDArray[np.int64]
) -> tuple[str, float]:
    """A decision tree of depth 3 that maps profiles to parts, as text, and its fidelity: the share
    of the vertices for which it predicts the right part. Thresholds in the text are values of the
    invariants, not bins, so that it can be applied to any graph."""
    from sklearn.tree import DecisionTreeClassifier

    used = weight > 0
    tree = DecisionTreeClassifier(max_depth=DEPTH, random_state=0)
    tree.fit(cells[used], parts[used], sample_weight=weight[used])
    same = tree.predict(cells[used]) == parts[used]
    fidelity = float(np.average(same, weights=weight[used]))
    return "\n".join(_lines(tree.tree_, tree.classes_.tolist(), 0, "|--- ")) + "\n", fidelity


def _lines(tree: Any, classes: list[int], node: int, before: str) -> list[str]:
    """The text of a node and those below it; a node whose leaves all have one part is a leaf."""
    found = _parts_below(tree, node)
    if len(found) == 1:
        return [f"{before}part {part_name(classes[found.pop()])}"]
    column, last = int(tree.feature[node]), math.floor(tree.threshold[node])
    name, end = PROFILE[column], f"{smallest(column, last + 1):.4g}"
    deeper = "|   " + before
    return [
        f"{before}{name} < {end}",
        *_lines(tree, classes, tree.children_left[node], deeper),
        f"{before}{name} >= {end}",
        *_lines(tree, classes, tree.children_right[node], deeper),
    ]


def _parts_below(tree: Any, node: int) -> set[int]:
    """The classes that the leaves below a node predict, as positions."""
    if tree.children_left[node] < 0:
        return {int(tree.value[node][0].argmax())}
    below = (tree.children_left[node], tree.children_right[node])
    return set().union(*(_parts_below(tree, one) for one in below))
