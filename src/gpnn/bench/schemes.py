"""A benchmark of partitions: base GNN, fixed schemes, learned schemes and ``auto``, on test
samples.

Every run has a different split (and different graphs, for a planted family). Within a run, all
methods are trained on the same samples with the same seed and options. ``auto`` chooses on the
training and validation part. Gains are paired differences over the runs, with the standard error of
their mean and two-sided p-values of Student's t after Holm's correction.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ..data.planted import is_planted
from ..data.samples import load_samples
from ..data.split import make_split
from ..data.tasks import higher_is_better
from ..errors import InputError
from ..files import write_text
from ..graph.learned import learned_parts
from ..graph.schemes import get_scheme
from ..options import AUTO, Number, Whole
from ..pool import ordered_map
from ..schema import Anything, Table, Text, read_lines
from ..train.choose_scheme import MINUTES, choose_scheme
from ..train.fit import fit
from ..train.paired import holm, paired, student_p
from ..train.train_config import TrainConfig

__all__ = ["METHODS", "run_schemes_bench", "to_markdown"]

BASE = "base"
METHODS = (BASE, "trivial", "core", "degree", "triangle", "core-degree", "learned-4", AUTO)
POINT = 0.01
"""Tolerance: a choice is right if its test metric is at most this much below that of the best fixed
scheme."""

Record = dict[str, Any]


def run_schemes_bench(
    source: str,
    target: Sequence[str] | None = None,
    methods: Sequence[str] = METHODS,
    runs: int = 10,
    model: Mapping[str, Any] | None = None,
    train: Mapping[str, Any] | None = None,
    minutes: float = MINUTES,
    data: str | None = None,
    log: Path | None = None,
    jobs: int = 1,
    progress: Callable[[str], None] | None = None,
) -> dict[str, Any]:
    """Measure the test metric of every method in every run.

    Args:
        methods: ``base``, ``auto``, ``learned-k`` (with ``edges`` instead of ``cross``) and
            schemes.
        model: options of all networks; ``interactions``, ``d`` and ``distances`` are fixed for
            ``auto`` too.
        train: fields of :class:`~gpnn.train.train_config.TrainConfig`.
        minutes: time limit of a choice.
        log: a file of finished trainings, one JSON line each, from which the benchmark resumes.
        jobs: number of training processes.
    """
    names = [
        one if one in (BASE, AUTO) or learned_parts(one) else get_scheme(one).name
        for one in methods
    ]
    names = list(dict.fromkeys(names if BASE in names else [BASE, *names]))
    runs, minutes = Whole(2).read("runs", runs), Number(above=True).read("minutes", minutes)
    model, train = dict(model or {}), dict(train or {})
    samples = load_samples(source, list(target) if target else None, data=data)
    about = {
        "source": source,
        "target": list(samples.encoder.target_names),
        "data": samples.digest(),
        "model": model,
        "train": train,
        "minutes": minutes,
    }
    records = _read(log, about)
    done = {(one["run"], one["method"]) for one in records}
    missing = [(run, name) for run in range(runs) for name in names if (run, name) not in done]
    if jobs > 1:
        missing.sort(key=lambda one: one[1] != AUTO)  # start the longest runs first
    arguments = (source, target, model, train, minutes, data, torch.get_num_threads())
    for record in ordered_map(_Race, arguments, missing, jobs):
        records.append(record)
        _write(log, about, records)
        if progress is not None:
            more = f" ({record['chosen']})" if record["chosen"] else ""
            progress(
                f"run {record['run'] + 1} of {runs}, {record['method']}{more}: "
                f"{record['metric']} {record['value']:.4f}"
            )
    used = [one for one in records if one["run"] < runs and one["method"] in names]
    metric = used[0]["metric"]
    return {**about, "runs": runs, "metric": metric, "records": used, "rows": _rows(names, used)}


@dataclass
class _Race:
    """Train a method in a run; called in one of several processes."""

    source: str
    target: Sequence[str] | None
    model: Record
    train: Record
    minutes: float
    data: str | None
    threads: int

    def __call__(self, item: tuple[int, str]) -> Record:
        run, name = item
        torch.set_num_threads(self.threads)
        source = self.source
        if is_planted(source) and "seed=" not in source:
            source = f"{source},seed={run}"
        samples = load_samples(source, list(self.target) if self.target else None, data=self.data)
        split = make_split(samples, run, official=False)
        config = TrainConfig.sized(len(split.train), seed=run, **self.train)
        began = time.perf_counter()
        options, chosen = dict(self.model), ""
        if name == AUTO:
            pool = np.concatenate([split.train, split.valid])
            with tempfile.TemporaryDirectory(prefix="gpnn-bench-") as folder:
                found = choose_scheme(samples, pool, self.model, config, Path(folder), self.minutes)
            options, chosen = found.applied(self.model), found.candidate.title
        elif name == BASE:
            idle = ("interactions", "d", "distances")
            options = {k: v for k, v in self.model.items() if k not in idle} | {"gpnn": False}
        else:
            options["scheme"] = name
            if learned_parts(name) and options.get("interactions") == "cross":
                options["interactions"] = "edges"  # the set of cross edges is learned
        reached = fit(samples, options, config, split).metrics["test"]
        if samples.metric not in reached:
            raise InputError(
                f"Run {run + 1} has no {samples.metric} on its {len(split.test)} test samples. "
                "Take a larger set."
            )
        return {
            "run": run,
            "method": name,
            "value": reached[samples.metric],
            "chosen": chosen,
            "metric": samples.metric,
            "seconds": round(time.perf_counter() - began, 2),
        }


def _rows(names: Sequence[str], records: Sequence[Record]) -> list[dict[str, Any]]:
    """Return a row per method: mean, deviation, gain over the base."""
    values = {
        name: [one["value"] for one in sorted(records, key=lambda r: r["run"])
               if one["method"] == name]
        for name in names
    }  # fmt: skip
    higher = higher_is_better(records[0]["metric"])
    rows: list[dict[str, Any]] = []
    for name in names:
        own = np.array(values[name])
        gain, error = paired(values[name], values[BASE], higher)
        p = None
        if name != BASE and error is not None:
            p = student_p(gain, error, len(own) - 1, sides=2)
        took = [one["seconds"] for one in records if one["method"] == name]
        rows.append(
            {"method": name, "mean": float(own.mean()), "std": float(own.std(ddof=1)),
             "gain": gain, "error": error, "p": p, "seconds": float(np.mean(took))}
        )  # fmt: skip
    tested = [row for row in rows if row["p"] is not None]
    corrected = holm([float(row["p"]) for row in tested])
    for row, p in zip(tested, corrected, strict=True):
        row["p"] = p
    fixed = [name for name in names if name not in (BASE, AUTO) and not learned_parts(name)]
    if AUTO in names and fixed:
        best = np.array([values[name] for name in (BASE, *fixed)])
        best = best.max(0) if higher else best.min(0)
        behind = (best - np.array(values[AUTO])) * (1 if higher else -1)
        next(row for row in rows if row["method"] == AUTO)["right"] = float(
            (behind <= POINT + 1e-9).mean()
        )
    return rows


def to_markdown(result: Mapping[str, Any], command: str) -> str:
    """Return the result as a page."""
    metric, runs = result["metric"], result["runs"]
    lines = [
        f"# Partitions on {result['source']}",
        "",
        f"`{command}`: test {metric} over {runs} runs, mean ± standard deviation; the gain over "
        "the base GNN ± its standard error, paired by run; p after Holm's correction.",
        "",
        f"| method | test {metric} | gain over the base | p | seconds |",
        "|---|---:|---:|---:|---:|",
    ]
    for row in result["rows"]:
        gain = "" if row["method"] == BASE else f"{row['gain']:+.4f} ± {row['error']:.4f}"
        p = "" if row["p"] is None else f"{row['p']:.2g}"
        lines.append(
            f"| {row['method']} | {row['mean']:.4f} ± {row['std']:.4f} | {gain} | {p} | "
            f"{row['seconds']:.1f} |"
        )
    for row in result["rows"]:
        if "right" in row:
            picked: dict[str, int] = {}
            for one in result["records"]:
                if one["method"] == AUTO:
                    picked[one["chosen"]] = picked.get(one["chosen"], 0) + 1
            shown = ", ".join(f"{name} ({n})" for name, n in
                              sorted(picked.items(), key=lambda item: -item[1]))  # fmt: skip
            lines += [
                "",
                f"auto chose {shown}. In {row['right']:.0%} of the runs its {metric} is at most "
                f"{POINT:g} below that of the best fixed method of that run.",
            ]
    return "\n".join(lines) + "\n"


def _read(log: Path | None, about: Mapping[str, Any]) -> list[Record]:
    if log is None or not log.is_file():
        return []
    fix = "Name another file with --log."
    rows = read_lines(log, (Table({"race": Table(more=Anything())}), _RECORD), fix).rows
    if not rows or rows[0]["race"] != json.loads(json.dumps(about)):
        raise InputError(f"{log} holds another race. {fix}")
    return rows[1:]


def _write(log: Path | None, about: Mapping[str, Any], records: Sequence[Record]) -> None:
    if log is not None:
        lines = [{"race": about}, *records]
        write_text(log, "".join(json.dumps(one) + "\n" for one in lines))


_RECORD = Table(
    {
        "run": Whole(0),
        "value": Number(-np.inf),
        "seconds": Number(),
        **{name: Text() for name in ("method", "chosen", "metric")},
    }
)
