"""A table of the paper from data to page: run what is missing, then write what there is."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..files import write_text
from ..train.device import pick_device
from . import distribution, partitions, report, statistics
from .jobs import Job
from .recipe import Recipe
from .results import collect
from .runs import Runs
from .tables import NOTHING, TABLES, Additions, jobs_of
from .training import is_done
from .workers import Outcome, Settings, Watch, run_all

__all__ = ["Order", "Reproduced", "reproduce"]


@dataclass(frozen=True)
class Order:
    """What is to be reproduced.

    Attributes:
        tables: names, see :data:`~gpnn.reproduce.tables.ALL`.
        out: the folder of records, pages and pictures.
        only: patterns ``dataset/method/scheme/interactions``; all if empty.
        data: the folder with datasets.
        quick: a small sample, marked as such.
        processes: jobs at once.
        minutes: after which no more work is begun, and running work is put aside.
        fresh: forget what is there and start over.
        recipes: in place of the package's, by name.
        command: what the pages say they were made by.
        added: datasets and base GNNs of the user's.
    """

    tables: Sequence[str]
    out: str
    only: Sequence[str] = ()
    data: str | None = None
    device: str = "auto"
    quick: bool = False
    processes: int = 1
    minutes: float | None = None
    fresh: bool = False
    recipes: Mapping[str, Recipe] = field(default_factory=dict)
    command: str = "gpnn reproduce"
    added: Additions = NOTHING


@dataclass(frozen=True)
class Reproduced:
    """What came of it: the files written, and how the jobs went."""

    files: tuple[Path, ...]
    already: int
    outcome: Outcome


def reproduce(
    order: Order,
    watch: Watch | None = None,
    planned: Callable[[list[Job], int, str], None] | None = None,
    tell: Callable[[str], None] | None = None,
) -> Reproduced:
    """Run the jobs that have no records yet, and write page and picture of every table.

    Args:
        watch: is told of every job.
        planned: is called with the jobs to run, how many are finished already, and what time
            those took.
        tell: is called with what is being counted.
    """
    end = None if order.minutes is None else time.time() + 60 * order.minutes
    trained = [table for table in order.tables if table in TABLES]
    counted = [table for table in order.tables if table not in TABLES]
    runs = Runs(order.out)
    jobs = _jobs(order, trained)
    records = runs.read()
    missing = [job for job in jobs if order.fresh or not is_done(job, records)]
    if missing:
        pick_device(order.device)  # what no job could do is said before the first
    if order.fresh:
        runs.forget({job.key for job in jobs} | _counted_keys(order, counted))
        records = runs.read()
    if planned is not None:
        done = {job.key for job in jobs} - {job.key for job in missing}
        held = [r for key, r in records.items() if key.partition(":")[0] in done]
        planned(missing, len(done), report.spent(held))
    whole = not counted or partitions.count_partitions(
        order.out, order.data, _of(order, counted), order.quick, end, tell
    )
    settings = Settings(order.out, order.data, order.device, end)
    outcome = run_all(missing, settings, order.processes, watch or Watch())
    outcome.left += not whole
    files = [path for table in order.tables for path in _write(table, order, runs)]
    files += [runs.path] if runs.path.is_file() else []
    return Reproduced(tuple(files), len(jobs) - len(missing), outcome)


def _jobs(order: Order, trained: Sequence[str]) -> list[Job]:
    if not trained:
        return []
    return jobs_of(trained, order.only, order.quick, order.recipes, order.added)


def _of(order: Order, counted: Sequence[str]) -> Sequence[str]:
    """``--only`` for the counted tables; beside trained ones it speaks of those."""
    return order.only if len(counted) == len(order.tables) else ()


def _counted_keys(order: Order, counted: Sequence[str]) -> set[str]:
    if not counted:
        return set()
    held = partitions.places(_of(order, counted))
    return {partitions.key(*place, order.quick).partition(":")[0] for place in held}


def _write(table: str, order: Order, runs: Runs) -> list[Path]:
    """Page and picture of a table, from the records alone."""
    from ..plots.save import save

    page, picture = runs.out / f"{table}.md", runs.out / f"{table}.png"
    records, quick = runs.read(), order.quick
    mark = " (QUICK)" if quick else ""
    if table == "statistics":
        from ..plots.partitions import draw_cross_shares

        text = statistics.to_markdown(records, order.command, quick, order.data)
        figure = draw_cross_shares(statistics.shares(records, quick), f"cross edges{mark}")
    elif table == "distribution":
        from ..plots.partitions import draw_panels

        text = distribution.to_markdown(records, order.command, quick)
        datasets = dict.fromkeys(dataset for dataset, _ in partitions.places())
        places = [(d, scheme) for d in datasets for scheme in distribution.SCHEMES]
        held = {place: records.get(partitions.key(*place, quick)) for place in places}
        bars = {k: None if r is None else distribution.percentages(r) for k, r in held.items()}
        figure = draw_panels(bars, f"vertices by part{mark}")
    else:
        from ..plots.results import draw_results

        parts = collect(table, records, quick, order.recipes, order.added)
        text = report.to_markdown(table, parts, order.command, quick)
        figure = draw_results(parts, f"{TABLES[table]}{mark}")
    write_text(page, text)
    save(figure, picture)
    return [page, picture]
