"""``gpnn draw``: a graph with its parts, or a dataset as bars."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..errors import InputError
from ._shared import Data, Json, Schemes, Source, emit, load, notes, working

__all__ = ["draw"]


def draw(
    source: Source,
    scheme: Schemes = None,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Picture to write: .png, .svg or .pdf.")
    ] = Path("partition.png"),
    graph: Annotated[
        int | None, typer.Option("--graph", "-g", help="Draw this graph of a dataset (from 0).")
    ] = None,
    data: Data = None,
    json: Json = False,
) -> None:
    """Draw one graph with its parts, or, for many graphs, how vertices spread over the parts."""
    from ..graph.schemes import PAPER_SCHEMES, get_scheme
    from ..plots.save import check_format, save

    check_format(out)
    rules = [get_scheme(name) for name in scheme or ()]
    graphs = load(source, data)
    if len(graphs) == 0:
        raise InputError(f"'{source}' has no graphs: there is nothing to draw.")
    if graph is not None:
        if not 0 <= graph < len(graphs):
            raise InputError(
                f"'{source}' has graphs 0 to {len(graphs) - 1}; there is no graph {graph}."
            )
        graphs, source = graphs[graph], f"{source}, graph {graph}"
    from ..graph.partition import partition
    from ..plots.bars import draw_distribution
    from ..plots.draw import draw_partition

    if len(graphs) == 1:
        if len(rules) > 1:
            raise InputError("One graph is drawn with one scheme; join several with '+'.")
        rules = rules or [get_scheme("core-degree")]
    else:
        rules = rules or [get_scheme(name) for name in PAPER_SCHEMES if name != "trivial"]
    with working(f"drawing {source} …"):
        cuts = [partition(graphs, rule) for rule in rules]
        if len(graphs) == 1:
            figure = draw_partition(cuts[0], f"{source}")
        else:
            figure = draw_distribution(cuts, f"{source}: {len(graphs):,} graphs")
        save(figure, out)
    notes().print(f"wrote {out}")
    if json:
        emit(
            {
                "source": source,
                "graphs": len(graphs),
                "schemes": [cut.scheme.name for cut in cuts],
                "kind": "graph" if len(graphs) == 1 else "distribution",
                "out": str(out),
            }
        )
