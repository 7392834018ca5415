"""``gpnn demo``: the main job on the embedded molecules."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ._shared import notes, show
from .stats import stats

__all__ = ["demo"]

MOLECULE = 2


def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the pictures.")] = Path(
        "demo"
    ),
) -> None:
    """Cut the 188 embedded MUTAG molecules into parts, report, and draw two pictures."""
    from ..graph.partition import partition
    from ..graph.schemes import PAPER_SCHEMES
    from ..learn.datasets import load_graphs
    from ..plots.bars import draw_distribution
    from ..plots.draw import draw_partition
    from ..plots.save import save

    graphs = load_graphs("MUTAG")
    stats("MUTAG")
    one = partition(graphs[MOLECULE], "core-degree")
    inside, across = one.within_edges().shape[1], one.cross_edges().shape[1]
    show(
        f"\nMolecule {MOLECULE} cut by core-degree: {one.num_parts} parts, {inside} edges within "
        f"parts, {across} across, {int(one.border.sum())} of {one.graphs.num_nodes} atoms on the "
        "border."
    )
    for label, size in zip(one.labels, one.sizes.tolist(), strict=True):
        show(f"  {'■' * size} {size} atoms, core {label}")
    save(
        draw_partition(one, f"MUTAG molecule {MOLECULE}, cut by core-degree"), out / "molecule.png"
    )
    cuts = [partition(graphs, name) for name in PAPER_SCHEMES if name != "trivial"]
    save(draw_distribution(cuts, "MUTAG: 188 molecules"), out / "distribution.png")
    notes().print(f"wrote {out / 'molecule.png'} and {out / 'distribution.png'}")
