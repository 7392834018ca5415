"""``gpnn datasets``: the paper's benchmarks, which are available, and how to get the others."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ._shared import Data, Json, emit, show, styled, working

if TYPE_CHECKING:
    from ..data.statistics import DatasetStatistics, PaperStatistics

__all__ = ["datasets"]

_FEATURES = {"labels": " labels", "molecule": " columns", "degree": " degrees", "features": ""}


def datasets(
    names: Annotated[
        list[str] | None, typer.Argument(help="Datasets to show. Default: all of the paper's.")
    ] = None,
    data: Data = None,
    json: Json = False,
) -> None:
    """List the paper's benchmarks with their statistics, counted here and as published.

    Nothing is downloaded. Counting takes a few seconds the first time; results are cached.
    """
    from ..data.datasets import DATASETS, data_folder, get, locate
    from ..data.statistics import PAPER, UNPUBLISHED, dataset_statistics
    from ..errors import InputError

    own = [name for name, entry in DATASETS.items() if entry.own is not None]
    asked = [get(name).name for name in names] if names else [*PAPER, *own]
    unknown = [name for name in asked if name not in (*PAPER, *own)]
    if unknown:
        raise InputError(
            f"{unknown[0]} is neither one of the paper's benchmarks nor registered. They are "
            f"{', '.join([*PAPER, *own])}; 'gpnn doctor' lists all datasets."
        )
    root = data_folder(data)
    rows = []
    for name in asked:
        row: dict[str, Any] = {"name": name, "about": get(name).about, "found": locate(name, data)}
        counted = None
        with working(f"reading {name} …"):
            try:
                counted = dataset_statistics(name, data)
            except InputError as error:
                row["problem"] = str(error)
        rows.append(row | _facts(name, PAPER.get(name, UNPUBLISHED), counted))
    if json:
        emit({"data": None if root is None else str(root), "datasets": rows})
    else:
        show(_table(rows, root), *_remarks(rows))


def _facts(name: str, paper: PaperStatistics, counted: DatasetStatistics | None) -> dict[str, Any]:
    from dataclasses import asdict

    return {
        "task": paper.task,
        "statistics": None if counted is None else asdict(counted),
        "paper": {
            column: getattr(paper, column)
            for column in ("graphs", "nodes", "edges", "classes", "features")
        },
        "note": paper.note,
        "differs": [] if counted is None else paper.differences(counted),
        "get": _get(name),
    }


def _get(name: str) -> str:
    """Return how to get a dataset."""
    from ..data.datasets import get

    entry = get(name)
    if entry.embedded:
        return "comes with gpnn"
    files = " or ".join((*entry.archives, *entry.markers[:1]))
    put = f"put {files} into the folder that --data or GPNN_DATA names"
    if entry.downloads:
        return f"downloaded on first use from {entry.downloads[0].address}, or {put}"
    return f"{put}. {entry.help}".rstrip(" .")


def _table(rows: list[dict[str, Any]], root: Path | None) -> Any:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(title="counted here (printed in the paper)", title_justify="left")
    table.box, table.pad_edge = SIMPLE_HEAD, False
    table.add_column("dataset", no_wrap=True)
    for column in ("graphs", "nodes", "edges", "classes", "features"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("found", overflow="fold")
    task = rows[0]["task"]
    for row in rows:
        if row["task"] != task:
            table.add_section()
            task = row["task"]
        location = row["found"]
        where: Any = styled("not found", "yellow") if location is None else _short(location, root)
        if "problem" in row:
            where = styled(row["problem"], "red")
        table.add_row(row["name"], *_cells(row), where)
    return table


def _cells(row: dict[str, Any]) -> list[Any]:
    counted, paper = row["statistics"], row["paper"]
    cells: list[Any] = []
    for column in ("graphs", "nodes", "edges", "classes", "features"):
        ours = "–" if counted is None else _number(counted[column])
        if counted is not None and column == "classes":
            tasks = f" × {counted['tasks']:,}" if counted["tasks"] > 1 else ""
            ours = f"{ours}{tasks}" if counted["classes"] else "number"
        if counted is not None and column == "features":
            ours += _FEATURES[counted["kind"]]
        text = ours if paper[column] is None else f"{ours} ({paper[column]:,})"
        cells.append(styled(text, "yellow") if column in row["differs"] else text)
    return cells


def _number(value: float) -> str:
    return f"{int(value):,}" if value == int(value) else f"{value:,.2f}"


def _short(found: str, root: Path | None) -> str:
    path = Path(found)
    if path.suffix in (".zip", ".npz"):
        return path.name
    inside = root is not None and path.is_relative_to(root)
    return str(path.relative_to(root)) if inside and root is not None else found


def _remarks(rows: list[dict[str, Any]]) -> list[Any]:
    from rich.text import Text

    from ..data.datasets import get

    lines = ["nodes and edges are averages per graph, every edge counted once, loops left out"]
    lines += [f"{row['name']}: {row['note']}" for row in rows if row["note"]]
    lines += [
        f"{row['name']}: the paper prints another number of {' and '.join(row['differs'])}"
        for row in rows
        if row["differs"]
    ]
    absent = {row["name"]: get(row["name"]) for row in rows if row["found"] is None}
    public = {name: entry.archives[0] for name, entry in absent.items() if entry.downloads}
    if public:
        lines.append(
            f"not found, downloaded when first used: {', '.join(public)}. Without a network, put "
            f"{', '.join(public.values())} into a folder and name it with --data or GPNN_DATA"
        )
    lines += [
        f"{row['name']}: {row['get']}" for row in rows if row["name"] in absent.keys() - public
    ]
    return [Text(line) for line in lines]
