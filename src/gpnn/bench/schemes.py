"""A benchmark of partitions: base GNN, fixed schemes, learned schemes, ``auto`` and peers, on test
samples.

Every run has a different seed. A planted family draws different graphs for every run; a source with
an official split keeps it; any other source is split anew. Within a run, all methods are trained on
the same samples with the same seed and options. ``auto`` chooses on the training and validation
part, once if an official split is the same in all runs; where it chooses the base alone, its result
is that of the base. Gains are paired differences over the runs
(:mod:`gpnn.train.paired`), with standard errors and two-sided p-values of Student's t after Holm's
correction. New splits of the same samples overlap; their standard errors have the correction of
Nadeau and Bengio. With an official split, the errors are those over seeds, on that split.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from .. import RESULTS
from ..data.generated import Generated, is_generated
from ..data.samples import load_samples
from ..errors import InputError
from ..graph.refine import interaction_type
from ..nn.peers import peer_of
from ..options import AUTO, Number, Whole
from ..pool import ordered_map
from ..train.choose_scheme import MINUTES
from ..train.device import pick_device
from ..train.halving import PIECE
from .scheme_log import CHOICE, TRAINING, Record, check_names, log_path, opened_log, read_log
from .scheme_methods import BASE, METHODS, check_method, network_options
from .scheme_tasks import Choices, Trainings
from .schemes_report import summarise

__all__ = ["run_schemes_bench"]

Tell = Callable[[str], None]


def run_schemes_bench(
    sources: Sequence[str],
    target: Sequence[str] | None = None,
    methods: Sequence[str] = METHODS,
    runs: int = 10,
    model: Mapping[str, Any] | None = None,
    train: Mapping[str, Any] | None = None,
    minutes: float = MINUTES,
    data: str | None = None,
    log: Path | None = None,
    jobs: int = 1,
    progress: Tell | None = None,
) -> list[dict[str, Any]]:
    """Measure the test metric of every method in every run, for one source after the other. All
    sources, methods and logs are checked before anything is trained.

    Args:
        methods: ``base``, ``auto``, ``learned-k`` (with ``edges`` instead of ``cross``), schemes
            and peers. Options of the network may follow: ``base:walks=8``,
            ``core:interactions=pairs,d=2``, ``cin:rings=8``.
        model: options of all networks; ``interactions``, ``d`` and ``distances`` are fixed for
            ``auto`` too.
        train: fields of :class:`~gpnn.train.train_config.TrainConfig`.
        minutes: time limit of a choice.
        log: a folder for finished trainings and choices, from which the benchmark resumes. If
            nothing is missing, the device of the trainings is not needed.
        jobs: number of training processes.
    """
    names = list(dict.fromkeys([BASE, *methods]))
    runs, minutes = Whole(2).read("runs", runs), Number(above=True).read("minutes", minutes)
    model, train = dict(model or {}), {"device": "auto", **(train or {})}
    if "interactions" in model:
        model["interactions"] = interaction_type(model["interactions"])
    if train["device"] == "auto":
        train["device"] = str(pick_device("auto"))
    sources = list(dict.fromkeys(sources))
    compared = [
        _Comparison(_about(source, target, names, model, train, data), minutes, target, data)
        for source in sources
    ]
    if log is not None:
        check_names(log, sources)
        for one in compared:
            one.check_logs(log, names)
    return [one.run(names, runs, log, jobs, progress) for one in compared]


def _about(
    source: str,
    target: Sequence[str] | None,
    names: Sequence[str],
    model: Record,
    train: Record,
    data: str | None,
) -> Record:
    """Everything that the trainings of a source depend on, except run and method; the first line of
    the log."""
    if source == "-":
        raise InputError("Every run reads the source again: save it as a file instead of '-'.")
    samples = load_samples(source, list(target) if target else None, data=data)
    for name in names:
        check_method(name, samples, model)
    splits = "official" if samples.split else "random"
    if is_generated(source) and Generated.parse(source).seed is None:
        splits = "graphs"
    return {
        "source": source,
        "splits": splits,
        "target": list(samples.encoder.target_names),
        "data": samples.digest(),
        "model": model,
        "train": train,
        "gpnn": RESULTS,
    }


@dataclass(frozen=True)
class _Comparison:
    """The trainings of a source.

    Attributes:
        about: what they depend on; ``minutes``: the time limit of a choice.
    """

    about: Record
    minutes: float
    target: Sequence[str] | None
    data: str | None

    @property
    def about_choices(self) -> Record:
        return {**self.about, "minutes": self.minutes}

    def check_logs(self, log: Path, names: Sequence[str]) -> None:
        """Raise if a log holds another comparison."""
        read_log(log_path(log, self.about["source"], TRAINING), self.about, TRAINING)
        if AUTO in names:
            read_log(log_path(log, self.about["source"], CHOICE), self.about_choices, CHOICE)

    def run(
        self, names: Sequence[str], runs: int, log: Path | None, jobs: int, progress: Tell | None
    ) -> dict[str, Any]:
        """Choose and train what the logs lack, and return records and rows."""
        choices = self._choose(runs, log, jobs, progress) if AUTO in names else []
        by_run = {k: choices[k if len(choices) > 1 else 0] for k in range(runs) if choices}
        with opened_log(log, self.about, TRAINING) as (records, keep):
            records[:] = [one for one in records if _is_current(one, by_run)]
            done = {(one["run"], one["method"]) for one in records}
            missing = [
                (k, name)
                for k in range(runs)
                for name in names
                if (k, name) not in done and not (name == AUTO and _is_base(by_run[k]))
            ]
            if progress is not None and records:
                known = sum(one["run"] < runs and one["method"] in names for one in records)
                progress(f"{self.about['source']}: {known} trainings are in the log")
            for made in self._map(Trainings, self._items(missing, by_run), jobs):
                records += made
                keep()
                if progress is not None:
                    for record in made:
                        progress(_line(self.about["source"], record, runs))
        used = [one for one in records if one["run"] < runs and one["method"] in names]
        used += self._of_auto(used, by_run)
        overlap = 0.0
        if self.about["splits"] == "random":  # test samples per training sample
            overlap = float(np.mean([one["tested"] / one["trained"] for one in used]))
        rows = summarise(names, used, choices, overlap)
        return {
            **self.about, "minutes": self.minutes, "runs": runs, "metric": used[0]["metric"],
            "records": used, "choices": choices, "rows": rows,
        }  # fmt: skip

    def _choose(
        self, runs: int, log: Path | None, jobs: int, progress: Tell | None
    ) -> list[Record]:
        """A choice of ``auto`` for every run, or one for all runs on an official split."""
        count = 1 if self.about["splits"] == "official" else runs
        with opened_log(log, self.about_choices, CHOICE) as (choices, keep):
            done = {one["run"] for one in choices}
            missing = [k for k in range(count) if k not in done]
            for made in self._map(Choices, missing, jobs):
                choices.append(made)
                keep()
                if progress is not None:
                    run = f"{self.about['source']}, run {made['run'] + 1} of {runs}"
                    progress(f"{run}, auto chose {made['chosen']}")
        return sorted(choices, key=lambda one: one["run"])[:count]

    def _map(
        self, make: type[Choices | Trainings], items: Sequence[Any], jobs: int
    ) -> Iterable[Any]:
        if not items:
            return ()
        pick_device(self.about["train"]["device"])
        task = (self.about_choices, self.target, self.data, torch.get_num_threads())
        return ordered_map(make, task, items, jobs)

    def _items(
        self, missing: Sequence[tuple[int, str]], choices: Mapping[int, Record]
    ) -> list[tuple[tuple[int, ...], str, Record]]:
        """Runs that are trained together, method and options of the network: on a GPU the runs of a
        method, up to :data:`~gpnn.train.halving.PIECE`, unless they have graphs of their own. Peers
        may need much memory and are trained run by run."""
        together = self.about["splits"] != "graphs" and self.about["train"]["device"] != "cpu"
        groups: dict[tuple[Any, ...], tuple[list[int], str, Record]] = {}
        for run, name in missing:
            chosen = choices[run]["options"] if name == AUTO else None
            options = chosen or network_options(name, self.about["model"])
            apart = not together or peer_of(str(options.get("base", ""))) is not None
            key = (name, json.dumps(options, sort_keys=True), run if apart else None)
            groups.setdefault(key, ([], name, options))[0].append(run)
        return [
            (tuple(own[at : at + PIECE]), name, options)
            for own, name, options in groups.values()
            for at in range(0, len(own), PIECE)
        ]

    def _of_auto(self, records: Sequence[Record], choices: Mapping[int, Record]) -> list[Record]:
        """The records of ``auto`` where it chose the base alone: those of the base."""
        return [
            {**one, "method": AUTO}
            for one in records
            if one["method"] == BASE and one["run"] in choices and _is_base(choices[one["run"]])
        ]


def _is_current(record: Record, choices: Mapping[int, Record]) -> bool:
    """Whether a training is not one of ``auto`` with another choice than that of its run."""
    choice = choices.get(record["run"])
    if record["method"] != AUTO or choice is None:
        return True
    return not _is_base(choice) and record.get("options") == choice["options"]


def _is_base(choice: Record) -> bool:
    return not choice["options"].get("gpnn", True)


def _line(source: str, record: Record, runs: int) -> str:
    value = f"{record['metric']} {record['value']:.4f}"
    return f"{source}, run {record['run'] + 1} of {runs}, {record['method']}: {value}"
