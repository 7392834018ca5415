"""A benchmark on a table of molecules: gpnn with its defaults against common alternatives.

All methods use the same splits into training, validation and test part. ``chemprop`` runs in a
separate process with its defaults, if its command is installed; it is not a dependency. An
``ensemble`` consists of five calibrated networks; the share of test rows in its 90 % intervals is
also reported. The benchmark takes hours: finished runs can be kept in a file and are not repeated.
"""

from __future__ import annotations

import csv
import hashlib
import json
import math
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.stats import t as student
from torch import Tensor

from .. import RESULTS
from ..data.samples import Samples, load_samples
from ..data.split import Split, calibration_splits, make_split
from ..data.tasks import Task, higher_is_better
from ..errors import InputError
from ..lock import locked
from ..options import Choice, Number, Whole
from ..schema import Maybe, Table, Text, read_rows, write_lines
from ..train.baselines import Contender, base_contender, choose_metric, measure, trees
from ..train.effort import MOLECULES, schedule_for
from ..train.fit import fit
from ..train.paired import paired
from ..train.train_config import TrainConfig
from .environment import describe

__all__ = ["METHODS", "run_molecules_bench", "to_markdown"]

METHODS = ("gpnn", "base", "boosting", "forest", "chemprop", "ensemble")
USUAL = METHODS[:5]
NETWORKS = 5


def run_molecules_bench(
    source: str,
    target: Sequence[str] | None = None,
    *,
    smiles: str | None = None,
    splits: int = 5,
    kind: str | None = None,
    methods: Sequence[str] | None = None,
    descriptors: Sequence[str] | None = None,
    effort: str = "standard",
    epochs: int | None = None,
    chemprop: str | None = None,
    kept: Path | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Train every method on every split; seeds of split and method are 0, 1, …

    Args:
        kind: kind of split, see :func:`~gpnn.data.split.make_split`.
        methods: some of :data:`METHODS`; by default all except ``ensemble``, and ``chemprop`` only
            if it is installed.
        descriptors: additional inputs of gpnn, its base and its ensemble; those of RDKit by
            default.
        epochs: epochs of the networks; by default, they depend on effort and size.
        chemprop: the command; searched for by default.
        kept: a file to which every run is appended as a JSON line; runs with the same method,
            settings, data and split are read from it.
    """
    wanted = list(USUAL if methods is None else methods)
    if wrong := [name for name in wanted if name not in METHODS]:
        raise InputError(f"There is no method {wrong[0]!r}. Choose from {', '.join(METHODS)}.")
    command = chemprop or shutil.which("chemprop")
    if "chemprop" in wanted and command is None:
        if methods is not None:
            raise InputError("The command chemprop was not found. Name it with --chemprop PATH.")
        wanted.remove("chemprop")
    if "chemprop" in wanted and command is not None and shutil.which(command) is None:
        raise InputError(f"There is no command {command}. Name chemprop's with --chemprop PATH.")
    samples = load_samples(source, target, smiles, descriptors=descriptors)
    if not samples.from_smiles or samples.y is None:
        raise InputError(f"{source} is not a table of molecules with targets.")
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in wanted}
    known = _read_runs(kept)
    metric, overlap = "", 0.0
    for seed in range(splits):
        split = make_split(samples, seed, kind=kind, official=False)
        overlap = len(split.test) / len(split.train)
        y = samples.y[torch.from_numpy(split.test)]
        for name in wanted:
            progress(f"split {seed + 1} of {splits}: {name}")
            config = _config(split, seed, effort, epochs)
            key = _key(name, samples, split, config)
            if key not in known:
                got, covered = _run(name, samples, split, config, command)
                metric = metric or choose_metric(samples, y, got.scores)
                known[key] = {
                    "run": key,
                    "method": name,
                    "split": seed,
                    "metric": metric,
                    "value": measure(samples, got.scores, y, metric),
                    "seconds": got.seconds,
                    "coverage": covered,
                }
                _keep_run(kept, known[key])
            run = known[key]
            metric = run["metric"]
            progress(f"  {metric} {run['value']:.4f} in {run['seconds']:.0f} s")
            runs[name].append(run)
    return {
        "source": Path(source).name,
        "targets": list(samples.target_names),
        "rows": len(samples),
        "task": str(samples.task),
        "metric": metric,
        "splits": splits,
        "kind": kind or "default",
        "methods": _summary(runs, higher_is_better(metric), overlap),
        "runs": runs,
        "environment": describe((), ()),
    }


def _config(split: Split, seed: int, effort: str, epochs: int | None) -> TrainConfig:
    count = len(split.train)
    return TrainConfig.sized(count, **schedule_for(count, effort, epochs), seed=seed, device="cpu")


def _run(
    name: str, samples: Samples, split: Split, config: TrainConfig, command: str | None
) -> tuple[Contender, float | None]:
    started, seed = time.perf_counter(), config.seed
    if name in ("boosting", "forest"):
        return trees(samples, split, seed, name)[0], None
    if name == "chemprop":
        assert command is not None
        return _chemprop(command, samples, split, seed), None
    if name == "base":
        return base_contender(samples, {}, config, split), None
    parts: Any = split
    if name == "ensemble":
        parts = calibration_splits(samples, split, NETWORKS, seed)
    fitted = fit(samples, MOLECULES, config, parts)
    test = torch.from_numpy(split.test)
    scores = fitted.loaded.predict(samples)[test]
    assert samples.y is not None
    covered = list(fitted.loaded.coverage(scores, samples.y[test]).values())
    share = float(np.mean(covered)) if covered else None
    return Contender(name, scores, time.perf_counter() - started), share


RUN = Table(
    {
        "run": Text(),
        "method": Choice(METHODS),
        "split": Whole(0),
        "metric": Text(),
        "value": Number(-math.inf),
        "seconds": Number(0.0),
        "coverage": Maybe(Number(0.0, 1.0)),
    }
)
"""A line of the file of finished runs."""


def _key(name: str, samples: Samples, split: Split, config: TrainConfig) -> str:
    """Return the key of a run. Trees and chemprop do not depend on our settings."""
    facts: dict[str, Any] = {"method": name, "split": split.digest(), "seed": config.seed}
    data = samples
    if name in ("gpnn", "base", "ensemble"):
        own = MOLECULES if name != "base" else {}
        facts |= {"train": asdict(config), "model": own, "version": RESULTS}
    else:
        data = replace(samples, descriptors=None)
    return hashlib.sha256(json.dumps([data.digest(), facts]).encode()).hexdigest()[:16]


def _read_runs(kept: Path | None) -> dict[str, dict[str, Any]]:
    if kept is None or not kept.exists():
        return {}
    rows = read_rows(kept, RUN, "Remove the line; its run is repeated.")
    return {row["run"]: row for row in rows}


def _keep_run(kept: Path | None, run: dict[str, Any]) -> None:
    if kept is None:
        return
    with locked(kept.with_name(f".{kept.name}.lock")):
        rows = {**_read_runs(kept), run["run"]: run}
        write_lines(kept, rows.values())


def _summary(
    runs: dict[str, list[dict[str, Any]]], up: bool, overlap: float
) -> list[dict[str, Any]]:
    """Return mean and deviation over the splits, and the lead of the first method over each: the
    mean paired difference with its standard error, and the 95 % interval of Student's t. The splits
    share molecules: the error is corrected for ``overlap``, the test rows per training row."""
    first = [run["value"] for run in next(iter(runs.values()))]
    out = []
    for name, own in runs.items():
        values = np.array([run["value"] for run in own])
        several = len(values) > 1
        ahead, error = paired(first, [run["value"] for run in own], up, overlap)
        reach = None if error is None else float(student.ppf(0.975, len(values) - 1)) * error
        covered = [run["coverage"] for run in own if run["coverage"] is not None]
        out.append(
            {
                "name": name,
                "mean": float(values.mean()),
                "std": float(values.std(ddof=1)) if several else None,
                "ahead": ahead,
                "error": error,
                "interval": None if reach is None else [ahead - reach, ahead + reach],
                "seconds": float(np.median([run["seconds"] for run in own])),
                "coverage": float(np.mean(covered)) if covered else None,
            }
        )
    return out


def to_markdown(result: dict[str, Any], command: str) -> str:
    """Return the result as a page."""
    better = "higher" if higher_is_better(result["metric"]) else "lower"
    lines = [
        f"# Race on {result['source']}",
        "",
        f"`{command}`",
        "",
        f"{result['rows']:,} molecules, {', '.join(result['targets'])}; {result['metric']} on the "
        f"test part ({better} is better), mean ± standard deviation over {result['splits']} splits "
        f"({result['kind']}). Ahead: mean paired difference of the first method, positive where it "
        "is better, with the 95 % interval of Student's t over the splits, corrected for their "
        "overlap (Nadeau and Bengio). Seconds: median, one thread.",
        "",
        "| method | " + result["metric"] + " | first is ahead by | seconds | covered |",
        "|---|---|---|---|---|",
    ]
    for number, row in enumerate(result["methods"]):
        spread = "" if row["std"] is None else f" ± {row['std']:.3f}"
        reach = row["interval"]
        error = "" if reach is None else f" ({reach[0]:+.3f} … {reach[1]:+.3f})"
        ahead = f"{row['ahead']:+.3f}{error}" if number else ""
        covered = "" if row["coverage"] is None else f"{row['coverage']:.1%}"
        lines.append(
            f"| {row['name']} | {row['mean']:.3f}{spread} | {ahead} | {row['seconds']:.0f} | "
            f"{covered} |"
        )
    return "\n".join([*lines, ""])


def _chemprop(command: str, samples: Samples, split: Split, seed: int) -> Contender:
    """Train and test with the command of chemprop and its defaults."""
    started = time.perf_counter()
    task = samples.task
    if task is Task.MIXED:
        raise InputError("chemprop takes targets of one kind. Leave it out with --only.")
    several = task.has_classes and samples.outputs > 2
    words = ["--task-type", "regression" if task is Task.REGRESSION else "classification"]
    if several:
        words = ["--task-type", "multiclass", "--multiclass-num-classes", str(samples.outputs)]
    assert samples.y is not None
    y = samples.y.numpy().reshape(len(samples), -1)
    names = [f"target {k}" for k in range(y.shape[1])]
    part = np.full(len(samples), "", dtype=object)
    for name, ids in (("train", split.train), ("val", split.valid), ("test", split.test)):
        part[ids] = name
    with tempfile.TemporaryDirectory() as folder:
        table, out = Path(folder) / "table.csv", Path(folder) / "out"
        with table.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["smiles", *names, "split"])
            for smiles, values, own in zip(samples.ids, y.tolist(), part, strict=True):
                cells = ["" if value != value else value for value in values]
                writer.writerow([smiles, *cells, own])
        done = subprocess.run(
            [
                *(command, "train", "--data-path", str(table), "--output-dir", str(out), *words),
                *("--smiles-columns", "smiles", "--target-columns", *names),
                *("--splits-column", "split", "--accelerator", "cpu", "--num-workers", "0"),
                *("--pytorch-seed", str(seed)),
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        predictions = out / "model_0" / "test_predictions.csv"
        if done.returncode or not predictions.is_file():
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise InputError(f"chemprop failed: {last}")
        scores = _read_predictions(predictions, names, several, task)
    if len(scores) != len(split.test):
        raise InputError(f"chemprop answered {len(scores)} of {len(split.test)} test rows.")
    return Contender("chemprop", scores, time.perf_counter() - started)


def _read_predictions(path: Path, names: list[str], several: bool, task: Task) -> Tensor:
    with path.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    if several:
        values = [[float(word) for word in row[f"{names[0]}_prob"].split(",")] for row in rows]
        return torch.tensor(values, dtype=torch.float64)
    scores = torch.tensor([[float(row[name]) for name in names] for row in rows]).double()
    return torch.cat([1 - scores, scores], dim=1) if task.has_classes else scores
