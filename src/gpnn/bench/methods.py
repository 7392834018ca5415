"""``gpnn bench peers``: a training step of every peer against one of GIN."""

from __future__ import annotations

import gc
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from ..data.datasets import locate
from ..data.samples import Samples, load_samples
from ..errors import InputError
from ..graph.readers.files import InputNote
from ..nn.peers import PEERS
from ..train.capture import Capture
from ..train.device import deterministic, one_thread, pick_device
from ..train.loop import uses_resident
from ..train.replica import Replica, Schedule
from ..train.setup import named_model, set_up
from ..train.stage import stage
from ..train.trainer import Trainer
from .layer import device_name, race
from .live import peak_bytes
from .step import repeated

__all__ = ["run_peer_bench", "to_markdown"]

LAYERS, HIDDEN, SAMPLE = 4, 64, 512
GIN = "gin"


@dataclass(frozen=True)
class Case:
    """A workload: the first of these datasets that is available, and the batch size.

    Attributes:
        options: peer → options to use where the graphs are too large for its defaults.
    """

    name: str
    datasets: tuple[str, ...]
    batch: int
    options: dict[str, str] = field(default_factory=dict)


CASES = (
    Case("molecules-128", ("ogbg-molhiv", "MUTAG"), 128),
    Case("imdb-32", ("IMDB-BINARY",), 32, {"lrp": "depth=2"}),
)


def run_peer_bench(
    device: str = "auto",
    quick: bool = False,
    replicas: int = 1,
    data: str | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Return rows with ``seconds`` and ``memory`` of a step, and both as multiples of GIN's.

    A step assembles a batch and runs forward, backward and AdamW of ``replicas`` networks. Runs of
    the methods are interleaved, and medians are reported. Memory is the peak of the tensors of a
    step, without parameters and data. ``prepare_seconds`` is the time of the method's one-time
    preparation of all graphs of the workload.
    """
    where = pick_device(device)
    rows: list[dict[str, Any]] = []
    workloads: dict[str, str] = {}
    with deterministic(where), one_thread():
        for case in CASES[:1] if quick else CASES:
            found = [name for name in case.datasets if locate(name, data) is not None]
            if found:
                progress(f"{case.name}: reading {found[0]}")
                samples = _sample(load_samples(found[0], data=data))
                workloads[case.name] = f"{case.batch} graphs of {found[0]}, {len(samples)} in all"
                rows += _measure(case, samples, where, replicas, quick, progress)
    return {
        "rows": rows,
        "workloads": workloads,
        "device": device_name(str(where)),
        "replicas": replicas,
        "layers": LAYERS,
        "hidden": HIDDEN,
        "threads": 1,
    }


def _sample(samples: Samples) -> Samples:
    """Return a fixed sample of at most ``SAMPLE`` graphs."""
    keep = np.zeros(len(samples), np.bool_)
    keep[np.random.default_rng(0).permutation(len(samples))[:SAMPLE]] = True
    return samples.take(keep)


def _measure(
    case: Case,
    samples: Samples,
    device: torch.device,
    replicas: int,
    quick: bool,
    progress: Callable[[str], None],
) -> list[dict[str, Any]]:
    """Return the rows of one workload."""
    rows, runs = [], []
    steps = 8 if device.type == "cuda" else 1
    for name in (GIN, *PEERS):
        progress(f"{case.name}: {name}")
        spec = ":".join(filter(None, (name, case.options.get(name))))
        if name == GIN and samples.encoder.edges:
            spec = "gine"
        row: dict[str, Any] = {"workload": case.name, "method": name, "model": spec}
        rows.append(row)
        try:
            trainer, row["prepare_seconds"] = _trainer(
                samples, spec, case.batch, steps, replicas, device
            )
            row["parameters"] = trainer.parameters
            row["memory"] = _memory(trainer)
            run = repeated(trainer, Capture(trainer, trainer.train_step), steps)
            run()
        except (InputError, torch.OutOfMemoryError) as error:
            row["note"] = str(error).split("\n")[0]
            continue
        runs.append((row, run))
        gc.collect()
    taken = race([run for _, run in runs], 3 if quick else 7, str(device))
    for (row, _), seconds in zip(runs, taken, strict=True):
        row["seconds"] = seconds / steps
    first = rows[0]
    for row in rows:
        for name in ("seconds", "memory"):
            row[f"{name}_ratio"] = row[name] / first[name] if name in row else None
    return rows


def _trainer(
    samples: Samples, spec: str, batch: int, steps: int, replicas: int, device: torch.device
) -> tuple[Trainer, float]:
    ids = np.arange(len(samples))
    models = [Replica(ids, ids[:0], ids[:batch], seed=seed) for seed in range(replicas)]
    setup = set_up(samples, {**named_model(spec), "hidden": HIDDEN, "layers": LAYERS}, models)
    peer, seconds = setup.config.peer, 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InputNote)
        if peer is not None:
            peer.build(samples.graphs, setup.config.edged)  # warm-up: compiles if necessary
            began = time.perf_counter()
            peer.build(samples.graphs, setup.config.edged)
            seconds = time.perf_counter() - began
        schedule = Schedule(epochs=1, batch_size=batch, halve_every=None, steps=steps)
        staged = stage(setup, models, schedule, resident=uses_resident(setup, device))
    trainer = Trainer(staged, device)
    trainer.net.train()
    return trainer, seconds


def _memory(trainer: Trainer) -> int:
    """Return the peak memory in bytes that a step adds."""

    def step() -> None:
        trainer.step.zero_()
        trainer.train_step()

    step()
    if trainer.device.type != "cuda":
        return peak_bytes(step)
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    step()
    torch.cuda.synchronize()
    return int(torch.cuda.max_memory_allocated() - before)


def to_markdown(result: dict[str, Any], command: str) -> str:
    """Return the rows as a page."""
    side = f", {result['replicas']} networks side by side" if result["replicas"] > 1 else ""
    lines = [
        "# A training step of every method",
        "",
        f"Made by `{command}` on {result['device']}, one thread on the CPU. A batch put together,",
        f"forward, backward and AdamW; {result['layers']} layers, hidden {result['hidden']}{side}.",
        "Memory is the most that the tensors of a step hold. *Prepare* is what a method computes",
        "once for all graphs of the workload. GIN = 1.",
        "",
    ]
    for workload, about in result["workloads"].items():
        head = "| method | step, ms | GIN = 1 | memory, MB | GIN = 1 | prepare, s | parameters |"
        lines += [f"## {workload}: {about}", "", head, f"|---{'|---:' * 6}|"]
        for row in result["rows"]:
            if row["workload"] != workload:
                continue
            if "seconds" not in row:
                lines.append(f"| {row['model']} | {row.get('note', '—')} | | | | | |")
                continue
            cells = [
                f"{1e3 * row['seconds']:.2f}", f"{row['seconds_ratio']:.1f}",
                f"{row['memory'] / 1e6:.1f}", f"{row['memory_ratio']:.1f}",
                f"{row['prepare_seconds']:.3f}", f"{row['parameters']:,}",
            ]  # fmt: skip
            lines.append(f"| {row['model']} | {' | '.join(cells)} |")
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"
