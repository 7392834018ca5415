"""``gpnn bench train``: an epoch of ``gpnn train`` with one model and several, against a plain
loop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ..data.datasets import locate
from ..data.samples import Samples, load_samples
from ..train.capture import Capture
from ..train.device import deterministic, one_thread, pick_device
from ..train.loop import uses_resident
from ..train.memory import keep_freed_memory
from ..train.replica import Replica, Schedule
from ..train.setup import Setup, set_up
from ..train.stage import stage
from ..train.train_config import TrainConfig
from ..train.trainer import Trainer
from .eager_loop import EagerLoop
from .layer import device_name, race

__all__ = ["run_train_bench", "to_markdown"]

ENSEMBLE = 5
HIDDEN = 64
SEED = 0


@dataclass(frozen=True)
class Case:
    """A number of samples of a dataset, trained with the batch size for ``sized`` samples."""

    name: str
    dataset: str
    samples: int
    sized: int


CASES = {
    "cpu": (
        Case("MUTAG", "MUTAG", 188, 150),
        Case("1,000 molecules", "ogbg-molhiv", 1_000, 800),
    ),
    "cuda": (
        Case("MUTAG", "MUTAG", 188, 150),
        Case("ogbg-molhiv", "ogbg-molhiv", 10_000, 32_901),
    ),
}


def run_train_bench(
    device: str = "auto",
    quick: bool = False,
    data: str | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Return rows with ``ratio``, the seconds of the plain loop for the same number of models
    divided by ours, for one epoch.

    An epoch runs forward, backward and AdamW on every training batch, then evaluates the validation
    part; eight of ten samples are for training and one for validation. The plain loop
    (:class:`~gpnn.bench.eager_loop.EagerLoop`) trains one network at a time; its time for several
    networks is a multiple of that. ``times_one`` is our time for several networks divided by that
    for one. Runs of all methods are interleaved, and medians are reported.
    """
    where = pick_device(device)
    rows: list[dict[str, Any]] = []
    left_out, used = [], {}
    keep_freed_memory()
    with deterministic(where), one_thread():
        for case in CASES[where.type]:
            if (quick and case.dataset != "MUTAG") or locate(case.dataset, data) is None:
                left_out.append(case.name)
                continue
            progress(f"{case.name} on {where}")
            samples = load_samples(case.dataset, data=data)
            size = TrainConfig.sized(case.sized).batch_size
            used[case.name] = f"{case.samples:,} graphs of {case.dataset} in batches of {size}"
            rows += _measure(case, samples, size, where, 3 if quick else 9)
    return {
        "rows": rows,
        "workloads": used,
        "left_out": left_out,
        "device": device_name(str(where)),
        "captured": where.type == "cuda",
        "threads": 1,
    }


def _measure(
    case: Case, samples: Samples, size: int, device: torch.device, repeats: int
) -> list[dict[str, Any]]:
    replicas = [_replica(len(samples), case.samples, seed) for seed in range(ENSEMBLE)]
    setup = set_up(samples, {"hidden": HIDDEN}, replicas)
    schedule = Schedule(epochs=1, batch_size=size, halve_every=None)
    runs = [
        _plain(setup, replicas[0], schedule, device),
        _trainer(setup, replicas[:1], schedule, device),
        _trainer(setup, replicas, schedule, device),
    ]
    plain, one, several = race(runs, repeats, str(device))
    head = {"workload": case.name, "device": device.type}
    return [
        {**head, "way": "plain loop", "models": 1, "seconds": plain, "ratio": 1.0},
        {**head, "way": "gpnn train", "models": 1, "seconds": one, "ratio": plain / one},
        {
            **head,
            "way": f"gpnn train --ensemble {ENSEMBLE}",
            "models": ENSEMBLE,
            "seconds": several,
            "ratio": ENSEMBLE * plain / several,
            "times_one": several / one,
        },
    ]


def _replica(count: int, used: int, seed: int) -> Replica:
    """Return a replica; all use the same samples, as in an ensemble."""
    order = np.random.default_rng(SEED).permutation(count)[:used]
    train, valid = len(order) * 8 // 10, len(order) // 10
    return Replica(order[:train], order[train : train + valid], order[:0], seed, dropout=0.5)


def _plain(
    setup: Setup, replica: Replica, schedule: Schedule, device: torch.device
) -> Callable[[], None]:
    loop = EagerLoop(setup, replica, setup.network(replica), device)
    batches = schedule.batches(replica, 0, schedule.steps_of(replica, False))

    def epoch() -> None:
        loop.train(batches)
        loop.measure()

    return epoch


def _trainer(
    setup: Setup, replicas: list[Replica], schedule: Schedule, device: torch.device
) -> Callable[[], None]:
    staged = stage(setup, replicas, schedule, resident=uses_resident(setup, device))
    trainer = Trainer(staged, device, keep_best=True)
    train, check = Capture(trainer, trainer.train_step), Capture(trainer, trainer.measure_step)

    def epoch() -> None:
        trainer.step.zero_()  # the first batch was assembled after the last batch of the plan
        trainer.net.train()
        for _ in range(trainer.steps):
            train()
        trainer.net.eval()
        check()
        trainer.loss.cpu()

    return epoch


def to_markdown(result: dict[str, Any], command: str) -> str:
    """Return the rows as a page."""
    how = "steps captured as CUDA graphs" if result["captured"] else "one thread"
    lines = [
        "# An epoch of training",
        "",
        f"Made by `{command}` on {result['device']}, {how}. An epoch is every batch, forward,",
        "backward and AdamW, then the validation part, with the defaults of `gpnn train`.",
        "*Ratio*: a plain PyTorch loop around the same network, one model after another, is 1; it",
        "puts its batches together on the CPU.",
        "",
        *(f"- `{name}`: {about}" for name, about in result["workloads"].items()),
        *(f"- `{name}`: left out" for name in result["left_out"]),
        "",
        "| workload | way | models | ms an epoch | ratio | one model = 1 |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for row in result["rows"]:
        times = f"{row['times_one']:.2f}" if "times_one" in row else ""
        lines.append(
            f"| {row['workload']} | {row['way']} | {row['models']} | {1e3 * row['seconds']:.1f} "
            f"| **{row['ratio']:.2f}** | {times} |"
        )
    return "\n".join(lines) + "\n"
