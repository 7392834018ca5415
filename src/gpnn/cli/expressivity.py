"""``gpnn expressivity``: how many hard graphs each method distinguishes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import InputError
from ._shared import Data, Json, Schemes, command_line, emit, notes, show, writable

if TYPE_CHECKING:
    from ..lab.pair_log import PairResult

__all__ = ["expressivity"]


def expressivity(
    suite: Annotated[
        str, typer.Argument(help="atlas, brec, csl, sr, exp, cexp or graph8c.", metavar="SUITE")
    ],
    test: Annotated[
        list[str] | None,
        typer.Option("--test", "-t", help="1-wl, 3-wl, gpnn, lambda, …; may be repeated."),
    ] = None,
    scheme: Schemes = None,
    interactions: Annotated[
        list[str] | None,
        typer.Option("--interactions", "-i", help="cross, edges or pairs; may be repeated."),
    ] = None,
    d: Annotated[
        list[int] | None, typer.Option("--d", help="Radius of N_d; may be repeated.", min=1)
    ] = None,
    distances: Annotated[
        bool, typer.Option("--distances", help="Include the hop distance in the colour of a pair.")
    ] = False,
    realised: Annotated[
        bool,
        typer.Option(
            "--realised",
            help="Count what networks distinguish, untrained and trained as in BREC's protocol "
            "(brec only).",
        ),
    ] = False,
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            help="With --realised: another method in place of GPNN, such as cin, ppgn or "
            "esan:policy=node; may be repeated.",
        ),
    ] = None,
    category: Annotated[
        list[str] | None,
        typer.Option(
            "--category",
            help="With --realised: pairs of this category alone, such as Basic; may be repeated.",
        ),
    ] = None,
    log: Annotated[
        Path | None,
        typer.Option("--log", help="With --realised: file of finished pairs, to resume from."),
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Processes for --realised.", min=1)] = 1,
    device: Annotated[str, typer.Option("--device", help="Device for --realised.")] = "cpu",
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Also write the table as Markdown.", callback=writable),
    ] = None,
    data: Data = None,
    json: Json = False,
) -> None:
    """Count the pairs that each method distinguishes, or the number of classes it finds."""
    from ..files import write_text
    from ..graph.refine import interaction_type
    from ..graph.schemes import get_scheme
    from ..lab.methods import TESTS, suite_methods
    from ..lab.suites import SUITES, load_suite, run_suite, to_markdown

    if suite not in SUITES:
        raise InputError(f"There is no suite '{suite}'. Choose one of: {', '.join(SUITES)}.")
    for name in test or ():
        if name not in TESTS:
            raise InputError(f"There is no test '{name}'. Choose one of: {', '.join(TESTS)}.")
    kinds = [interaction_type(name) for name in interactions or ()]
    for name in scheme or ():
        get_scheme(name)
    if realised and (suite != "brec" or test or distances):
        raise InputError("--realised trains GPNN on brec: leave out --test and --distances.")
    if (category or log is not None or jobs != 1 or device != "cpu") and not realised:
        raise InputError("--category, --log, --jobs and --device are for --realised.")
    if model:
        _check_models(model, realised, bool(scheme or interactions or d))
    if test is None and (scheme or interactions or d or distances):
        test = ["gpnn"]
    methods = suite_methods(["gpnn"] if realised else test, scheme, kinds, d, distances)
    loaded = load_suite(suite, data)
    if realised:
        pairs = _pairs_of(loaded, category or [])
        chosen = [] if model else methods
        result = _realise(loaded, chosen, model or [], pairs, log, jobs, device)
    else:
        result = _run(loaded, methods, run_suite)
    if out is not None:
        write_text(out, to_markdown(result, command_line("--out", "-o", "--data", "--log")))
        notes().print(f"wrote {out}")
    if json:
        emit(result)
    else:
        _show(result)


def _run(suite: Any, methods: list[Any], run_suite: Any) -> dict[str, Any]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=notes(), transient=True) as bar:
        task = bar.add_task(suite.name, total=len(methods))

        def progress(method: Any) -> None:
            bar.update(task, description=str(method), completed=methods.index(method))

        return run_suite(suite, methods, progress)


def _check_models(models: list[str], realised: bool, more: bool) -> None:
    from ..nn.peers import PEERS, peer_of

    if not realised or more:
        raise InputError(
            "--model counts networks: give --realised, and leave out --scheme, --interactions, --d."
        )
    for name in models:
        if peer_of(name) is None:
            raise InputError(f"There is no model {name!r}. Choose one of {', '.join(PEERS)}.")


def _pairs_of(suite: Any, categories: list[str]) -> list[int]:
    """The pairs of some categories; of all, if none is named."""
    known = list(dict.fromkeys(suite.categories))
    for name in categories:
        if name not in known:
            raise InputError(f"There is no category {name!r}. Choose one of: {', '.join(known)}.")
    return [p for p, own in enumerate(suite.categories) if not categories or own in categories]


def _realise(
    suite: Any,
    methods: list[Any],
    models: list[str],
    pairs: list[int],
    log: Path | None,
    jobs: int,
    device: str,
) -> dict[str, Any]:
    from rich.progress import Progress

    from ..lab.pair_log import locked_log
    from ..lab.realised import realise_suite
    from ..lab.suites import method_of
    from ..train.device import pick_device

    results, device = [], str(pick_device(device))
    kinds: list[tuple[str, dict[str, Any]]] = [("GIN", {"gpnn": False})]
    for one in methods:
        options = {"scheme": one.scheme, "interactions": one.interactions, "d": one.d}
        kinds.append((str(one), options))
    kinds += [(name, {"model": name}) for name in models]
    with locked_log(log) as kept, Progress(console=notes(), transient=True) as bar:
        for name, options in kinds:
            task = bar.add_task(name, total=len(pairs))
            reasons: dict[int, str] = {}

            def tell(
                pair: int,
                result: PairResult | str,
                task: Any = task,
                reasons: dict[int, str] = reasons,
            ) -> None:
                bar.advance(task)
                if isinstance(result, str):
                    reasons[pair] = result

            row = realise_suite(
                suite,
                **options,
                pairs=pairs,
                jobs=jobs,
                device=device,
                log=kept,
                progress=tell,
            )
            results.append(row)
            exact = "" if row["exact"] is None else f"{row['exact']} exact, "
            counts = f"{exact}{row['untrained']} untrained"
            notes().print(f"{method_of(row)}: {counts}, {row['distinguished']} trained")
            if reasons:
                first = min(reasons)
                notes().print(
                    f"{method_of(row)}: {len(reasons)} pairs are refused and not counted, such as "
                    f"pair {first}: {reasons[first]}"
                )
    kinds_run = list(dict.fromkeys(suite.categories[p] for p in pairs))
    part = {} if len(pairs) == suite.size else {"categories": kinds_run}
    return {"suite": suite.name, "pairs": len(pairs), **part, "results": results}


def _show(result: dict[str, Any]) -> None:
    from rich.table import Table

    from ..lab.suites import about_result, columns_of, method_of, quoted_rows

    paired = "pairs" in result
    count = "distinguished" if paired else "classes"
    total = result["pairs" if paired else "graphs"]
    rows = result["results"]
    categories = list(rows[0]["by_category"]) if rows else []
    table = Table(title=f"{result['suite']}: {about_result(result)}", title_justify="left")
    table.add_column("method")
    more = list(columns_of(rows[0], rows)) if rows else []
    table.add_column(f"{'trained' if more else count} of {total:,}", justify="right")
    for name in more:
        table.add_column(name, justify="right")
    if len(categories) > 1:
        for category in categories:
            table.add_column(category, justify="right")
    for row in rows:
        unknown = f" (+{row['unknown']} unknown)" if "unknown" in row else ""
        cells = list(columns_of(row, rows).values())
        cells += [str(n) for n in row["by_category"].values()] if len(categories) > 1 else []
        table.add_row(method_of(row), f"{row[count]:,}{unknown}", *cells)
    table.add_section()
    for name, figure in quoted_rows(result).items():
        table.add_row(f"{name} (quoted)", str(figure), style="dim")
    show(table)
