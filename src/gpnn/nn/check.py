"""Checks the invariance of a model: relabel and rebatch the input and compare the output."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch

from .model import GPNN
from .prepare import Prepared, prepare_graphs

__all__ = ["ModelInvariance", "check_model_invariance"]


@dataclass(frozen=True)
class ModelInvariance:
    """Largest differences relative to the largest output; true if all are within rounding."""

    relabelled: float
    rebatched: float
    repeated: float
    tolerance: float

    def __bool__(self) -> bool:
        return max(self.relabelled, self.rebatched, self.repeated) <= self.tolerance


def check_model_invariance(model: GPNN, prepared: Prepared, seed: int = 0) -> ModelInvariance:
    """Compare outputs of ``model`` in eval mode for the original graphs, for relabelled vertices,
    for one graph at a time, and for a repeated run."""
    was_training = model.training
    model.eval()
    parameter = next(model.parameters())
    order = prepared.graphs.permutation(np.random.default_rng(seed))

    def run(source: Prepared, graphs: object = None) -> torch.Tensor:
        with torch.no_grad():
            return model(source.batch(graphs).to(parameter.device, parameter.dtype))

    before = run(prepared)
    scale = float(before.abs().max().clamp(min=1e-30)) if before.numel() else 1.0
    renamed = run(_relabelled(prepared, model, order))
    if model.config.level == "node":
        renamed = renamed[torch.from_numpy(order)]
    alone = (
        torch.cat([run(prepared, [g]) for g in range(len(prepared))]) if len(prepared) else before
    )

    def gap(after: torch.Tensor) -> float:
        return float((after - before).abs().max()) / scale if before.numel() else 0.0

    result = ModelInvariance(
        gap(renamed), gap(alone), gap(run(prepared)), float(torch.finfo(before.dtype).eps) ** 0.6
    )
    model.train(was_training)
    return result


def _relabelled(prepared: Prepared, model: GPNN, order: np.ndarray) -> Prepared:
    back = np.argsort(order)
    graphs = replace(prepared.graphs, node_labels=None, edge_labels=prepared.edge_label)
    entries = np.arange(len(graphs.indices))
    moved = graphs.relabelled(order)
    where = replace(graphs, edge_labels=entries).relabelled(order).edge_labels
    assert moved.edge_labels is not None and where is not None
    labelled = model.config.edge_labels > 0
    return prepare_graphs(
        moved,
        prepared.structure,
        prepared.vocabulary,
        x=prepared.x[torch.from_numpy(back)],
        edge_labels=moved.edge_labels - 1 if labelled else None,
        edge_features=None if prepared.edge_features is None else prepared.edge_features[where],
        direct=not prepared.classes.merged,
    )
