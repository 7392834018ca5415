"""The training processes of ``gpnn bench schemes``: a choice of ``auto``, and a method in its
runs."""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from ..data.samples import Samples, load_samples
from ..data.split import Split, make_split
from ..errors import InputError
from ..options import AUTO
from ..train.choose_scheme import choose_scheme
from ..train.fit import fit
from ..train.train_config import TrainConfig
from .scheme_log import Record

__all__ = ["Choices", "Trainings"]


@dataclass
class _Task:
    """What a training process does.

    Attributes:
        about: the first line of the log.
        target, data: as in :func:`~gpnn.data.samples.load_samples`.
    """

    about: Record
    target: Sequence[str] | None
    data: str | None
    threads: int

    def samples(self, run: int) -> Samples:
        torch.set_num_threads(self.threads)
        source, target = self.about["source"], self.target
        if self.about["splits"] == "graphs":
            source += f",seed={run}"
        return load_samples(source, list(target) if target else None, data=self.data)

    def config(self, split: Split, run: int) -> TrainConfig:
        return TrainConfig.sized(len(split.train), seed=run, **self.about["train"])


class Choices(_Task):
    """Choose in a run, on its training and validation samples."""

    def __call__(self, run: int) -> Record:
        samples, began = self.samples(run), time.perf_counter()
        split, model = make_split(samples, run), self.about["model"]
        pool, config = np.concatenate([split.train, split.valid]), self.config(split, run)
        with tempfile.TemporaryDirectory(prefix="gpnn-bench-") as folder:
            choice = choose_scheme(
                samples, pool, model, config, Path(folder), self.about["minutes"]
            )
        return {
            "run": run,
            "chosen": choice.candidate.title,
            "options": choice.applied(model),
            "complete": choice.complete,
            "seconds": round(time.perf_counter() - began, 2),
        }


class Trainings(_Task):
    """Train a method in one or several runs."""

    def __call__(self, item: tuple[tuple[int, ...], str, Record]) -> list[Record]:
        runs, name, options = item
        samples, began = self.samples(runs[0]), time.perf_counter()
        splits = [make_split(samples, run) for run in runs]
        fitted = fit(samples, options, self.config(splits[0], runs[0]), splits, seeds=runs)
        seconds = round((time.perf_counter() - began) / len(runs), 2)
        records = []
        for run, split, own, net in zip(
            runs, splits, fitted.members, fitted.loaded.members, strict=True
        ):
            value = own["test"].get(samples.metric, math.nan)
            if not math.isfinite(value):
                raise InputError(
                    f"Run {run + 1} of {name} has no {samples.metric} on its {len(split.test)} "
                    "test samples. Take a larger set, or a smaller step size."
                )
            records.append(
                {
                    "run": run,
                    "method": name,
                    "value": value,
                    "metric": samples.metric,
                    "trained": len(split.train),
                    "tested": len(split.test),
                    "parameters": sum(p.numel() for p in net.model.parameters()),
                    "seconds": seconds,
                    **({"options": options} if name == AUTO else {}),
                }
            )
        return records
