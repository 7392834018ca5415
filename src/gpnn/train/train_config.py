"""Training configuration: all user options, validated once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..nn.sampled import read_fanout
from ..options import Choice, Whole, check_options
from .replica import Schedule

__all__ = ["TrainConfig"]


@dataclass(frozen=True)
class TrainConfig:
    """How a model is trained.

    Attributes:
        epochs: maximum number of passes over the training part; ``patience``: number of epochs
            without improvement on the validation part after which to stop.
        batch_size: maximum number of graphs in a batch (the batches of an epoch have equal size);
            vertices with ``fanout``.
        fanout: for vertices of one large graph: train on blocks with this number of sampled
            neighbours, two numbers for every layer, -1 for all (see :mod:`gpnn.nn.sampled`);
            ``None``: on the whole graph at once.
        lr, halve_every: step size of AdamW, and the number of epochs after which it is halved.
        cosine: whether the step size falls to zero along a cosine instead.
        weight_decay: decoupled, for weight matrices only.
        class_weights: ``none``, or ``balanced``: all classes have equal weight in the loss,
            whatever their frequency.
        seed: random seed for split, weights, batch order and dropout.
        device: ``auto``, ``cpu``, ``cuda``, ``cuda:1`` …
    """

    epochs: int = 200
    patience: int = 60
    batch_size: int = 32
    lr: float = 0.01
    halve_every: int = 50
    cosine: bool = False
    weight_decay: float = 0.0
    class_weights: str = "none"
    seed: int = 0
    device: str = "auto"
    fanout: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        check_options(
            self,
            ("epochs", "patience", "batch_size", "lr", "cosine", "weight_decay", "seed"),
            {"halve_every": Whole(1), "class_weights": Choice(("none", "balanced"))},
        )
        object.__setattr__(self, "fanout", read_fanout(self.fanout))

    @classmethod
    def sized(cls, samples: int, **given: Any) -> TrainConfig:
        """Choose epochs and batch size by the number of training samples, unless given.

        Up to 1,000 samples: 200 epochs in batches of 32. Above, with n thousand samples, batches
        grow as √n up to 256, and epochs fall as 1/∛n down to 30, so that a larger set always takes
        more steps and more time. The step size is halved after every quarter of the epochs, and
        patience is three tenths of them.
        """
        excess = max(1.0, samples / 1_000)
        chosen = {
            "epochs": max(30, round(200 * excess ** (-1 / 3))),
            "batch_size": min(256, round(32 * excess**0.5)),
        }
        chosen |= {name: value for name, value in given.items() if value is not None}
        epochs = chosen["epochs"]
        usual = {"halve_every": max(1, epochs // 4), "patience": max(10, round(0.3 * epochs))}
        return cls(**(usual | chosen))

    @property
    def schedule(self) -> Schedule:
        halve_every = None if self.cosine else self.halve_every
        return Schedule(
            self.epochs, self.batch_size, halve_every, None, self.patience, self.cosine,
            fanout=self.fanout,
        )  # fmt: skip
