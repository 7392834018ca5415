"""The training loop: a set of replicas, one or many, stepped side by side.

All training uses this loop: ``gpnn train``, the estimators, the demo, ``gpnn reproduce`` and
``gpnn search``. Batches come from a source (:mod:`gpnn.train.sources`),
:class:`~gpnn.train.trainer.Trainer` takes the steps.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ..data.prepared_folder import PreparedSamples
from ..data.samples import Samples
from ..errors import InputError
from ..nn.memory import fits_often
from ..nn.model import GPNN
from ..nn.ranks import all_sum, rank, ranks
from .capture import Capture
from .checkpoint import Checkpoint
from .describe import describe
from .device import deterministic, device_name, pick_device
from .interrupt import deferred_interrupt
from .memory import keep_freed_memory
from .replica import Curves, Paused, Replica, Schedule
from .setup import Setup, set_up
from .stage import Staged, stage
from .trainer import Trainer

__all__ = [
    "EpochReport",
    "Trained",
    "groups_of",
    "train_replicas",
    "train_sets",
    "train_staged",
    "uses_resident",
]

SAVE_SECONDS = 15.0


@dataclass(frozen=True)
class EpochReport:
    """Results of an epoch, by replica.

    Attributes:
        epoch, epochs: the epoch just finished, counted from 1, and the total number.
        loss: mean training loss; ``valid``: every metric on the validation part, by name.
        best: the best epoch so far, counted from 1; ``active``: whether a replica continues.
    """

    epoch: int
    epochs: int
    loss: np.ndarray
    valid: dict[str, np.ndarray]
    best: np.ndarray
    active: np.ndarray


@dataclass(frozen=True, eq=False)
class Trained:
    """A finished training.

    Attributes:
        curves: what was measured after every epoch.
        nets: the network of every replica at its best epoch, on the CPU; empty without
            ``keep_best``.
        best_epoch: the best epoch of every replica, counted from 1.
        epochs: epochs that every replica ran before it stopped.
        resumed: epochs that were already done when the run was resumed.
    """

    curves: Curves
    nets: list[GPNN]
    best_epoch: list[int]
    epochs: list[int]
    resumed: int = 0


def train_replicas(
    samples: Samples,
    model: Mapping[str, Any] | None,
    replicas: Sequence[Replica],
    schedule: Schedule,
    *,
    device: str = "auto",
    dtype: torch.dtype = torch.float32,
    folder: Path | None = None,
    progress: Callable[[int, int], bool | None] | None = None,
    balanced: bool = False,
) -> Curves:
    """Train a set of replicas side by side and measure all of them after every epoch.

    Every replica gives the same result as when it is trained alone: it has its own weights,
    batches, dropout, batch statistics and optimiser, which depend only on its seed and data.
    Replicas with different numbers of steps per epoch are trained in separate sets.

    Args:
        samples: with labels.
        model: fields of :class:`~gpnn.nn.config.GPNNConfig` except ``dropout``, shared by all.
        replicas: data, seed, step size, weight decay and dropout of each replica.
        schedule: epochs and steps, shared by all.
        device: ``auto``, ``cpu``, ``cuda`` …; on a GPU the step is captured.
        folder: where the state is stored; an interrupted run resumes from there.
        progress: called with the number of epochs done and in total; if it returns ``False``, the
            run ends with :class:`~gpnn.train.replica.Paused`, and with a folder it can be resumed.
        balanced: whether all classes have equal weight in the loss, whatever their frequency.
    """
    began = time.perf_counter()
    setup, where = set_up(samples, model, replicas, balanced), pick_device(device)
    results = train_sets(
        setup, replicas, schedule, where, dtype=dtype, folder=folder, progress=progress,
        began=began,
    )  # fmt: skip
    return Curves.join(
        [trained.curves for _, trained in results], [places for places, _ in results]
    )


def train_sets(
    setup: Setup,
    replicas: Sequence[Replica],
    schedule: Schedule,
    device: torch.device,
    *,
    dtype: torch.dtype = torch.float32,
    folder: Path | None = None,
    keep_best: bool = False,
    progress: Callable[[int, int], bool | None] | None = None,
    report: Callable[[EpochReport], None] | None = None,
    started: Callable[[GPNN, int], None] | None = None,
    began: float | None = None,
) -> list[tuple[list[int], Trained]]:
    """Train the replicas in sets that can be stepped side by side. Returns the indices of the
    replicas of every set, and its result. Arguments as in :func:`train_replicas` and
    :func:`train_staged`, except that ``started`` is also called with an initial network of the
    first set; ``began`` is the time at which the caller started to prepare."""
    began = time.perf_counter() if began is None else began
    sets = groups_of(setup, replicas, schedule)
    results = []
    for number, places in enumerate(sets):
        resident = schedule.fanout is None and uses_resident(setup, device)
        staged = stage(setup, [replicas[r] for r in places], schedule, dtype, resident)
        inside = folder
        if folder is not None and len(sets) > 1:
            inside = Path(folder) / f"set-{number}"

        def all_done(done: int, total: int, number: int = number) -> bool | None:
            return None if progress is None else progress(number * total + done, len(sets) * total)

        def first_started(resumed: int, number: int = number, net: GPNN = staged.nets[0]) -> None:
            if started is not None and number == 0:
                started(net, resumed)

        trained = train_staged(
            staged, device, folder=inside, keep_best=keep_best, progress=all_done, report=report,
            started=first_started, waited=time.perf_counter() - began,
        )  # fmt: skip
        results.append((places, trained))
        began = time.perf_counter()
    return results


def groups_of(setup: Setup, replicas: Sequence[Replica], schedule: Schedule) -> list[list[int]]:
    """Groups of replicas that are trained side by side: those with the same number of steps per
    epoch. Models with a user-defined module, and models on blocks of a graph, are trained one by
    one."""
    if not setup.stackable or schedule.fanout is not None:
        return [[r] for r in range(len(replicas))]
    groups: dict[int, list[int]] = {}
    for r, one in enumerate(replicas):
        groups.setdefault(schedule.steps_of(one, setup.task.node_level), []).append(r)
    return list(groups.values())


def uses_resident(setup: Setup, device: torch.device) -> bool:
    """Whether batches are assembled on the device. This is the case on a GPU, unless the base is
    user-defined, the graphs stay on disk, several processes share batches, or a graph has hubs
    whose classes share sums, which batches of fixed shape do not support."""
    mapped = isinstance(setup.samples, PreparedSamples)
    if device.type != "cuda" or not setup.stackable or mapped or ranks() > 1:
        return False
    return not (setup.config.gpnn and setup.prepared.classes.shares)


def train_staged(
    staged: Staged,
    device: torch.device,
    *,
    folder: Path | None = None,
    keep_best: bool = False,
    progress: Callable[[int, int], bool | None] | None = None,
    report: Callable[[EpochReport], None] | None = None,
    started: Callable[[int], None] | None = None,
    waited: float = 0.0,
) -> Trained:
    """Train staged replicas; other arguments as in :func:`train_replicas`.

    Args:
        keep_best: whether to keep the network of the best epoch on the validation part.
        report: called after every epoch with its results.
        started: called before the first epoch with the number of epochs already done.
        waited: seconds the caller spent until staging was done. The time to set up the device is
            added; the sum is recorded as preparation time.
    """
    try:
        with deterministic(device):
            return _train(staged, device, folder, keep_best, progress, report, started, waited)
    except torch.OutOfMemoryError:
        raise InputError(
            f"{len(staged.replicas)} replicas in batches of {staged.schedule.batch_size} do not "
            "fit into the memory of the device. Use smaller batches, fewer replicas at once or a "
            "smaller model."
        ) from None


def _train(
    staged: Staged,
    device: torch.device,
    folder: Path | None,
    keep_best: bool,
    progress: Callable[[int, int], bool | None] | None,
    report: Callable[[EpochReport], None] | None,
    started: Callable[[int], None] | None,
    waited: float,
) -> Trained:
    schedule, began = staged.schedule, time.perf_counter()
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    trainer = Trainer(staged, device, keep_best)
    if device.type == "cpu":
        keep_freed_memory(_keeps_all(trainer))
    kept = None if folder is None else Checkpoint(folder, describe(staged, keep_best))
    resumed, spent = (0, 0.0) if kept is None else kept.restore(trainer.state())
    trainer.source.reset(trainer.step)
    prepared = waited + time.perf_counter() - began
    if started is not None:
        started(resumed)
    train, check = Capture(trainer, trainer.train_step), Capture(trainer, trainer.measure_step)
    measures = trainer.source.measures or keep_best
    watched = keep_best and (schedule.patience is not None or report is not None)
    began = last = time.perf_counter()
    done = resumed
    going = _goes_on(trainer, done)
    with deferred_interrupt() as ctrl_c:
        while done < schedule.epochs and going:
            trainer.net.train()
            trainer.seed_epoch(done)
            for _ in range(trainer.steps):
                train()
            trainer.net.eval()
            if measures:
                check()
            train.keep_up()
            done += 1
            if watched:
                going = _goes_on(trainer, done)
            if report is not None:
                report(_report(trainer, done))
            now = time.perf_counter()
            paused = progress is not None and progress(done, schedule.epochs) is False
            over = done == schedule.epochs or not going
            asked = ctrl_c.asked
            if ranks() > 1:  # a stop request to one process stops all
                votes = torch.tensor([paused, asked], device=trainer.step.device).int()
                paused, asked = (all_sum(votes) > 0).tolist()
            stop = over or paused or asked
            if kept is not None and rank() == 0 and (stop or now - last > SAVE_SECONDS):
                kept.keep(trainer.state(), done, spent + now - began)
                last = now
            if asked:
                raise KeyboardInterrupt
            if paused and not over:
                raise Paused
    (valid, test), best, epochs = _outcome(trainer, done)
    seconds = spent + time.perf_counter() - began
    about: dict[str, object] = {
        "prepare_seconds": prepared,
        "replicas": len(staged.replicas),
        "captured": train.captured,
    }
    if device.type == "cuda":
        about["memory_bytes"] = torch.cuda.max_memory_allocated(device)
    names = trainer.metrics
    curves = Curves(
        names[1],
        _until(trainer.loss.cpu().numpy(), epochs),
        valid[1],
        test[1],
        trainer.parameters,
        seconds,
        device_name(device),
        about,
        dict(zip(names, valid, strict=True)),
    )
    nets = [net.cpu() for net in trainer.networks()] if keep_best else []
    return Trained(curves, nets, best, epochs, resumed)


def _keeps_all(trainer: Trainer) -> bool:
    """Whether all steps use the same graph and the process can keep the memory that they free."""
    staged = trainer.staged
    if not staged.setup.task.node_level or staged.schedule.fanout is not None:
        return False
    batch, _ = trainer.source.take(trainer.step)
    width = staged.setup.config.hidden
    return fits_often(batch, width, trainer.adam.value, len(staged.replicas))


def _goes_on(trainer: Trainer, done: int) -> bool:
    """Whether any replica still trains; with ``keep_best``, a loss that is not finite raises."""
    if trainer.best is None or not done:
        return True
    losses = trainer.loss[:, done - 1]
    if not bool(torch.isfinite(losses).all()):
        raise InputError(f"The loss is no longer finite after epoch {done}. Lower lr.")
    return bool(trainer.best.active(torch.tensor(done, device=losses.device)).any())


def _report(trainer: Trainer, done: int) -> EpochReport:
    valid = trainer.curves[0, :, :, done - 1].cpu().numpy()
    assert trainer.best is not None
    active = trainer.best.active(torch.tensor(done, device=trainer.device))
    return EpochReport(
        done,
        trainer.schedule.epochs,
        trainer.loss[:, done - 1].cpu().numpy(),
        dict(zip(trainer.metrics, valid, strict=True)),
        trainer.best.epoch.cpu().numpy(),
        active.cpu().numpy(),
    )


def _outcome(trainer: Trainer, done: int) -> tuple[np.ndarray, list[int], list[int]]:
    """Curves up to the epoch where each replica stopped, best epochs, and epochs run."""
    count = len(trainer.staged.replicas)
    best, epochs = [done] * count, [done] * count
    if trainer.best is not None:
        best = trainer.best.epoch.tolist()
        if trainer.best.patience is not None:
            epochs = trainer.best.last().clamp(max=done).tolist()
    return _until(trainer.curves.cpu().numpy(), epochs), best, epochs


def _until(curves: np.ndarray, epochs: Sequence[int]) -> np.ndarray:
    """Set the epochs after a replica stopped, while others continued, to NaN."""
    stop = np.asarray(epochs)[:, None]
    return np.where(np.arange(curves.shape[-1]) < stop, curves, np.nan)
