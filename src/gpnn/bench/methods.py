"""``gpnn bench peers``: a training step of GPNN and of every peer against one of GIN."""

from __future__ import annotations

import gc
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from ..data.datasets import locate
from ..data.samples import Samples, load_samples
from ..errors import InputError
from ..graph.classes import interaction_classes
from ..graph.partition import partition
from ..graph.readers.files import InputNote
from ..nn.peers import PEERS
from ..train.capture import Capture
from ..train.device import deterministic, one_thread, pick_device
from ..train.loop import uses_resident
from ..train.replica import Replica, Schedule
from ..train.setup import Setup, named_model, set_up
from ..train.stage import stage
from ..train.trainer import Trainer
from .layer import device_name, race
from .live import peak_bytes
from .step import repeated

__all__ = ["cost_tables", "run_peer_bench", "to_markdown"]

LAYERS, HIDDEN, SAMPLE = 4, 64, 512
GIN = "gin"
GPNNS = {
    f"gpnn {combine}": {"scheme": "core-degree", "interactions": "cross", "combine": combine}
    for combine in ("linear", "pairwise")
}
"""GPNN as in the paper's tables, and with pairwise messages → its options."""


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
            available = [name for name in case.datasets if locate(name, data) is not None]
            if available:
                progress(f"{case.name}: reading {available[0]}")
                samples = _sample(load_samples(available[0], data=data))
                workloads[case.name] = (
                    f"{case.batch} graphs of {available[0]}, {len(samples)} in all"
                )
                rows += _measure(case, samples, where, replicas, quick, progress)
    return {
        "rows": rows,
        "workloads": workloads,
        "device": device_name(str(where)),
        "quick": quick,
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
    gin = "gine" if samples.encoder.edges else GIN
    for name in (GIN, *GPNNS, *PEERS):
        progress(f"{case.name}: {name}")
        spec = ":".join(filter(None, (gin if name == GIN else name, case.options.get(name))))
        row: dict[str, Any] = {"workload": case.name, "method": name, "model": spec}
        rows.append(row)
        try:
            options = {"base": gin, **GPNNS[name]} if name in GPNNS else named_model(spec)
            trainer, row["prepare_seconds"] = _trainer(
                samples, options, case.batch, steps, replicas, device
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
    samples: Samples,
    options: dict[str, Any],
    batch: int,
    steps: int,
    replicas: int,
    device: torch.device,
) -> tuple[Trainer, float]:
    ids = np.arange(len(samples))
    models = [Replica(ids, ids[:0], ids[:batch], seed=seed) for seed in range(replicas)]
    setup = set_up(samples, {**options, "hidden": HIDDEN, "layers": LAYERS}, models)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InputNote)
        _prepare(setup)  # warm-up: compiles if necessary
        began = time.perf_counter()
        _prepare(setup)
        seconds = time.perf_counter() - began
        schedule = Schedule(epochs=1, batch_size=batch, halve_every=None, steps=steps)
        staged = stage(setup, models, schedule, resident=uses_resident(setup, device))
    trainer = Trainer(staged, device)
    trainer.net.train()
    return trainer, seconds


def _prepare(setup: Setup) -> None:
    """Compute what a method reads in addition to vertices and edges."""
    samples, config = setup.samples, setup.config
    if config.peer is not None:
        config.peer.build(samples.graphs, config.edged)
    elif config.gpnn:
        part = partition(samples.graphs, config.structure.scheme).part
        interaction_classes(samples.graphs, part, config.structure, samples.edge_labels)


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
    return "\n".join([*lines, *cost_tables(result, "##")]).rstrip() + "\n"


def cost_tables(result: dict[str, Any], heading: str) -> list[str]:
    """Return the lines of a section per workload."""
    lines = []
    for workload, about in result["workloads"].items():
        rows = [row for row in result["rows"] if row["workload"] == workload]
        lines += [f"{heading} {workload}: {about}", "", *_table(rows), ""]
    return lines


def _table(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    head = "| method | step, ms | GIN = 1 | memory, MB | GIN = 1 | prepare, s | parameters |"
    lines = [head, f"|---{'|---:' * 6}|"]
    for row in rows:
        if "seconds" not in row:
            lines.append(f"| {row['model']} | {row.get('note', '—')} | | | | | |")
            continue
        cells = [
            f"{1e3 * row['seconds']:.2f}", f"{row['seconds_ratio']:.1f}",
            f"{row['memory'] / 1e6:.1f}", f"{row['memory_ratio']:.1f}",
            f"{row['prepare_seconds']:.3f}", f"{row['parameters']:,}",
        ]  # fmt: skip
        lines.append(f"| {row['model']} | {' | '.join(cells)} |")
    return lines
