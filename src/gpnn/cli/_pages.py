"""Page and picture of every table, generated from the records alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..reproduce.recipe import Recipe
    from ..reproduce.runs import Record
    from ..reproduce.tables import Additions

__all__ = ["write_pages"]


def write_pages(
    tables: Sequence[str],
    out: Path,
    command: str,
    quick: bool,
    data: str | None,
    recipes: Mapping[str, Recipe],
    added: Additions,
) -> list[Path]:
    """Write ``TABLE.md`` and ``TABLE.png`` into ``out``; return the written files and the
    records file."""
    from ..files import write_text
    from ..plots.save import save
    from ..reproduce.runs import Runs

    runs = Runs(out)
    records, files = runs.read(), []
    for table in tables:
        if table == "statistics":
            text, figure = _statistics(records, command, quick, data)
        elif table == "peers":
            text, figure = _peers(records, out, command, quick, recipes, added)
        elif table == "distribution":
            text, figure = _distribution(records, command, quick)
        else:
            text, figure = _results(table, records, command, quick, recipes, added)
        page, picture = out / f"{table}.md", out / f"{table}.png"
        write_text(page, text)
        save(figure, picture)
        files += [page, picture]
    return [*files, *([runs.path] if runs.path.is_file() else [])]


def _statistics(
    records: dict[str, Record], command: str, quick: bool, data: str | None
) -> tuple[str, Figure]:
    from ..plots.partitions import draw_cross_shares
    from ..reproduce import statistics

    text = statistics.to_markdown(records, command, quick, data)
    return text, draw_cross_shares(statistics.shares(records, quick), _title("cross edges", quick))


def _distribution(records: dict[str, Record], command: str, quick: bool) -> tuple[str, Figure]:
    from ..plots.partitions import draw_panels
    from ..reproduce import distribution, partitions

    text = distribution.to_markdown(records, command, quick)
    datasets = dict.fromkeys(dataset for dataset, _ in partitions.places())
    places = [(d, scheme) for d in datasets for scheme in distribution.SCHEMES]
    counted = {place: records.get(partitions.key(*place, quick)) for place in places}
    bars = {k: None if r is None else distribution.percentages(r) for k, r in counted.items()}
    return text, draw_panels(bars, _title("vertices by part", quick))


def _peers(
    records: dict[str, Record],
    out: Path,
    command: str,
    quick: bool,
    recipes: Mapping[str, Recipe],
    added: Additions,
) -> tuple[str, Figure]:
    from ..bench.methods import cost_tables
    from ..plots.costs import draw_costs
    from ..reproduce import peer_report
    from ..reproduce.results import collect

    parts = collect("peers", records, quick, recipes, added)
    brec, steps = peer_report.read_brec(out), peer_report.read_steps(out)
    costs = [] if steps is None else cost_tables(steps, "###")
    text = peer_report.to_markdown(parts, brec, steps, costs, command, quick)
    return text, draw_costs(peer_report.points(parts, steps), _title("error against time", quick))


def _results(
    table: str,
    records: dict[str, Record],
    command: str,
    quick: bool,
    recipes: Mapping[str, Recipe],
    added: Additions,
) -> tuple[str, Figure]:
    from ..plots.gains import draw_gains
    from ..plots.results import draw_results
    from ..reproduce import report
    from ..reproduce.results import collect
    from ..reproduce.tables import OWN, TABLES

    parts = collect(table, records, quick, recipes, added)
    text = report.to_markdown(table, parts, command, quick)
    draw = draw_gains if table in OWN else draw_results
    return text, draw(parts, _title(TABLES[table], quick))


def _title(text: str, quick: bool) -> str:
    return f"{text} (QUICK)" if quick else text
