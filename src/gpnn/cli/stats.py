"""``gpnn stats``: partition statistics of a dataset by scheme."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ..errors import InputError
from ._shared import Data, Json, Schemes, emit, load, show, working

__all__ = ["stats"]


def stats(
    dataset: Annotated[str, typer.Argument(help="A dataset name or any source of graphs.")],
    scheme: Schemes = None,
    data: Data = None,
    json: Json = False,
) -> None:
    """Show the number of parts and the average directed cross and within edges per graph."""
    from ..graph.schemes import PAPER_SCHEMES, get_scheme

    rules = [get_scheme(name) for name in scheme or PAPER_SCHEMES]
    graphs = load(dataset, data)
    if len(graphs) == 0:
        raise InputError(f"'{dataset}' has no graphs: there is nothing to average over.")
    from ..graph.partition import partition

    rows: list[dict[str, Any]] = []
    for rule in rules:
        with working(f"cutting {len(graphs):,} graphs by {rule.name} …"):
            statistics = partition(graphs, rule).statistics()
        rows.append(
            {
                "scheme": rule.name,
                "partitions": statistics.partitions,
                "cross_edges": statistics.cross_edges,
                "within_edges": statistics.within_edges,
            }
        )
    if json:
        emit({"dataset": dataset, "graphs": len(graphs), "schemes": rows})
        return
    from rich.table import Table

    table = Table(title=f"{dataset}: {len(graphs):,} graphs", title_justify="left")
    table.add_column("scheme")
    for name in ("parts", "cross edges", "within edges"):
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(
            row["scheme"],
            f"{row['partitions']:,}",
            f"{row['cross_edges']:.2f}",
            f"{row['within_edges']:.2f}",
        )
    show(table, "Edges are averages per graph, each edge counted in both directions.")
