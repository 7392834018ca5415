"""Description of a learned scheme: its parts, and a small decision tree that imitates it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..graph.learned import OFFSET, PROFILE, LearnedScheme, part_name
from .replica import Replica
from .setup import Setup

__all__ = ["bounds", "describe_learned", "tree_of"]

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
    of the vertices for which it predicts the right part."""
    from sklearn.tree import DecisionTreeClassifier, export_text

    x, used = bounds(cells), weight > 0
    tree = DecisionTreeClassifier(max_depth=DEPTH, random_state=0)
    tree.fit(x[used], parts[used], sample_weight=weight[used])
    same = tree.predict(x[used]) == parts[used]
    fidelity = float(np.average(same, weights=weight[used]))
    names = [f"part {part_name(label)}" for label in tree.classes_.tolist()]
    text: str = export_text(tree, feature_names=list(PROFILE), class_names=names, decimals=2)
    return text.replace("class: ", ""), fidelity


def bounds(cells: NDArray[np.int64]) -> NDArray[np.float64]:
    """The smallest value of every bin, used as threshold in the text of the tree."""
    counts, eighths = cells[:, :4].astype(np.float64), cells[:, 4:]
    low = np.where(counts < 4, counts, 2.0 ** (counts - 2))
    return np.hstack([low, np.maximum(0.0, (eighths - OFFSET) / 8)])
