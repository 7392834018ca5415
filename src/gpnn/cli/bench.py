"""``gpnn bench``: races against other libraries."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ._shared import Data, Json, emit, notes, show

__all__ = ["app", "partition"]

app = typer.Typer(help="Measure against other libraries.", no_args_is_help=True)


@app.callback()
def bench() -> None:
    """Measure against other libraries."""


@app.command("partition")
def partition(
    quick: Annotated[
        bool, typer.Option("--quick", help="Small graphs only, under a minute.")
    ] = False,
    repeats: Annotated[int, typer.Option(help="Timed runs per row; the median counts.", min=1)] = 5,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Also write the report as Markdown.")
    ] = None,
    data: Data = None,
    json: Json = False,
) -> None:
    """Race core+onion, triangles and components against igraph, networkit, rustworkx,
    scikit-network, networkx and SciPy: from a PyG edge_index to the answer, one thread each."""
    from ..files import write_text
    from ..learn.bench.race import run_race, to_markdown

    console = notes()
    result = run_race(
        quick=quick,
        repeats=repeats,
        data=data,
        progress=lambda text: console.print(f"[dim]{text}[/dim]"),
    )
    report = to_markdown(result)
    if out is not None:
        write_text(out, report)
        console.print(f"wrote {out}")
    if json:
        emit(result)
    else:
        from rich.markdown import Markdown

        show(Markdown(report))  # type: ignore[arg-type]
