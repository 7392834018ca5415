"""``gpnn bench engine``: training many models side by side, against one at a time with our network
or PyG's."""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ..data.datasets import locate
from ..data.samples import Samples, load_samples
from ..errors import InputError
from ..train.capture import Capture
from ..train.device import deterministic, one_thread, pick_device
from ..train.loop import uses_resident
from ..train.replica import IntArray, Replica, Schedule
from ..train.setup import Setup, set_up
from ..train.stage import stage
from ..train.trainer import Trainer
from .eager_loop import EagerLoop
from .layer import device_name, race
from .pyg_gin import pyg_run
from .step import bandwidth, breakdown, floor_bytes, repeated

__all__ = ["run_engine_bench", "to_markdown"]

PROFILED = 10
LAYERS = 4
DROPOUT = 0.5
MODELS: dict[str, dict[str, Any]] = {
    "gin": {"base": "gin", "gpnn": False},
    "cross": {"base": "gin", "interactions": "cross", "combine": "linear"},
    "edges": {"base": "gin", "interactions": "edges", "combine": "linear"},
    "pairwise": {"base": "gin", "interactions": "cross", "combine": "pairwise"},
}


@dataclass(frozen=True)
class Case:
    """A dataset, the batch size and the width of the network."""

    name: str
    dataset: str
    batch: int
    hidden: int
    replicas: tuple[int, ...]

    @property
    def about(self) -> str:
        return f"{self.dataset}, batches of {self.batch}, {LAYERS} layers, hidden {self.hidden}"


CASES = (
    Case("tu", "MUTAG", 32, 32, (1, 10, 40)),
    Case("molecules", "ogbg-molhiv", 512, 64, (1, 10)),
)


@dataclass(frozen=True)
class Effort:
    """Amount of work: steps per timed run, number of timed runs, numbers of replicas."""

    steps: int
    repeats: int
    replicas: tuple[int, ...]


def _effort(device: torch.device, case: Case, quick: bool) -> Effort:
    large = case.batch > 32
    if device.type == "cuda":
        return Effort(4 if large else 20, 3 if quick else 7, case.replicas)
    return Effort(1, 3, (1, 10)) if quick else Effort(1 if large else 4, 3, case.replicas)


def run_engine_bench(
    device: str = "auto",
    quick: bool = False,
    data: str | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Return rows with ``ratio``, the graphs per second divided by those of our eager training of
    the same model, one at a time. For GIN, ``times_pyg`` is the same ratio to PyG's GIN.

    A step assembles a batch and runs forward, backward and Adam for every replica; the graphs of
    all replicas are counted. Runs of all methods are interleaved, and medians are reported. PyG's
    batches are on the device before the timing starts.
    """
    where = pick_device(device)
    rows: list[dict[str, Any]] = []
    parts: list[dict[str, Any]] = []
    left_out, cases = [], {}
    with deterministic(where), one_thread():
        copied = bandwidth(where)
        for case in CASES:
            if (quick and case.name != "tu") or locate(case.dataset, data) is None:
                left_out.append(case.name)
                continue
            cases[case.name] = case.about
            samples = load_samples(case.dataset, data=data)
            for model in MODELS:
                progress(f"{case.name}, {model}")
                effort = _effort(where, case, quick)
                made, step = _measure(case, model, samples, where, effort, copied)
                rows += made
                parts += step
                gc.collect()
                if where.type == "cuda":
                    torch.cuda.empty_cache()
    return {
        "rows": rows,
        "steps": parts,
        "workloads": cases,
        "left_out": left_out,
        "device": device_name(str(where)),
        "captured": where.type == "cuda",
        "threads": 1,
        "bytes_per_second": copied,
    }


def _measure(
    case: Case,
    model: str,
    samples: Samples,
    device: torch.device,
    effort: Effort,
    copied: float,
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the rows of one model, and the parts of its step."""
    most = max(effort.replicas)
    replicas = [_replica(samples, case.batch, seed) for seed in range(most)]
    options = {"hidden": case.hidden, "layers": LAYERS, **MODELS[model]}
    setup = set_up(samples, options, replicas)
    schedule = Schedule(epochs=1, batch_size=case.batch, halve_every=None, steps=effort.steps)
    stream = schedule.batches(replicas[0], 0, effort.steps)
    ways: list[tuple[str, int]] = [("eager", 1)]
    runs = [_eager(setup, replicas[0], stream, device)]
    if model == "gin":
        ways.append(("pyg", 1))
        runs.append(pyg_run(samples, stream, setup.config, DROPOUT, device))
    head = {"workload": case.name, "model": model, "batch": case.batch, "hidden": case.hidden}
    failed, fitted = [], set()
    for count in effort.replicas:
        try:
            engine = _engine(setup, replicas[:count], schedule, device)
            run = repeated(engine, Capture(engine, engine.train_step), effort.steps)
            run()
        except torch.OutOfMemoryError:
            note = "does not fit into the memory of the device"
            failed.append({**head, "way": "engine", "replicas": count, "ratio": None, "note": note})
            continue
        fitted.add(count)
        ways.append(("engine", count))
        runs.append(run)
    seconds = [taken / effort.steps for taken in race(runs, effort.repeats, str(device))]
    rate = [count * case.batch / step for (_, count), step in zip(ways, seconds, strict=True)]
    rows = [
        {
            **head,
            "way": way,
            "replicas": count,
            "ratio": rate[k] / rate[0],
            "times_pyg": rate[k] / rate[1] if model == "gin" else None,
            "graphs_per_second": rate[k],
            "step_seconds": seconds[k],
        }
        for k, (way, count) in enumerate(ways)
    ]
    if PROFILED not in fitted:
        return rows + failed, []

    def make() -> Trainer:
        return _engine(setup, replicas[:PROFILED], schedule, device)

    return rows + failed, [_step(head, make, effort, copied)]


def _engine(
    setup: Setup, replicas: list[Replica], schedule: Schedule, device: torch.device
) -> Trainer:
    staged = stage(setup, replicas, schedule, resident=uses_resident(setup, device))
    trainer = Trainer(staged, device)
    trainer.net.train()
    return trainer


def _replica(samples: Samples, batch: int, seed: int) -> Replica:
    """Return a replica that trains on nine tenths of the graphs, as in a fold."""
    order = np.random.default_rng(seed).permutation(len(samples))
    if len(order) <= batch:
        raise InputError(f"{len(order)} graphs are too few for batches of {batch}.")
    cut = max(batch, len(order) * 9 // 10)
    return Replica(order[:cut], order[:0], order[cut : cut + batch], seed=seed, dropout=DROPOUT)


def _eager(
    setup: Setup, replica: Replica, stream: list[IntArray], device: torch.device
) -> Callable[[], None]:
    run = EagerLoop(setup, replica, setup.network(replica), device)

    def train() -> None:
        run.train(stream)

    return train


def _step(
    head: dict[str, Any], make: Callable[[], Trainer], effort: Effort, copied: float
) -> dict[str, Any]:
    needed = floor_bytes(make())
    timings = breakdown(make, effort.steps, effort.repeats)
    floor = sum(needed.values()) / copied
    return {
        **head,
        "replicas": PROFILED,
        **timings,
        "bytes": needed,
        "floor_seconds": floor,
        "times_floor": timings["seconds"] / floor,
    }


def to_markdown(result: dict[str, Any], command: str) -> str:
    """Return the rows as a page."""
    how = "captured as a CUDA graph" if result["captured"] else "not captured, on one thread"
    lines = [
        "# Many models side by side",
        "",
        f"Made by `{command}` on {result['device']}, the engine's step {how}. A step is batch,",
        "forward, backward and Adam; graphs are counted over all replicas. *Ratio*: our eager",
        "training of the same model, one at a time, is 1; it puts its batches together on the CPU,",
        "step by step. PyG's GIN has its batches on the device before the clock starts.",
        "",
        *(f"- `{name}`: {about}" for name, about in result["workloads"].items()),
        *(f"- `{name}`: left out" for name in result["left_out"]),
        "",
        "| workload | model | way | replicas | ms a step | graphs/s | ratio | PyG's GIN = 1 |",
        "|---|---|---|---:|---:|---:|---:|---:|",
    ]
    for row in result["rows"]:
        line = f"| {row['workload']} | {row['model']} | {row['way']} | {row['replicas']} "
        if row["ratio"] is None:
            lines.append(f"{line}| {row['note']} | | | |")
            continue
        times = "" if row["times_pyg"] is None else f"{row['times_pyg']:.1f}"
        lines.append(
            f"{line}| {1e3 * row['step_seconds']:.2f} | {row['graphs_per_second']:,.0f} "
            f"| **{row['ratio']:.1f}** | {times} |"
        )
    lines += [
        "",
        "## Where a step's time goes",
        "",
        "Milliseconds, by difference between steps cut short. The next batch is put together",
        "beside the rest of a step: *batch* is what that adds. *Floor*: parameters and moments",
        "read and written once and everything kept for the gradient written and read once, at the",
        f"{result['bytes_per_second'] / 1e9:,.0f} GB/s that a large copy reaches here.",
        "",
        "| workload | model | replicas | forward | backward | Adam | batch | step | kernels | MB "
        "| floor | step / floor |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for row in result["steps"]:
        parts = " | ".join(f"{1e3 * seconds:.2f}" for seconds in row["parts"].values())
        lines.append(
            f"| {row['workload']} | {row['model']} | {row['replicas']} | {parts} "
            f"| {1e3 * row['seconds']:.2f} | {row['kernels'] or '–'} "
            f"| {sum(row['bytes'].values()) / 1e6:,.1f} | {1e3 * row['floor_seconds']:.3f} "
            f"| {row['times_floor']:.1f} |"
        )
    return "\n".join(lines) + "\n"
