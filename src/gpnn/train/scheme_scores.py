"""Partitions measured without training a network: statistics of a scheme on a dataset, and how much
of the target its part histogram explains.

The histogram of a graph counts its vertices by part. A linear model of it (ridge regression, or
logistic regression for classes) predicts the target of held-out graphs, in five folds over the
training and validation graphs; test graphs are never used. In a node task the model reads the part
of a vertex and the counts of its neighbours' parts. ``trivial`` has one part, so its score is that
of the number of vertices; what another scheme scores above it comes from its parts.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.samples import Samples
from ..data.split import make_split
from ..data.tasks import Task
from ..errors import InputError
from ..graph.classes import interaction_classes
from ..graph.partition import Partition, partition
from ..graph.structure import Structure

__all__ = ["CANDIDATES", "SchemeScore", "explained", "part_histogram", "score_schemes"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CANDIDATES = (
    "trivial", "degree", "core", "core-degree", "core-onion", "triangle", "wl-2", "ego-1",
    "core-degree+triangle",
)  # fmt: skip
"""Schemes measured by default."""

COLUMNS = 64
"""Maximum number of parts that the linear model reads: the most frequent ones."""
TARGETS = 12
"""Maximum number of targets that are predicted: those with the most labels."""
FOLDS = 5


@dataclass(frozen=True)
class SchemeScore:
    """Statistics of a scheme on a dataset.

    Attributes:
        scheme: its name.
        parts: number of parts in the training graphs; ``largest``: share of the vertices in the
            largest part.
        cross: share of the edges between different parts.
        unseen: share of the validation vertices in parts that no training graph has.
        classes: number of classes of pairs after every round.
        tuples: tuples that Equation 2 sums over for all classes of all rounds: the cost of the
            look-up.
        explained: score of the part histogram on held-out graphs; ``metric``: name of the score.
        seconds: time to measure all this.
        reason: why the scheme cannot be used here, or "".
    """

    scheme: str
    parts: int = 0
    largest: float = 0.0
    cross: float = 0.0
    unseen: float = 0.0
    classes: tuple[int, ...] = ()
    tuples: int = 0
    explained: float | None = None
    metric: str = ""
    seconds: float = 0.0
    reason: str = ""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def score_schemes(
    samples: Samples,
    schemes: Sequence[str] = CANDIDATES,
    interactions: str = "edges",
    d: int = 1,
    layers: int = 3,
    seed: int = 0,
) -> Iterator[SchemeScore]:
    """Measure schemes one by one; a scheme that cannot be used (too costly, say) has a reason."""
    split = make_split(samples, seed)
    seen = np.concatenate([split.train, split.valid])
    for scheme in schemes:
        began = time.perf_counter()
        try:
            cut = partition(samples.graphs, scheme)
            structure = Structure(scheme, interactions, d, layers)
            table = interaction_classes(
                samples.graphs, cut.part, structure, edge_labels=samples.edge_labels
            )
        except InputError as error:
            yield SchemeScore(scheme, reason=str(error))
            continue
        sizes = cut.sizes
        metric, value = explained(samples, part_histogram(samples, cut), seen, seed)
        yield SchemeScore(
            scheme=scheme,
            parts=len(np.unique(cut.part[_vertices(samples, split.train)])),
            largest=float(sizes.max() / max(1, sizes.sum())),
            cross=float(cut.cross.mean()) if len(cut.cross) else 0.0,
            unseen=_unseen(samples, cut, split.train, split.valid),
            classes=tuple(one.size for one in table.tables),
            tuples=sum(len(one.entry_tuple) for one in table.tables),
            explained=value,
            metric=metric,
            seconds=round(time.perf_counter() - began, 3),
        )


def part_histogram(samples: Samples, found: Partition) -> Floats:
    """Number of vertices of every graph by part, with one column per frequent part and one for all
    others, [graphs, columns]; in a node task, the part of every vertex (one-hot) and the counts of
    its neighbours' parts."""
    frequent = np.sort(np.argsort(-found.sizes, kind="stable")[:COLUMNS])
    column = np.full(found.num_parts, len(frequent), np.int64)
    column[frequent] = np.arange(len(frequent))
    own, width = column[found.part], len(frequent) + 1
    graphs = found.graphs
    if not samples.task.node_level:
        counts = np.bincount(graphs.graph_of * width + own, minlength=len(graphs) * width)
        return counts.reshape(len(graphs), width).astype(np.float64)
    around = np.bincount(
        graphs.rows * width + own[graphs.indices], minlength=graphs.num_nodes * width
    )
    return np.hstack([np.eye(width)[own], around.reshape(-1, width)])


def explained(
    samples: Samples, features: Floats, chosen: Ints, seed: int = 0
) -> tuple[str, float | None]:
    """``(metric, score)`` of a linear model in cross-validation on the chosen samples: R² for
    regression, ROC-AUC for two classes, accuracy for more; averaged over several targets."""
    assert samples.y is not None
    y, x = samples.y.numpy()[chosen], features[chosen]
    if samples.task.has_classes:
        known = y >= 0
        binary = len(samples.class_names) == 2
        metric = "roc_auc" if binary else "accuracy"
        return metric, _held_out(x[known], y[known], metric, seed)
    metric = "roc_auc" if samples.task is Task.MULTITASK else "r2"
    known = ~np.isnan(y)
    most = np.argsort(-known.sum(0), kind="stable")[:TARGETS]
    scores = [_held_out(x[known[:, t]], y[known[:, t], t], metric, seed) for t in most]
    there = [one for one in scores if one is not None]
    return metric, float(np.mean(there)) if there else None


def _held_out(x: Floats, y: NDArray[Any], metric: str, seed: int) -> float | None:
    """The mean score over the folds; ``None`` where there are too few samples, or where fewer than
    two classes or values remain."""
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if metric == "r2":
        if len(y) < 2 * FOLDS or np.ptp(y) == 0:
            return None
        folds: Any = KFold(FOLDS, shuffle=True, random_state=seed)
        model = make_pipeline(StandardScaler(), Ridge())
    else:
        names, counts = np.unique(y, return_counts=True)
        often = np.isin(y, names[counts >= FOLDS])  # a class must be in every fold
        x, y = x[often], y[often].astype(np.int64)
        if len(np.unique(y)) < 2:
            return None
        folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
        model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1_000))
    return float(cross_val_score(model, x, y, cv=folds, scoring=metric).mean())


def _vertices(samples: Samples, chosen: Ints) -> NDArray[np.bool_]:
    """Mask of the vertices of the chosen samples."""
    inside = np.zeros(len(samples), np.bool_)
    inside[chosen] = True
    return inside if samples.task.node_level else inside[samples.graphs.graph_of]


def _unseen(samples: Samples, found: Partition, train: Ints, valid: Ints) -> float:
    known = np.zeros(found.num_parts, np.bool_)
    known[found.part[_vertices(samples, train)]] = True
    checked = found.part[_vertices(samples, valid)]
    return float((~known[checked]).mean()) if len(checked) else 0.0
