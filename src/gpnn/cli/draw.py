"""``gpnn draw``: a graph with its parts, or a dataset as bars."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import InputError
from ._shared import Data, Json, Schemes, Source, emit, load, notes, scheme_rule, working

if TYPE_CHECKING:
    from ..graph.graphs import Graphs

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
    rules = [scheme_rule(name) for name in scheme or ()]
    graphs = _with_symbols(source, load(source, data))
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


def _with_symbols(source: str, graphs: Graphs) -> Graphs:
    """Name the vertices of a molecule given as SMILES by the symbols of its atoms."""
    from ..data.sources import looks_like_smiles
    from ..files import exists, user_path

    given = source.startswith("smiles:") or looks_like_smiles(source)
    if not given or exists(user_path(source)) or graphs.node_labels is None:
        return graphs
    from rdkit.Chem import GetPeriodicTable

    symbol = GetPeriodicTable().GetElementSymbol
    names = ["*" if not number else symbol(number) for number in graphs.node_labels.tolist()]
    return replace(graphs, vertex_names=names)
