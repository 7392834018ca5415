"""Replicas trained side by side, their schedule, and the resulting curves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..data.tasks import higher_is_better
from ..errors import InputError
from ..options import Whole, check_options

__all__ = ["Curves", "Paused", "Replica", "Schedule", "best_epoch"]

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

SAMPLED = 1_024
"""Maximum number of training graphs for batch statistics before a network is measured."""


class Paused(Exception):
    """Training ended before its last epoch because ``progress`` returned ``False``."""


@dataclass(frozen=True, eq=False)
class Replica:
    """One model of a set: its data and the hyper-parameters that may differ within the set.

    Attributes:
        train, valid, test: numbers of graphs (of vertices in a node task); ``valid`` and ``test``
            may be empty. ``valid`` chooses the epoch; ``test`` is measured after every epoch.
        seed: random seed for weights, batch order and dropout.
        lr, weight_decay, dropout: of this model only. The decay is decoupled and applies only to
            weight matrices.
    """

    train: IntArray
    valid: IntArray
    test: IntArray
    seed: int = 0
    lr: float = 0.01
    weight_decay: float = 0.0
    dropout: float = 0.0

    def __post_init__(self) -> None:
        for name in ("train", "valid", "test"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), np.int64))
        if not len(self.train):
            raise InputError("A replica has nothing to train on. Give it training samples.")
        check_options(self, ("lr", "weight_decay", "dropout", "seed"))

    @property
    def origin(self) -> tuple[int, bytes]:
        """Seed and training part. Replicas that share both start from the same weights and see the
        same batches, whatever their other settings are."""
        return self.seed, self.train.tobytes()


@dataclass(frozen=True)
class Schedule:
    """Number of epochs, batches and step sizes of a set of replicas.

    Attributes:
        epochs: maximum number of epochs.
        batch_size: maximum number of graphs in a batch.
        halve_every: epochs after which the step size is halved, or ``None`` for never.
        cosine: whether the step size falls to zero along a cosine.
        warmup: epochs over which the step size first rises from near zero.
        plateau: a replica halves its step size after more than this number of epochs without
            improvement on the validation part, as PyTorch's ``ReduceLROnPlateau`` does; ``None``:
            never.
        steps: random batches per epoch; ``None``: one pass, in batches whose sizes differ by at
            most one graph. A node task takes one step with the whole graph, unless ``fanout`` is
            given.
        patience: epochs without improvement on the validation part after which a replica stops;
            ``None``: never.
        fanout: for vertices of one large graph, batches are blocks with this number of neighbours,
            see :mod:`gpnn.nn.sampled`; ``None``: the whole graph.
    """

    epochs: int = 200
    batch_size: int = 32
    halve_every: int | None = 50
    steps: int | None = None
    patience: int | None = None
    cosine: bool = False
    warmup: int = 0
    plateau: int | None = None
    fanout: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        check_options(
            self,
            ("epochs", "batch_size", "patience", "cosine"),
            dict.fromkeys(("halve_every", "steps", "plateau"), Whole(1)),
            optional=("halve_every", "steps", "patience", "plateau"),
        )
        check_options(self, (), {"warmup": Whole(0, self.epochs - 1)})
        if self.cosine and self.halve_every is not None:
            raise InputError("cosine cannot be used with halve_every. Set halve_every to None.")

    def rate(self, epoch: int) -> float:
        """The factor of the step size in an epoch, counted from 0."""
        if epoch < self.warmup:
            return (epoch + 1) / (self.warmup + 1)
        factor = 1.0 if self.halve_every is None else 0.5 ** (epoch // self.halve_every)
        if self.cosine:
            done = (epoch - self.warmup) / (self.epochs - self.warmup)
            factor *= 0.5 * (1 + math.cos(math.pi * done))
        return factor

    def steps_of(self, replica: Replica, node_level: bool = False) -> int:
        """Steps that a replica takes in an epoch."""
        if node_level and self.fanout is None:
            return 1
        return self.steps or -(-len(replica.train) // self.batch_size)

    def batches(self, replica: Replica, epoch: int, steps: int) -> list[IntArray]:
        """The graphs of every step of an epoch; they depend only on the replica's origin, the epoch
        and the number of steps."""
        ends = np.cumsum(self.sizes(replica, steps))
        return np.split(self.order(replica, epoch, steps), ends[:-1])

    def sizes(self, replica: Replica, steps: int) -> IntArray:
        """Number of graphs in the batch of every step, the same in every epoch, [steps]."""
        count = len(replica.train)
        if self.steps is not None:
            return np.full(steps, min(self.batch_size, count))
        return count // steps + (np.arange(steps) < count % steps)

    def sample(self, replica: Replica) -> IntArray:
        """Training graphs for batch statistics, the same every time."""
        return np.random.default_rng(replica.seed).permutation(replica.train)[:SAMPLED]

    def order(self, replica: Replica, epoch: int, steps: int) -> IntArray:
        """The batches of an epoch, concatenated."""
        rng = np.random.default_rng((replica.seed, epoch))
        if self.steps is None:
            return rng.permutation(replica.train)
        size = min(self.batch_size, len(replica.train))
        draws = [rng.choice(replica.train, size, replace=False) for _ in range(steps)]
        return np.concatenate(draws)


@dataclass(frozen=True, eq=False)
class Curves:
    """Measurements after every epoch, by replica.

    Attributes:
        metric: the task's first metric: ``accuracy``, ``roc_auc``, ``mae`` or ``scaled_mae``.
        loss: mean training loss, [replicas, epochs].
        valid, test: that metric on the validation and test part, NaN where a replica has no such
            samples, [replicas, epochs].
        measured: every metric of the validation part, including ``loss``, by name.
        parameters: number of parameters of one model.
        seconds: time for training and measuring, without preparation.
        device: name of the device.
        about: further facts for the record of the run.
    """

    metric: str
    loss: FloatArray
    valid: FloatArray
    test: FloatArray
    parameters: int
    seconds: float
    device: str
    about: dict[str, object] = field(default_factory=dict)
    measured: dict[str, FloatArray] = field(default_factory=dict)

    @classmethod
    def join(cls, pieces: Sequence[Curves], places: Sequence[Sequence[int]]) -> Curves:
        """Join the curves of separately trained sets; ``places`` holds the indices of the replicas
        of each set."""
        if len(pieces) == 1 and list(places[0]) == list(range(len(pieces[0].loss))):
            return pieces[0]
        order = np.argsort(np.concatenate([np.asarray(one) for one in places]))

        def rows(name: str) -> FloatArray:
            return np.concatenate([getattr(one, name) for one in pieces])[order]

        first = pieces[0]
        waits = [float(one.about.get("prepare_seconds", 0.0)) for one in pieces]  # type: ignore[arg-type]
        return cls(
            first.metric, rows("loss"), rows("valid"), rows("test"), first.parameters,
            sum(one.seconds for one in pieces), first.device,
            {**first.about, "prepare_seconds": sum(waits), "replicas": len(order)},
            {k: np.concatenate([one.measured[k] for one in pieces])[order] for k in first.measured},
        )  # fmt: skip


def best_epoch(curve: FloatArray, metric: str) -> int:
    """The epoch (from 0) at which a curve is best; the earliest of values equal to 12 decimals."""
    if np.isnan(curve).all():
        raise InputError("A curve holds no number: the part it was measured on is empty or single.")
    curve = np.round(curve, 12)
    return int(np.nanargmax(curve) if higher_is_better(metric) else np.nanargmin(curve))
