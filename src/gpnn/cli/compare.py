"""``gpnn compare``: two graphs under every method."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import InputError
from ..text import did_you_mean
from ._shared import Data, Json, Schemes, emit, load, notes, show, styled, working

if TYPE_CHECKING:
    from ..graph.graphs import Graphs
    from ..lab.compare import Finding

__all__ = ["compare"]


def compare(
    left: Annotated[
        str,
        typer.Argument(
            metavar="G",
            help="A graph: graph6, SMILES, a file, MUTAG:5. Or a named pair alone: rings, decalin, "
            "shrikhande, csl, cfi, figure-a, figure-b.",
        ),
    ],
    right: Annotated[str | None, typer.Argument(metavar="[H]", help="The other graph.")] = None,
    scheme: Schemes = None,
    d: Annotated[int, typer.Option("--d", help="Radius of the neighbourhood N_d.", min=1)] = 1,
    structure_only: Annotated[
        bool, typer.Option("--structure-only", help="Ignore atoms, bonds and other labels.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Draw both graphs with refinement colours.")
    ] = None,
    data: Data = None,
    json: Json = False,
) -> None:
    """Show which methods distinguish two graphs, after how many rounds, and by which colour."""
    from ..graph.schemes import get_scheme
    from ..plots.save import check_format

    for name in scheme or ():
        get_scheme(name)
    if out is not None:
        check_format(out)
    names, graphs = _pair(left, right, data)
    from dataclasses import replace

    from ..lab.compare import compare as run
    from ..lab.methods import comparison_methods

    if structure_only or any(g.node_labels is None and g.edge_labels is None for g in graphs):
        graphs = [replace(g, node_labels=None, edge_labels=None) for g in graphs]
    labelled = graphs[0].node_labels is not None or graphs[0].edge_labels is not None
    with working("comparing …"):
        findings = run(graphs[0], graphs[1], comparison_methods(scheme, d))
    if out is not None:
        with working("drawing …"):
            _draw(graphs, names, findings, out)
        notes().print(f"wrote {out}")
    if json:
        emit(
            {
                "left": _summary(names[0], graphs[0]),
                "right": _summary(names[1], graphs[1]),
                "labels": labelled,
                "results": [finding.as_row() for finding in findings],
            }
        )
    else:
        _show(names, graphs, findings, labelled)


def _pair(left: str, right: str | None, data: str | None) -> tuple[list[str], list[Graphs]]:
    from ..lab.named import NAMED_PAIRS, named_pair

    if right is None:
        if left not in NAMED_PAIRS:
            raise InputError(
                f"'{left}' is not a named pair.{did_you_mean(left, NAMED_PAIRS)} Give two graphs, "
                f"or one of the pairs {', '.join(NAMED_PAIRS)}."
            )
        pair, first, second = named_pair(left)
        notes().print(pair.story, style="dim")
        return [pair.left, pair.right], [first, second]
    graphs = [load(left, data), load(right, data)]
    for name, collection in zip((left, right), graphs, strict=True):
        if len(collection) != 1:
            raise InputError(
                f"'{name}' holds {len(collection):,} graphs; a comparison takes one. Pick one, as "
                f"in {name}:0."
            )
    return [left, right], graphs


def _summary(name: str, graph: Graphs) -> dict[str, object]:
    return {"name": name, "vertices": graph.num_nodes, "edges": graph.num_edges}


def _show(names: list[str], graphs: list[Graphs], findings: list[Finding], labelled: bool) -> None:
    from rich.table import Table

    title = " against ".join(
        f"{name} ({g.num_nodes} vertices, {g.num_edges} edges)"
        for name, g in zip(names, graphs, strict=True)
    )
    table = Table("method", "distinguishes?", "round", "witness", title=title, title_justify="left")
    words: dict[bool | None, Any] = {
        True: styled("yes", "bold green"),
        False: "no",
        None: styled("unknown", "yellow"),
    }
    for finding in findings:
        table.add_row(
            str(finding.method),
            words[finding.distinguishes],
            "" if finding.rounds is None else str(finding.rounds),
            finding.witness or "",
        )
    what = "Structure and labels are" if labelled else "Only the structure is"
    show(table, f"{what} compared.")


def _draw(graphs: list[Graphs], names: list[str], findings: list[Finding], out: Path) -> None:
    """Draw the colours of the first refinement that distinguishes the graphs, in the round in which
    it does. A GPNN variant takes precedence."""
    import numpy as np

    from ..graph.partition import unique_rows
    from ..lab.compare import side_by_side
    from ..plots.compare import draw_comparison
    from ..plots.save import save

    both = side_by_side(*graphs)
    telling = [f for f in findings if f.distinguishes and f.rounds is not None]
    telling.sort(key=lambda finding: finding.method.test != "gpnn")
    chosen = telling[0] if telling else findings[0]
    refinement = chosen.method.refinement(both)
    assert refinement is not None
    witness = refinement.witness(0, 1)
    if witness is None:
        round_ = int(refinement.recorded.min())
        title = f"{chosen.method}, round {round_}: not distinguished"
    else:
        round_ = witness.round
        title = f"{chosen.method}, round {round_}: distinguished"
    again = refinement._again((0, 1), round_)
    classes = unique_rows(again.at(round_).view(np.int64))[1]
    save(draw_comparison(both, classes, names, title), out)
