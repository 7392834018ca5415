"""Run the jobs of the paper's tables that have no records yet, or records of a version of gpnn with
other results."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..ray_engine import LOCAL
from ..train.device import pick_device
from . import partitions, report
from .jobs import Job
from .recipe import Recipe
from .run_job import has_records, is_done
from .runs import Runs
from .tables import NOTHING, TABLES, Additions, jobs_of
from .workers import Outcome, Settings, Watch, run_all

__all__ = ["Reproduced", "reproduce"]


@dataclass(frozen=True)
class Reproduced:
    """Number of trainings that were finished before, and the outcome of the others."""

    already: int
    outcome: Outcome


def reproduce(
    tables: Sequence[str],
    out: str | Path,
    only: Sequence[str] = (),
    *,
    data: str | None = None,
    device: str = "auto",
    quick: bool = False,
    processes: int | None = None,
    engine: str = LOCAL,
    minutes: float | None = None,
    fresh: bool = False,
    recipes: Mapping[str, Recipe] | None = None,
    added: Additions = NOTHING,
    protocols: Sequence[str] = (),
    watch: Watch | None = None,
    planned: Callable[[list[Job], int, int, str], None] | None = None,
    tell: Callable[[str], None] | None = None,
) -> Reproduced:
    """Run the jobs of some tables that have no records yet, or outdated ones.

    Args:
        tables: names, see :data:`~gpnn.reproduce.tables.ALL`.
        out: the folder of the records.
        only: patterns ``dataset/method/scheme/interactions``; all if empty.
        data: the folder with datasets.
        quick: run a small sample; its records are marked.
        processes: number of concurrent jobs; by default one, or as many as fit on the cluster.
        engine: ``local``, ``ray`` or ``ray://HOST:PORT``, see ``gpnn.ray_engine``.
        minutes: time limit; afterwards no new work starts, and running work is saved and stopped.
        fresh: discard existing records and start over.
        recipes: recipes that replace those of the package, by name.
        added: datasets and base GNNs of the user.
        protocols: train for these protocols only; all if empty.
        watch: callbacks for every job.
        planned: called with the jobs to run, how many of them have outdated records, the number of
            finished jobs, and the time that those took.
        tell: called with the name of what is being counted.
    """
    end = None if minutes is None else time.time() + 60 * minutes
    trained = [table for table in tables if table in TABLES]
    counted = [table for table in tables if table not in TABLES]
    counted_only = only if not trained else ()  # ``only`` refers to trained tables if there are any
    runs = Runs(out)
    jobs = jobs_of(trained, only, quick, recipes or {}, added, protocols) if trained else []
    records = runs.read()
    missing = [job for job in jobs if fresh or not is_done(job, records)]
    if missing and engine == LOCAL:
        pick_device(device)  # fail before the first job if the device is not available
    if fresh:
        keys = {job.key for job in jobs}
        if counted:
            places = partitions.places(counted_only)
            keys |= {partitions.key(*place, quick).partition(":")[0] for place in places}
        runs.forget(keys)
        records = runs.read()
    if planned is not None:
        done = {job.key for job in jobs} - {job.key for job in missing}
        finished = [r for key, r in records.items() if key.partition(":")[0] in done]
        outdated = sum(has_records(job, records) for job in missing)
        planned(missing, outdated, len(done), report.spent(finished))
    whole = not counted or partitions.count_partitions(
        str(out), data, counted_only, quick, end, tell
    )
    settings = Settings(str(out), data, device, end)
    outcome = run_all(missing, settings, processes, watch or Watch(), engine)
    outcome.left += not whole
    return Reproduced(len(jobs) - len(missing), outcome)
