"""``gpnn search``: a better recipe for a dataset, chosen on validation samples alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import InputError
from ._learn import Device, Threads, use_threads
from ._search_progress import search_progress, short
from ._shared import Data, Engine, Json, Scheme, emit, notes, show, working
from ._train_checks import is_given

if TYPE_CHECKING:
    from ..reproduce.recipe import Recipe
    from ..reproduce.search import Search, Searched

__all__ = ["search"]

Option = typer.Option
RUNGS = (0.25, 0.5, 1.0)
"""Shares of the epochs, as in :data:`gpnn.train.halving.RUNGS`, which imports torch."""
SHOWN = 5


def search(
    context: typer.Context,
    dataset: Annotated[
        str,
        typer.Argument(
            help="A dataset of the paper (MUTAG, ogbg-molhiv, ZINC-edge-features, Texas, …), or a "
            "recipe file. It supplies every setting that is not searched."
        ),
    ],
    space: Annotated[
        Path | None,
        Option(
            help="TOML file with the search space: layers = [2, 3], "
            "lr = {low = 1e-4, high = 1e-2, log = true}. Default: the paper's ranges."
        ),
    ] = None,
    trials: Annotated[
        int | None, Option(help="Settings to try. Default: 16, or 4 with --quick.")
    ] = None,
    minutes: Annotated[
        float | None, Option(help="Stop after this many minutes; the same command resumes.")
    ] = None,
    models: Annotated[
        int, Option(help="Models per trial: folds, splits or seeds of the protocol.")
    ] = 5,
    base: Annotated[
        str, Option(help="gin, gcn, gat or sage; or another method alone, such as cin.")
    ] = "gin",
    scheme: Scheme = "core-degree",
    interactions: Annotated[
        str, Option("--interactions", "-i", help="cross, edges or pairs.")
    ] = "edges",
    baseline: Annotated[
        bool, Option("--baseline", help="Search for the base GNN alone, without GPNN.")
    ] = False,
    every: Annotated[
        bool,
        Option(
            "--all",
            help="Search for GPNN, for GPNN on one part, for the base GNN and for the base GNN "
            "with as many parameters: the same space and trials for each.",
        ),
    ] = False,
    share: Annotated[
        float, Option(help="Share of the recipe's epochs that the best trials are trained for.")
    ] = 1.0,
    out: Annotated[
        Path | None, Option("--out", "-o", help="Output folder. Default: searches/DATASET-MODEL.")
    ] = None,
    seed: Annotated[int, Option(help="Random seed for drawing settings.")] = 0,
    quick: Annotated[
        bool, Option("--quick", help="Use a small sample of graphs and epochs, to test the setup.")
    ] = False,
    fresh: Annotated[
        bool, Option("--fresh/--resume", help="Start over, or resume the search in --out.")
    ] = False,
    engine: Engine = "local",
    device: Device = "auto",
    threads: Threads = 1,
    data: Data = None,
    json: Json = False,
) -> None:
    """Search for a recipe by successive halving; the result is a TOML file.

    All settings are trained for a quarter of the epochs, the better half for half of the epochs,
    and the better half of these for all epochs. Settings that differ only in lr, weight_decay or
    dropout are trained side by side. Test samples are never used. Run the same command again to
    resume. With --engine ray, every set that is trained side by side is a task with one core.

    gpnn search MUTAG --trials 30 --minutes 60

    gpnn search Texas --base gcn --baseline --space mine.toml

    gpnn search ogbg-molhiv --engine ray://10.0.0.1:6379
    """
    from ..ray_engine import LOCAL, cluster
    from ..reproduce.search import Search, run_search
    from ..reproduce.search_space import read_space
    from ..reproduce.tuned import compared_rows, run_searches

    use_threads(threads)
    if engine != LOCAL and threads != 1:
        raise InputError("A task of --engine ray has one thread. Leave out --threads.")
    if every and baseline:
        raise InputError("--all searches for the base GNN too: leave out --baseline.")
    row = _row(base, scheme, interactions, baseline)
    if not row.gpnn:
        named = [f"--{name}" for name in ("scheme", "interactions") if is_given(context, name)]
        if named:
            raise InputError(f"{row.title} is trained without GPNN: leave out {', '.join(named)}.")
        if every:
            raise InputError(
                f"--all compares GPNN with a base GNN, and {row.title} is neither. Leave out --all."
            )
    recipe = _recipe(dataset).for_base(base)
    chosen = read_space(space, recipe)
    idle = _idle(recipe, base, not row.gpnn, data, quick)
    chosen = chosen.without(*idle)
    if not chosen.dimensions:
        raise InputError(
            f"Nothing is left to search: {', '.join(idle)} would change nothing here. Name other "
            "fields in --space."
        )
    count = trials if trials is not None else 4 if quick else 16
    plan = Search(recipe, row, chosen, count, models, share, seed, quick)
    folder = out or Path("searches") / _folder(plan)
    with cluster(engine), search_progress() as (progress, finished):
        options: dict[str, Any] = {
            "data": data, "device": device, "fresh": fresh, "progress": progress,
            "finished": finished, "engine": engine,
        }  # fmt: skip
        if every:
            plans: list[Search] = []

            def began(own: Search) -> None:
                plans.append(own)
                _tell(own, minutes, folder)

            many = run_searches(plan, folder, minutes, began, **options)
        else:
            plans = [plan]
            _tell(plan, minutes, folder)
            many = {"": run_search(plan, folder, minutes, **options)}
    documents = []
    for own, (name, result) in zip(plans, many.items(), strict=False):
        documents.append(_document(own, result, folder / name))
        if not json:
            _show(own, result)
    if every and len(many) < len(compared_rows(row)):
        notes().print("Searches are left: run the same command again to resume.")
    if json:
        emit(documents if every else documents[0])


def _recipe(dataset: str) -> Recipe:
    from ..reproduce.recipe import list_recipes, load_recipe, read_recipe

    if dataset.endswith(".toml"):
        return read_recipe(dataset)
    names = {name.lower(): name for name in list_recipes()}
    return load_recipe(names.get(dataset.lower(), dataset))


def _row(base: str, scheme: str, interactions: str, baseline: bool) -> Any:
    from ..graph.learned import learned_parts
    from ..graph.refine import interaction_type
    from ..graph.schemes import get_scheme
    from ..options import AUTO
    from ..reproduce.jobs import NAMES, PEERS, Row

    names = {ours: theirs for theirs, ours in NAMES.items()}
    if base not in names:
        raise InputError(f"There is no base {base!r}. Choose one of {', '.join(names)}.")
    if baseline or names[base] in PEERS:
        return Row(names[base])
    if scheme == AUTO or learned_parts(scheme):
        raise InputError(
            f"A search is for one fixed scheme; got --scheme {scheme}. Compare with 'gpnn bench "
            f"schemes DATASET -m {scheme}': there every split has a choice or training of its own."
        )
    return Row(names[base], get_scheme(scheme).name, interaction_type(interactions))


def _idle(recipe: Recipe, base: str, baseline: bool, data: str | None, quick: bool) -> list[str]:
    """Return the fields that have no effect; refuse a peer that cannot take the data."""
    from ..nn.peers import peer_of
    from ..reproduce.data import load_data
    from ..reproduce.jobs import GPNN_ALONE

    peer = peer_of(base)
    with working(f"reading {recipe.dataset} …"):
        alone = load_data(recipe, data, quick).task.node_level
    if alone and peer is not None and not peer.kind.per_vertex:
        raise InputError(
            f"{peer.kind.title} has one output per graph, and {recipe.dataset} is one graph with "
            "labelled vertices. Search for another model."
        )
    return [*GPNN_ALONE] * baseline + ["batch_size", "steps"] * alone


def _folder(plan: Search) -> str:
    quick = "-quick" if plan.quick else ""
    return f"{plan.recipe.name}-{plan.row.title.replace(' ', '-')}{quick}"


def _tell(plan: Search, minutes: float | None, folder: Path) -> None:
    from ..reproduce.search_trial import QUICK_EPOCHS

    models = "one model" if plan.per_trial == 1 else f"{plan.per_trial} models"
    time = "" if minutes is None else f", {minutes:g} minutes at most"
    whole = ", one for every point," if plan.trials == plan.space.size else ""
    most = f"a small sample and {QUICK_EPOCHS} epochs at most, to see that it works"
    quick = f"QUICK: {most}\n" if plan.quick else ""
    notes().print(
        f"{quick}search    {plan.recipe.name}, {plan.row.title}\n"
        f"space     {plan.space}\n"
        f"budget    {plan.trials} trials{whole} of {models}{time}; the better half "
        "goes on after 1/4 and 1/2 of the epochs\n"
        f"cost      that of {_trainings(plan):.0f} trials with all epochs\n"
        f"chosen    on validation samples alone; test samples are not looked at\n"
        f"folder    {folder}",
    )


def _trainings(plan: Search) -> float:
    """Return the cost of all trials, in trainings of a trial for all epochs."""
    cost, count = 0.0, plan.trials
    for share in RUNGS:
        cost, count = cost + share * count, -(-count // 2)
    return cost


def _document(plan: Search, found: Searched, folder: Path) -> dict[str, Any]:
    return {
        "search": plan.to_dict(),
        "metric": found.metric,
        "folder": str(folder),
        "complete": found.complete,
        "best": None if found.best is None else vars(found.best),
        "recipe": None if found.path is None else str(found.path),
        "trials": [vars(trial) for trial in found.trials],
    }


def _show(plan: Search, found: Searched) -> None:
    from rich.table import Table

    from ..train.halving import ranked

    if found.best is None:
        reasons = [trial.reason for trial in found.trials if trial.reason]
        show(f"No trial has a value yet. {reasons[0] if reasons else 'Give it more minutes.'}")
        return
    title = f"{plan.recipe.name}, {plan.row.title}: {plan.trials} trials"
    table = Table(title=f"{'QUICK ' * plan.quick}{title}", title_justify="left")
    for name in ("trial", "epochs", f"validation {found.metric}", "at epoch", "parameters"):
        table.add_column(name, justify="right")
    for name in plan.space.dimensions:
        table.add_column(name, justify="right")
    order = ranked(found.trials, found.metric)
    for trial in sorted(order, key=lambda trial: -trial.rung)[:SHOWN]:
        spread = "" if trial.std is None else f" ± {trial.std:.4f}"
        cells = [str(trial.number), str(trial.epochs), f"{trial.value:.4f}{spread}"]
        cells += [str(trial.epoch)]
        cells += [f"{trial.parameters:,}", *(short(value) for value in trial.values.values())]
        table.add_row(*cells)
    left = "" if found.complete else "The search is not complete: run it again.\n"
    use = "" if plan.quick else f" (gpnn reproduce TABLE --recipe {found.path})"
    show(table, f"{left}recipe {found.path}{use}")
