"""Training, top to bottom."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..data.samples import Samples
from ..data.split import Split, make_split
from ..data.tasks import Task
from ..errors import InputError
from ..nn.batch import GraphBatch
from ..nn.model import GPNN
from ..nn.prepare import Prepared
from .adamw import parameter_groups
from .checkpoint import CHECKPOINT, State, load_state, save_state
from .model_file import CARD, WEIGHTS, Loaded, save_model
from .model_setup import deterministic, pick_device, prepare_training, seen_labels, zero_unseen

__all__ = ["Epoch", "Fitted", "TrainConfig", "fit"]

IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class TrainConfig:
    """How a model is trained.

    Attributes:
        epochs: passes over the training part, at most; ``patience``: passes without a better
            validation metric after which to stop.
        batch_size: graphs in a batch, at most (batches of an epoch are equally large).
        lr, halve_every: Adam's step size and the number of epochs after which it is halved.
        weight_decay: decoupled, as in AdamW, of weight matrices alone.
        seed: of weights, split, order and dropout.
        device: ``auto``, ``cpu``, ``cuda``, ``cuda:1`` …
        amp: bf16 mixed precision.
    """

    epochs: int = 200
    patience: int = 60
    batch_size: int = 32
    lr: float = 0.01
    halve_every: int = 50
    weight_decay: float = 0.0
    seed: int = 0
    device: str = "auto"
    amp: bool = False

    def __post_init__(self) -> None:
        for name in ("epochs", "patience", "batch_size", "halve_every"):
            if not isinstance(getattr(self, name), int) or getattr(self, name) < 1:
                raise InputError(
                    f"{name} must be a whole number from 1; got {getattr(self, name)}."
                )
        if not self.lr > 0 or not math.isfinite(self.lr):
            raise InputError(f"lr must be above 0; got {self.lr}.")
        if not self.weight_decay >= 0:
            raise InputError(f"weight_decay must be 0 or more; got {self.weight_decay}.")
        if not 0 <= self.seed < 2**31:
            raise InputError(f"seed must be a whole number from 0 to 2^31 - 1; got {self.seed}.")


@dataclass(frozen=True)
class Epoch:
    """What a callback is told after every epoch."""

    epoch: int
    epochs: int
    record: Mapping[str, Any]
    best: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Fitted:
    """A finished run: the model of the best epoch and how it came about.

    Attributes:
        loaded: the model, ready to predict.
        split: which samples trained, validated and tested.
        history: one record per epoch.
        best_epoch: the epoch kept, counted from 1.
        metrics: of ``valid`` and ``test``.
        resumed: epochs that were already done when the run went on, 0 for a fresh one.
    """

    loaded: Loaded
    split: Split
    history: list[dict[str, Any]]
    best_epoch: int
    metrics: dict[str, dict[str, float]]
    resumed: int


def fit(
    samples: Samples,
    model: Mapping[str, Any] | None = None,
    train: TrainConfig | None = None,
    split: Split | None = None,
    folder: str | Path | None = None,
    callback: Callable[[Epoch], None] | None = None,
    fresh: bool = False,
    started: Callable[[Loaded, int], None] | None = None,
) -> Fitted:
    """Train a GPNN and keep the epoch that is best on the validation part.

    On a CPU the same seed gives the same bits, and a run that was killed goes on from its last
    epoch in ``folder`` to the same bits as one that was not.

    Args:
        samples: with labels.
        model: fields of :class:`~gpnn.nn.config.GPNNConfig`; what the data decides is filled in.
        train: how to train.
        split: which samples train, validate and test; :func:`make_split` by default.
        folder: where checkpoint and model go; nothing is written without one.
        callback: called after every epoch, with its checkpoint written.
        fresh: forget a run in the folder instead of going on with it.
        started: called before the first epoch with the model and the epochs already done.
    """
    train = train or TrainConfig()
    split = split or make_split(samples, train.seed)
    device = pick_device(train.device)
    task = samples.task
    config, prepared, shift, scale = prepare_training(samples, model or {}, split)
    run = {
        "train": {k: v for k, v in asdict(train).items() if k != "device"},
        "model": config.to_dict(),
        "data": samples.digest(),
        "split": split.digest(),
    }
    folder = None if folder is None else Path(folder)
    if folder is not None and fresh:
        for name in (CHECKPOINT, CARD, WEIGHTS):
            (folder / name).unlink(missing_ok=True)

    with deterministic(device):
        torch.manual_seed(train.seed)
        net = GPNN(config)
        zero_unseen(net, seen_labels(samples, split.train))
        net.to(device)
        groups = parameter_groups(net, train.weight_decay)
        optimiser = torch.optim.AdamW(groups, train.lr, fused=True)
        state = (load_state(folder, net, optimiser, run) if folder is not None else None) or State()
        resumed = state.epoch
        loaded = Loaded(net, prepared.vocabulary, samples.encoder, shift, scale)
        checks = list(_batches(prepared, split.valid, 256, device))
        if started is not None:
            started(loaded, resumed)

        while state.epoch < train.epochs and state.epoch - state.best_epoch < train.patience:
            began, epoch = time.perf_counter(), state.epoch
            torch.manual_seed(train.seed * 1_000_003 + epoch + 1)
            order = np.random.default_rng((train.seed, epoch)).permutation(split.train)
            for group in optimiser.param_groups:
                group["lr"] = train.lr * 0.5 ** (epoch // train.halve_every)
            net.train()
            total, seen = 0.0, 0
            for batch, rows in _batches(prepared, order, train.batch_size, device):
                with torch.autocast(device.type, torch.bfloat16, enabled=train.amp):
                    outputs = net(batch)
                loss = task.loss(outputs.float()[rows], _labels(batch)[rows])
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
                total, seen = total + loss.item() * batch.num_graphs, seen + batch.num_graphs
            valid = _measure(loaded, checks, train.amp)
            record = {
                "epoch": epoch + 1,
                "lr": optimiser.param_groups[0]["lr"],
                "loss": total / seen,
                **{f"valid_{name}": value for name, value in valid.items()},
                "seconds": time.perf_counter() - began,
            }
            if not math.isfinite(record["loss"] + valid["loss"]):
                raise InputError(f"The loss is no longer finite after epoch {epoch + 1}. Lower lr.")
            state.history.append(record)
            key = _key(task, valid)
            if state.best_key is None or key > state.best_key:
                state.best_key, state.best_epoch = key, epoch + 1
                state.best = {name: value.clone() for name, value in net.state_dict().items()}
            if folder is not None:
                save_state(folder, state, net, optimiser, run)
            if callback is not None:
                callback(
                    Epoch(epoch + 1, train.epochs, record, state.history[state.best_epoch - 1])
                )

        net.load_state_dict(state.best)
        metrics = {"valid": _measure(loaded, checks, train.amp)}
        if len(split.test):
            last = _batches(prepared, split.test, 256, device)
            metrics["test"] = _measure(loaded, last, train.amp)
    about = {
        "task": str(task),
        "metric": task.metric,
        "metrics": metrics,
        "best_epoch": state.best_epoch,
        "epochs": state.epoch,
        "seconds": sum(record["seconds"] for record in state.history),
        "parameters": sum(p.numel() for p in net.parameters()),
        "device": str(device),
        "run": run,
        "split": {part: getattr(split, part).tolist() for part in ("train", "valid", "test")},
        "history": state.history,
    }
    loaded = replace(loaded, about=about)
    if folder is not None:
        save_model(folder, loaded)
    return Fitted(loaded, split, state.history, state.best_epoch, metrics, resumed)


def _batches(
    prepared: Prepared, ids: IntArray, size: int, device: torch.device
) -> Iterator[tuple[GraphBatch, Tensor | slice]]:
    """Batches of nearly equal size and the rows of them that count. In a node task there is one
    batch with all graphs, and ``ids`` are the vertices that count."""
    if prepared.node_level:
        yield prepared.batch().to(device), torch.from_numpy(np.sort(ids)).to(device)
        return
    for part in np.array_split(ids, -(-len(ids) // size)):
        yield prepared.batch(part).to(device), slice(None)


def _labels(batch: GraphBatch) -> Tensor:
    assert batch.y is not None
    return batch.y


def _measure(
    loaded: Loaded, batches: Iterable[tuple[GraphBatch, Tensor | slice]], amp: bool
) -> dict[str, float]:
    """Loss and metrics over batches, in eval mode."""
    net, task = loaded.model.eval(), loaded.encoder.task
    outputs, labels = [], []
    with torch.no_grad():
        for batch, rows in batches:
            with torch.autocast(batch.part.device.type, torch.bfloat16, enabled=amp):
                found = net(batch)
            outputs.append(found.float()[rows].cpu())
            labels.append(_labels(batch)[rows].cpu())
    out, y = torch.cat(outputs), torch.cat(labels)
    loss = float(task.loss(out, y))
    return {"loss": loss, **task.measure(loaded.scores(out), loaded.unscaled(y))}


def _key(task: Task, valid: Mapping[str, float]) -> tuple[float, float]:
    """What makes an epoch better: the metric, then the loss."""
    metric = valid.get(task.metric)
    if metric is None:
        return (-math.inf, -valid["loss"])
    return (metric if task.higher_is_better else -metric, -valid["loss"])
