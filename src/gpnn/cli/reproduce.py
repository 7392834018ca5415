"""``gpnn reproduce``: measure the paper's tables and compare them with the paper's figures."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import InputError
from ._learn import Device
from ._shared import Data, Engine, command_line, notes, show

if TYPE_CHECKING:
    from ..reproduce.recipe import Recipe
    from ..reproduce.reproduce import Reproduced
    from ..reproduce.tables import Additions
    from ..reproduce.workers import Watch

__all__ = ["reproduce"]

Option = typer.Option
QUIET_SECONDS = 20.0
_WORDS = {"done": "done", "late": "out of time", "busy": "another process is training it"}


def reproduce(
    table: Annotated[
        str,
        typer.Argument(
            help="graph-classification, node-classification, schemes, interactions, regression, "
            "statistics, distribution, or all of these; tuned, seeds, peers.",
            metavar="TABLE",
        ),
    ],
    only: Annotated[
        list[str] | None,
        Option(
            help="dataset/method/scheme/interactions; later fields may be omitted, * matches "
            "anything. Baselines of a selected GPNN are trained too. May be repeated."
        ),
    ] = None,
    data: Data = None,
    out: Annotated[
        Path | None,
        Option("--out", "-o", help="Output folder. Default: results, or results-quick."),
    ] = None,
    quick: Annotated[
        bool, Option("--quick", help="Train a small sample, marked as such: minutes on a laptop.")
    ] = False,
    jobs: Annotated[
        int | None,
        Option(
            "--jobs",
            "-j",
            help="Number of trainings at once. Default: 1; on a cluster, as many as it has room "
            "for.",
            min=1,
        ),
    ] = None,
    engine: Engine = "local",
    device: Device = "auto",
    minutes: Annotated[
        float | None,
        Option(
            help="Stop after about this many minutes; the same command resumes. 0 trains nothing "
            "and rewrites the pages from existing records."
        ),
    ] = None,
    recipe: Annotated[
        list[Path] | None,
        Option(help="Recipe file that replaces the built-in one of that name; may be repeated."),
    ] = None,
    protocol: Annotated[
        list[str] | None,
        Option(help="Train for this protocol alone, such as tu-1. May be repeated."),
    ] = None,
    dataset: Annotated[
        list[str] | None,
        Option(
            help="Add a registered dataset of your own (--plugin) as a column. May be repeated."
        ),
    ] = None,
    base: Annotated[
        list[str] | None,
        Option(
            help="Add a registered base GNN of your own (--plugin) as rows, alone and with "
            "GPNN. May be repeated."
        ),
    ] = None,
    fresh: Annotated[
        bool, Option("--fresh/--resume", help="Start over, or resume from the records in --out.")
    ] = False,
) -> None:
    """Train the models of a table and compare the results with the paper.

    Writes TABLE.md, TABLE.png and runs.jsonl into --out. Finished runs are kept; run the same
    command again to resume. Runs of a version of gpnn with other results are trained again.

    \b
    Examples:
      gpnn reproduce statistics
      gpnn reproduce graph-classification --quick
      gpnn reproduce graph-classification --only MUTAG --jobs 2
      gpnn reproduce graph-classification --only '*/CIN' --protocol tu-1
      gpnn reproduce schemes --only 'ogbg-moltox21/GPNN/core-degree/cross' --device cuda
      gpnn reproduce all --minutes 9
      gpnn reproduce all --engine ray://10.0.0.1:6379
    """
    from ..reproduce.tables import TABLES, jobs_of, named

    if minutes is not None and not minutes >= 0:
        raise InputError(f"--minutes must be 0 or more; got {minutes:g}.")
    folder = out if out is not None else Path("results-quick" if quick else "results")
    if folder.is_file():
        raise InputError(f"{folder} is a file. Name a folder with --out.")
    left_out = ("--out", "-o", "--data", "--minutes", "--jobs", "-j", "--device", "--engine")
    added = _additions(dataset or [], base or [])
    tables, recipes = named(table), _recipes(recipe or [], added.datasets)
    trained = [name for name in tables if name in TABLES]
    selected = jobs_of(trained, only or (), quick, recipes, added, protocol or ())
    used = {job.recipe.name for job in selected}
    if unused := [name for name in recipes if name not in used]:
        raise InputError(
            f"The recipe {unused[0]!r} is not used: {table} trains "
            f"{', '.join(sorted(used)) or 'nothing'}{' with this --only' if only else ''}."
        )
    if quick and selected:
        _tell_quick()
    import torch

    from ..reproduce.reproduce import reproduce as run
    from ._pages import write_pages

    torch.set_num_threads(1)
    with _watching() as (watch, planned, tell):
        done = run(
            tables, folder, only or (), data=data, device=device, quick=quick, processes=jobs,
            engine=engine, minutes=minutes, fresh=fresh, recipes=recipes, added=added,
            protocols=protocol or (), watch=watch, planned=planned, tell=tell,
        )  # fmt: skip
    files = write_pages(tables, folder, command_line(*left_out), quick, data, recipes, added)
    _tell(done, files, tables)


def _additions(datasets: list[str], bases: list[str]) -> Additions:
    from ..data.catalogue import get
    from ..reproduce.tables import Additions

    if bases:
        from ..nn.bases import known_bases

        if unknown := [name for name in bases if name not in known_bases()]:
            raise InputError(
                f"Unknown base {unknown[0]!r}. Choose one of {', '.join(known_bases())}, or "
                "register it in a --plugin file."
            )
    return Additions(tuple(get(name).name for name in datasets), tuple(bases))


def _recipes(paths: list[Path], datasets: tuple[str, ...]) -> dict[str, Recipe]:
    from ..reproduce.recipe import list_recipes, read_recipe

    recipes = {recipe.name: recipe for recipe in map(read_recipe, paths)}
    known = [*list_recipes(), *datasets]
    for name in recipes:
        if name not in known:
            raise InputError(
                f"The recipe {name!r} belongs to no column of a table. Call the file after one, or "
                f"give it the field name: {', '.join(known)}."
            )
    return recipes


def _tell_quick() -> None:
    from ..reproduce.jobs import QUICK_LIMITS

    limits = ", ".join(f"{name} {most}" for name, most in QUICK_LIMITS.items())
    text = f"QUICK: a sample of the data, and of a recipe at most {limits}"
    notes().print(text)


@contextmanager
def _watching() -> Iterator[tuple[Watch, Any, Any]]:
    """Show a line per running job on a terminal; else a line per finished job, and occasional
    progress."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from ..reproduce.jobs import Job
    from ..reproduce.workers import Watch

    console = notes()
    columns = (TextColumn("{task.description}", markup=False), BarColumn(bar_width=20))
    bar = Progress(
        *columns,
        TextColumn("{task.fields[text]}", markup=False),
        TimeElapsedColumn(),
        console=console,
    )
    total, lines, last = [0, 0], {}, [time.monotonic()]
    reasons: set[str] = set()

    class Live(Watch):
        def started(self, job: Job) -> None:
            lines[job.name] = bar.add_task(job.name, total=1.0, text="preparing")

        def share(self, job: Job, done: float) -> None:
            epoch = f"epoch {min(job.recipe.epochs, int(done * job.recipe.epochs))}"
            text = f"{epoch}/{job.recipe.epochs}"
            bar.update(lines[job.name], completed=done, text=text)
            if not console.is_terminal and time.monotonic() - last[0] > QUIET_SECONDS:
                last[0] = time.monotonic()
                console.print(f"at {job.name}: {text}")

        def ended(self, job: Job, ending: str, seconds: float) -> None:
            bar.remove_task(lines.pop(job.name))
            last[0] = time.monotonic()
            total[0] += ending == "done"
            count, took = f"{total[0]}/{total[1]}", f", {seconds:.1f} s"
            if ending in _WORDS:
                console.print(f"{count}  {job.name}: {_WORDS[ending]}{took}")
            elif ending not in reasons:  # a missing dataset is the same error for every model
                reasons.add(ending)
                console.print(f"{count}  {job.name}: {ending}")

    def planned(jobs: list[Job], outdated: int, already: int, spent: str) -> None:
        total[1] = len(jobs)
        if jobs or already:
            took = f" ({spent})" if already else ""
            console.print(f"{len(jobs)} trainings to do, {already} done already{took}")
        if outdated:
            console.print(
                f"{outdated} of these have records of a version of gpnn with other results, which "
                "the pages show until they are trained again"
            )

    def tell(what: str) -> None:
        console.print(f"counting {what}")

    if not console.is_terminal:
        bar.disable = True
    with bar:
        yield Live(), planned, tell


def _tell(done: Reproduced, files: list[Path], tables: tuple[str, ...]) -> None:
    """Report where the files are, and what is missing."""
    outcome = done.outcome
    show("\n".join(f"wrote {path}" for path in files))
    if outcome.left:
        text = f"{outcome.left} out of time: give the same command again to resume."
        notes().print(text)
    if outcome.refused:
        name, reason = next(iter(outcome.refused.items()))
        more = f" (and {len(outcome.refused) - 1} more)" if len(outcome.refused) > 1 else ""
        raise InputError(
            f"{', '.join(tables)}: not everything could be trained. {name}{more}: {reason}"
        )
