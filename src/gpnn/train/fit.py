"""From samples to a model: one network, an ensemble, or cross-validation."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..data.samples import Samples, load_dataset
from ..data.split import Split, make_split
from ..errors import InputError
from ..files import writing
from ..graph.readers.files import InputNote
from ..graph.vocabulary import UnseenColours
from ..nn.learned import LearnedGPNN
from ..nn.mixture import MixedGPNN
from ..nn.model import GPNN
from ..nn.ranks import rank, together
from ..nn.sampled import check_fanout
from ..options import Whole
from .checkpoint import CHECKPOINT, describe_difference
from .conformal import calibrate
from .describe_learned import describe_learned
from .device import pick_device
from .loop import EpochReport, Trained, train_sets
from .model_file import CARD, WEIGHTS, Loaded, Member, load_model, save_model
from .replica import Replica
from .setup import Setup, model_config, set_up
from .train_config import TrainConfig

__all__ = ["Fitted", "fit"]


@dataclass(frozen=True, eq=False)
class Fitted:
    """A finished run.

    Attributes:
        loaded: the model, ready to predict.
        splits: training, validation and test samples of every network.
        histories: one record per epoch, for every network.
        best_epochs: the epochs kept, counted from 1.
        members: metrics of ``valid`` and ``test``, for every network.
        metrics: metrics of the mean prediction where the networks share a split, else the mean over
            the folds.
        out_of_fold: in cross-validation, the prediction for every sample by the network that did
            not see it, NaN where there is none, [samples, outputs].
        resumed: epochs that were already done when the run was resumed, 0 for a new run.
    """

    loaded: Loaded
    splits: tuple[Split, ...]
    histories: tuple[list[dict[str, Any]], ...]
    best_epochs: tuple[int, ...]
    members: tuple[dict[str, dict[str, float]], ...]
    metrics: dict[str, dict[str, float]]
    out_of_fold: Tensor | None
    resumed: int

    @property
    def split(self) -> Split:
        return self.splits[0]

    @property
    def history(self) -> list[dict[str, Any]]:
        """History of the first network."""
        return self.histories[0]

    @property
    def best_epoch(self) -> int:
        """Best epoch of the first network."""
        return self.best_epochs[0]

    def spread(self, part: str = "test") -> dict[str, float]:
        """Standard deviation of every metric over the networks."""
        names = self.members[0].get(part, {})
        values = {name: [one[part].get(name, math.nan) for one in self.members] for name in names}
        return {name: float(np.std(own, ddof=1)) for name, own in values.items() if len(own) > 1}


def fit(
    samples: Samples | str,
    model: Mapping[str, Any] | None = None,
    train: TrainConfig | None = None,
    split: Split | Sequence[Split] | None = None,
    *,
    ensemble: int = 1,
    seeds: Sequence[int] | None = None,
    folder: str | Path | None = None,
    report: Callable[[EpochReport], None] | None = None,
    started: Callable[[GPNN, int], None] | None = None,
    fresh: bool = False,
    facts: Mapping[str, Any] | None = None,
) -> Fitted:
    """Train a GPNN and keep the epoch that is best on the validation part.

    On a CPU the same seed gives bit-identical results, and an interrupted run resumes
    bit-identically from its last checkpoint in ``folder``.

    Args:
        samples: with labels, see :func:`~gpnn.data.samples.load_dataset`; or an argument for it.
        model: fields of :class:`~gpnn.nn.config.GPNNConfig`; those that follow from the data are
            filled in. ``base`` may be your own module.
        train: how to train; by default, epochs and batch size follow from the number of samples.
        split: training, validation and test samples, :func:`~gpnn.data.split.make_split` by
            default; or several splits, one network each (:func:`~gpnn.data.split.make_folds`).
            Splits of :func:`~gpnn.data.split.calibration_splits` give a calibrated ensemble.
        ensemble: number of networks trained on one split with consecutive seeds; their mean is the
            prediction.
        seeds: one per network, for initial weights, batch order and dropout; by default the
            consecutive seeds of an ensemble, or ``train.seed`` for every fold.
        folder: folder of the checkpoint and the model; without it, nothing is written.
        report: called after every epoch.
        started: called before the first epoch with an initial network and the epochs already done.
        fresh: delete a run in the folder instead of resuming it.
        facts: additional entries for the model file, by name.
    """
    if isinstance(samples, str):
        samples = load_dataset(samples)
    ensemble = Whole(1).read("ensemble", ensemble)
    folds = split is not None and not isinstance(split, Split)
    if folds and ensemble > 1:
        raise InputError("Give either several splits or an ensemble, not both.")
    seed = 0 if train is None else train.seed
    if split is None:
        split = make_split(samples, seed)
    splits = [split] * ensemble if isinstance(split, Split) else list(split)
    train = train or TrainConfig.sized(len(splits[0].train))
    options = dict(model or {})
    dropout = options.pop("dropout", None)
    if dropout is None:
        dropout = model_config(samples, 1, {}).dropout
    if seeds is None:
        own_seeds = [
            train.seed + (0 if folds and not len(one.calibration) else k)
            for k, one in enumerate(splits)
        ]
    else:
        own_seeds = seeds = [Whole(0).read("seeds", one) for one in seeds]
    if len(own_seeds) != len(splits):
        raise InputError(f"Give a seed for every network: {len(splits)}, not {len(own_seeds)}.")
    replicas = [
        Replica(one.train, one.valid, [], own, train.lr, train.weight_decay, dropout)  # type: ignore[arg-type]
        for one, own in zip(splits, own_seeds, strict=True)
    ]
    device = pick_device(train.device)
    setup = set_up(samples, options, replicas, train.class_weights == "balanced")
    if train.fanout is not None:
        check_fanout(train.fanout, setup.config)
    run = _describe(setup, train, splits, dropout, seeds)
    folder = None if folder is None else Path(folder)
    if folder is not None:
        if fresh and rank() == 0:
            forget_run(folder)
        together()
        loaded = _finished(folder, run)
        if loaded is not None:
            fitted = _from_file(loaded, samples, splits)
            if started is not None:
                started(loaded.model, fitted.resumed)
            return fitted
        _check_place(folder, setup)
    trained = train_sets(
        setup, replicas, train.schedule, device, folder=folder, keep_best=True, report=report,
        started=started,
    )  # fmt: skip
    fitted = _keep(setup, replicas, splits, trained, train, run, facts or {})
    if folder is not None and rank() == 0:
        save_model(folder, fitted.loaded)
        for kept in (folder, *folder.glob("set-*")):
            (kept / CHECKPOINT).unlink(missing_ok=True)
        for inside in folder.glob("set-*"):
            inside.rmdir()
    together()
    return fitted


def forget_run(folder: Path) -> None:
    """Remove what a run left in a folder."""
    for name in (CHECKPOINT, CARD, WEIGHTS):
        (folder / name).unlink(missing_ok=True)
    for inside in folder.glob("set-*"):
        (inside / CHECKPOINT).unlink(missing_ok=True)


def _keep(
    setup: Setup,
    replicas: list[Replica],
    splits: Sequence[Split],
    found: list[tuple[list[int], Trained]],
    train: TrainConfig,
    run: dict[str, Any],
    facts: Mapping[str, Any],
) -> Fitted:
    """The networks, each restricted to the parts it has seen, and their metrics."""
    samples = setup.samples
    learned: list[dict[str, Any]] = []
    mixtures: list[dict[str, Any]] = []
    by_place: dict[int, tuple[Member, list[dict[str, Any]], int, int]] = {}
    seconds = 0.0
    for own, trained in found:
        seconds += trained.curves.seconds
        for number, place in enumerate(own):
            net = trained.nets[number]
            shift, scale = (tuple(part.tolist()) for part in setup.scaling(replicas[place]))
            scaled = (shift, scale) if samples.task.scaled else ((), ())
            if isinstance(net, LearnedGPNN):
                net, scheme = net.plain()
                vocabulary = net.vocabulary
                assert vocabulary is not None
                learned.append(describe_learned(scheme, setup, replicas[place]))
            else:
                net.keep_parts(setup.own_parts(replicas[place]))
                vocabulary = setup.own_vocabulary(replicas[place])
            if isinstance(net, MixedGPNN):
                mixtures.append(net.described())
            member = Member(net.eval(), vocabulary, *scaled)
            history = _history(trained, number, train)
            best, ran = trained.best_epoch[number], trained.epochs[number]
            by_place[place] = member, history, best, ran
    rows = [by_place[place] for place in range(len(replicas))]
    loaded = Loaded(tuple(row[0] for row in rows), samples.encoder, {"run": run})
    calibration_rows = [one.calibration for one in splits]
    if all(map(len, calibration_rows)):
        assert samples.y is not None
        scaffold = "split by scaffold: no coverage is promised on other scaffolds"
        note = scaffold if splits[0].how.startswith("scaffold") else ""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnseenColours)
            outputs = loaded.outputs(samples)
        known = calibrate(samples.encoder, outputs, samples.y, calibration_rows, note)
        loaded = replace(loaded, calibration=known)
    metrics, apart, answers = _measure(loaded, samples, splits)
    first = found[0][1]
    about: dict[str, Any] = {
        "task": str(samples.task),
        "metric": samples.metric,
        "chosen_by": _chosen_by(samples, [row[1] for row in rows]),
        "metrics": metrics,
        "members": apart,
        "folds": len(splits) if _is_folds(splits) else 0,
        "best_epochs": [row[2] for row in rows],
        "epochs": [row[3] for row in rows],
        "seconds": seconds,
        "parameters": sum(p.numel() for p in loaded.model.parameters()),
        "device": first.curves.device,
        "run": run,
        "splits": _unique([{p: getattr(one, p).tolist() for p in one.sizes} for one in splits]),
        "how": splits[0].how,
        "histories": [row[1] for row in rows],
        **({"learned": learned} if learned else {}),
        **({"mixture": mixtures} if mixtures else {}),
        **facts,
    }
    loaded = replace(loaded, about=about)
    return Fitted(
        loaded, tuple(splits), tuple(about["histories"]), tuple(about["best_epochs"]),
        tuple(apart), metrics, answers, first.resumed,
    )  # fmt: skip


def _chosen_by(samples: Samples, histories: Sequence[list[dict[str, Any]]]) -> str:
    """The metric that chose the epochs; the loss if it is undefined on all validation parts."""
    name = samples.task.chosen_by(samples.outputs)
    known = any(f"valid_{name}" in record for history in histories for record in history)
    return name if known else "loss"


def _history(trained: Trained, number: int, train: TrainConfig) -> list[dict[str, Any]]:
    curves = trained.curves
    return [
        {
            "epoch": epoch + 1,
            "lr": train.lr * train.schedule.rate(epoch),
            "loss": float(curves.loss[number, epoch]),
            **{
                f"valid_{name}": float(values[number, epoch])
                for name, values in curves.measured.items()
                if not math.isnan(values[number, epoch])
            },
        }
        for epoch in range(trained.epochs[number])
    ]


def _is_folds(splits: Sequence[Split]) -> bool:
    """Whether every network has its own test part."""
    return len({id(one) for one in splits}) > 1 and not len(splits[0].calibration)


def _measure(
    loaded: Loaded, samples: Samples, splits: Sequence[Split]
) -> tuple[dict[str, dict[str, float]], list[dict[str, dict[str, float]]], Tensor | None]:
    """Metrics of all networks together, of each network, and out-of-fold predictions."""
    assert samples.y is not None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnseenColours)
        warnings.simplefilter("ignore", InputNote)  # already shown while preparing the training
        scores = _scores(loaded, samples, splits)
    apart = []
    for number, one in enumerate(splits):
        member = replace(loaded, members=loaded.members[number : number + 1])
        apart.append(
            {
                part: member.measure(scores[number][ids], samples.y[ids])
                for part, ids in _parts(one).items()
            }
        )
    if not _is_folds(splits):
        mean = scores.mean(0)
        whole = {part: loaded.measure(mean[ids], samples.y[ids])
                 for part, ids in _parts(splits[0]).items()}  # fmt: skip
        if loaded.calibration is not None:  # every network has its own validation part
            whole["valid"] = _mean_over(apart, "valid")
            if "test" in whole:
                ids = _parts(splits[0])["test"]
                whole["test"] |= loaded.coverage(mean[ids], samples.y[ids])
        return whole, apart, None
    answers = torch.full_like(scores[0], torch.nan)
    for number, one in enumerate(splits):
        ids = torch.from_numpy(one.test)
        answers[ids] = scores[number][ids]
    return {part: _mean_over(apart, part) for part in apart[0]}, apart, answers


def _scores(loaded: Loaded, samples: Samples, splits: Sequence[Split]) -> Tensor:
    """Predictions of every network for all samples; NaN for graphs in neither valid nor test."""
    if samples.task.node_level:
        return loaded.predict_members(samples)
    rows = np.unique(np.concatenate([ids for one in splits for ids in (one.valid, one.test)]))
    scores = loaded.predict_members(samples, graphs=rows)
    out = scores.new_full((len(scores), len(samples), scores.shape[2]), torch.nan)
    out[:, torch.from_numpy(rows)] = scores
    return out


def _mean_over(apart: list[dict[str, dict[str, float]]], part: str) -> dict[str, float]:
    """Mean of every metric of a part over the networks."""
    return {
        name: float(np.mean([own[part][name] for own in apart if name in own[part]]))
        for name in apart[0][part]
    }


def _parts(split: Split) -> dict[str, Tensor]:
    parts = {"valid": split.valid, "test": split.test}
    return {name: torch.from_numpy(ids) for name, ids in parts.items() if len(ids)}


def _unique(splits: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return splits[:1] if all(one == splits[0] for one in splits) else splits


def _describe(
    setup: Setup,
    train: TrainConfig,
    splits: Sequence[Split],
    dropout: float,
    seeds: Sequence[int] | None,
) -> dict[str, Any]:
    """The settings that identify the run."""
    return {
        **({} if seeds is None else {"seeds": list(seeds)}),
        "train": {k: v for k, v in asdict(train).items() if k != "device" and v is not None},
        "model": {**setup.config.to_dict(), "dropout": dropout},
        "networks": len(splits),
        "data": setup.samples.digest(),
        "split": [one.digest() for one in dict.fromkeys(splits)],
    }


def _finished(folder: Path, run: Mapping[str, Any]) -> Loaded | None:
    """The model of this run if it is finished; a model of another run raises."""
    if not (folder / CARD).is_file():
        return None
    loaded = load_model(folder)
    there, here = loaded.about.get("run"), json.loads(json.dumps(run))
    if there != here:
        what = describe_difference(there, here) if isinstance(there, dict) else "its settings"
        raise InputError(
            f"{folder} holds another run ({what}). Choose another folder with --out, or start over "
            "there with --fresh (fresh=True)."
        )
    return loaded


def _from_file(loaded: Loaded, samples: Samples, splits: Sequence[Split]) -> Fitted:
    about = loaded.about
    answers = _measure(loaded, samples, splits)[2] if about["folds"] else None
    return Fitted(
        loaded, tuple(splits), tuple(about["histories"]), tuple(about["best_epochs"]),
        tuple(about["members"]), about["metrics"], answers, max(about["epochs"]),
    )  # fmt: skip


def _check_place(folder: Path, setup: Setup) -> None:
    """Raise before training if the model could not be written."""
    if setup.config.base == "custom":
        raise InputError(
            "A model around a module of your own cannot be saved. Leave out the folder, or "
            "register a function that makes the module (gpnn.register_base) and use its name."
        )
    if folder.is_file():
        raise InputError(f"{folder} is a file. Name a folder.")
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
