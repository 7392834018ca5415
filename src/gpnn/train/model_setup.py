"""What is settled before the first step: the shape of the network, vocabulary, scaling, device."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ..data.samples import Samples
from ..data.split import Split
from ..data.tasks import Task
from ..errors import InputError
from ..graph.partition import partition
from ..graph.vocabulary import UnseenColours, Vocabulary
from ..nn.config import GPNNConfig, Level
from ..nn.model import GPNN
from ..nn.prepare import Prepared
from .model_file import prepare_samples

__all__ = [
    "base_alone",
    "deterministic",
    "model_config",
    "one_thread",
    "pick_device",
    "prepare_training",
    "seen_labels",
    "zero_unseen",
]

IntArray = NDArray[np.int64]


def model_config(samples: Samples, parts: int, options: Mapping[str, Any]) -> GPNNConfig:
    """The shape of a network for these samples; ``options`` are fields of it to choose freely.

    Where they are not given, the base is GINE if edges have labels and GIN else, and dropout is
    0.5, or 0 for a regression.
    """
    encoder, task = samples.encoder, samples.task
    decided = {
        "outputs": task.outputs(len(encoder.class_names), len(encoder.target_names)),
        "parts": parts,
        "features": encoder.features,
        "codes": encoder.codes,
        "edge_labels": len(encoder.edges),
        "level": str(Level.NODE if task.node_level else Level.GRAPH),
    }
    clash = sorted(set(options) & set(decided))
    if clash:
        raise InputError(f"{', '.join(clash)} follow from the data. Leave them out.")
    usual = {
        "base": "gine" if encoder.edges else "gin",
        "dropout": 0.0 if task is Task.REGRESSION else 0.5,
    }
    try:
        return GPNNConfig(**{**usual, **options, **decided})
    except TypeError as error:
        raise InputError(f"Unknown option of the model: {error}.") from None


def base_alone(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a model; those of a base alone cut into one part, which costs nothing."""
    if options.get("gpnn", True):
        return dict(options)
    trivial = {"scheme": "trivial", "interactions": "cross", "d": 1, "distances": False}
    return {"component_feature": False, **options, **trivial}


def prepare_training(
    samples: Samples, options: Mapping[str, Any], split: Split
) -> tuple[GPNNConfig, Prepared, tuple[float, ...], tuple[float, ...]]:
    """Configuration and prepared graphs, and shift and scale of a regression's targets.

    The vocabulary holds the colours of the training graphs: what only the others have is unseen,
    as it would be in a new graph.
    """
    if samples.y is None:
        raise InputError("Training needs labels.")
    options = base_alone(options)
    draft = model_config(samples, 1, options)
    graphs = samples.graphs
    if not samples.task.node_level:
        train = np.zeros(len(graphs), np.bool_)
        train[split.train] = True
        graphs, _ = graphs.induced(np.repeat(train, np.diff(graphs.ptr)))
    vocabulary = Vocabulary.fit(partition(graphs, draft.scheme))
    config = model_config(samples, vocabulary.size + 1, options)
    y, shift, scale = _scaled(samples, split)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnseenColours)
        prepared = prepare_samples(samples, config, vocabulary, y)
    return config, prepared, shift, scale


def _scaled(samples: Samples, split: Split) -> tuple[Tensor, tuple[float, ...], tuple[float, ...]]:
    """Targets of a regression with mean 0 and deviation 1 over the training part."""
    y = samples.y
    assert y is not None
    if samples.task is not Task.REGRESSION:
        return y, (), ()
    known = y[torch.from_numpy(split.train)].double().numpy()
    if np.isnan(known).all(axis=0).any():
        raise InputError("A target has no value in the training part. Leave it out.")
    shift, scale = np.nanmean(known, axis=0), np.nanstd(known, axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    scaled = (y.double() - torch.from_numpy(shift)) / torch.from_numpy(scale)
    return scaled.float(), tuple(shift.tolist()), tuple(scale.tolist())


@dataclass(frozen=True, eq=False)
class SeenLabels:
    """Codes of every column of the vertices, and of the edges, that a training part holds."""

    columns: tuple[Tensor, ...] = ()
    edges: Tensor | None = None


def seen_labels(samples: Samples, train_ids: IntArray) -> SeenLabels | None:
    """Which labels the training graphs have; ``None`` where all count as seen."""
    if samples.task.node_level or samples.x is None:
        return None
    train = torch.zeros(len(samples.graphs), dtype=torch.bool)
    train[torch.from_numpy(train_ids)] = True
    vertices = train[torch.from_numpy(samples.graphs.graph_of)]
    codes = () if samples.x.is_floating_point() else samples.x[vertices].unbind(1)
    columns = tuple(column.unique() for column in codes)
    if samples.edge_labels is None:
        return SeenLabels(columns)
    entries = vertices[torch.from_numpy(samples.graphs.rows)]
    return SeenLabels(columns, torch.from_numpy(samples.edge_labels)[entries].unique())


@torch.no_grad()
def zero_unseen(net: GPNN, seen: SeenLabels | None) -> None:
    """Labels that no training graph has start (and so stay) at zero, like the reserved ones."""
    if seen is None:
        return
    for column, codes in enumerate(seen.columns):
        _zero_absent(net.encoder.table[net.encoder.rows(column)], codes, 0)
    if seen.edges is None:
        return
    if net.edge_encoder is not None:
        _zero_absent(net.edge_encoder.table, seen.edges, 1)
    if net.config.gpnn and net.pair.label is not None:
        _zero_absent(net.pair.label, seen.edges, 1)


def _zero_absent(table: Tensor, codes: Tensor, first: int) -> None:
    absent = torch.ones(table.shape[0], dtype=torch.bool)
    absent[codes + first] = False
    absent[:first] = False
    table[absent] = 0


def pick_device(name: str) -> torch.device:
    """``auto`` is the first GPU, or the CPU where there is none."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        said = str(error).split("\n")[0]
        raise InputError(f"The device {name!r} cannot be used ({said}). Try 'auto'.") from None
    return device


@contextmanager
def deterministic(device: torch.device) -> Iterator[None]:
    """Random state of its own, and on a CPU the same sums in the same order every time."""
    before = torch.are_deterministic_algorithms_enabled()
    devices = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices):
        if device.type != "cpu":
            yield
            return
        torch.use_deterministic_algorithms(True)
        try:
            yield
        finally:
            torch.use_deterministic_algorithms(before)


@contextmanager
def one_thread() -> Iterator[None]:
    """Small batches run faster on one thread than on several that wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
