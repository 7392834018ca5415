"""``gpnn schemes``: the partitioning schemes, and their statistics on a dataset."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import InputError
from ._learn import Smiles, Target, samples_of
from ._shared import Data, Json, Schemes, emit, notes, show, styled, working

if TYPE_CHECKING:
    from ..train.scheme_scores import SchemeScore

__all__ = ["schemes"]

Option = typer.Option


def schemes(
    source: Annotated[
        str | None,
        typer.Argument(help="A dataset name, a CSV of SMILES or a folder of graphs, with labels."),
    ] = None,
    target: Target = None,
    smiles: Smiles = None,
    scheme: Schemes = None,
    interactions: Annotated[
        str, Option("--interactions", "-i", help="cross, edges or pairs.")
    ] = "edges",
    d: Annotated[int, Option("--d", help="Radius of the neighbourhoods, 1 to 5.")] = 1,
    layers: Annotated[int, Option(help="Rounds for which the classes of pairs are counted.")] = 3,
    results: Annotated[
        Path | None,
        Option(help="Folder that 'gpnn reproduce' wrote: compare with what training gave."),
    ] = None,
    nodes: Annotated[
        bool, Option("--nodes", help="The vertices of the graph in a .npz file have classes.")
    ] = False,
    out: Annotated[Path | None, Option("--out", "-o", help="Also draw a picture.")] = None,
    data: Data = None,
    json: Json = False,
) -> None:
    """List the partitioning schemes; with a source, measure them on it without training.

    For every scheme: its parts, its cross and within edges, the cost of the classes of pairs, and
    how much of the target a linear model of the part counts explains on held-out graphs. Test
    graphs are not used.

    gpnn schemes MUTAG

    gpnn schemes molecules.csv --target activity --out schemes.png
    """
    if source is None:
        given = {
            "--target": target, "--smiles": smiles, "--scheme": scheme, "--results": results,
            "--nodes": nodes, "--out": out,
        }  # fmt: skip
        idle = [name for name, value in given.items() if value]
        if idle:
            raise InputError(f"{', '.join(idle)}: name a source too, such as MUTAG.")
        _list(json)
        return
    from ..graph.refine import interaction_type
    from ..graph.schemes import get_scheme
    from ..graph.structure import Structure
    from ..train.scheme_scores import CANDIDATES, score_schemes

    names = [get_scheme(name).name for name in scheme or CANDIDATES]
    kind = interaction_type(interactions)
    Structure(interactions=kind, d=d, layers=layers)  # checks them
    samples = samples_of(source, target, smiles, None, data, False, nodes=nodes)
    rows: list[SchemeScore] = []
    with working(f"measuring {len(names)} schemes …"):
        rows.extend(score_schemes(samples, names, kind, d, layers))
    trained = {} if results is None else _trained(results, source, kind)
    if out is not None:
        from ..plots.save import save
        from ..plots.scheme_scores import draw_scheme_scores

        save(draw_scheme_scores(rows, source), out)
        notes().print(f"wrote {out}")
    agreement = _agreement(rows, trained)
    if json:
        records = [row.to_dict() | {"trained": trained.get(row.scheme)} for row in rows]
        emit({"source": source, "schemes": records, "rank_correlation": agreement})
    else:
        _show(source, rows, trained, agreement)


def _list(json: bool) -> None:
    from ..graph.schemes import PAPER_SCHEMES, list_schemes

    available = list_schemes()
    if json:
        rows = [
            {
                "scheme": scheme.name,
                "definition": scheme.definition,
                "cost": scheme.cost,
                "power": scheme.power,
                "in_paper": scheme.name in PAPER_SCHEMES,
            }
            for scheme in available
        ]
        emit({"schemes": rows})
        return
    from rich.table import Table

    table = Table("scheme", "colour of a vertex", "cost", "against 1-WL", show_lines=True)
    for scheme in available:
        table.add_row(styled(scheme.name, "bold"), scheme.definition, scheme.cost, scheme.power)
    show(
        table,
        "Put a number for k or r (wl-3, ego-2). Join schemes with '+': core+triangle. 'gpnn train' "
        "also takes auto, learned-4 and mix:core,degree.",
    )


def _trained(folder: Path, source: str, kind: str) -> dict[str, float]:
    """Return the result of GPNN with every scheme on a dataset under the honest protocol. All
    results have the same recipe, the one with the most schemes."""
    from ..data.tasks import higher_is_better
    from ..reproduce.jobs import key_of, settled
    from ..reproduce.runs import Runs

    honest = ("ogb", "zinc", "node", "tu-nested")
    by_recipe: dict[str, dict[str, float]] = {}
    for record in Runs(folder).read().values():
        row = record.get("row", {})
        dataset = record.get("recipe", {}).get("dataset", "")
        ours = dataset.lower() == source.lower() and record["protocol"] in honest
        if ours and row.get("interactions") == kind and not record["quick"]:
            sign = 1 if higher_is_better(record["metric"]) else -1
            own = by_recipe.setdefault(key_of(settled(record["recipe"])), {})
            own[row["scheme"]] = sign * record["mean"]
    if not by_recipe:
        raise InputError(f"{folder} has no results of {source} with interactions {kind}.")
    return max(by_recipe.values(), key=len)


def _agreement(rows: list[SchemeScore], trained: dict[str, float]) -> float | None:
    """Return Spearman's rank correlation of the cheap score with the results of training."""
    from scipy.stats import spearmanr

    both = [
        (row.explained, trained[row.scheme])
        for row in rows
        if row.explained is not None and row.scheme in trained
    ]
    if len(both) < 3:
        return None
    value = float(spearmanr(*zip(*both, strict=True)).statistic)
    return value if value == value else None


def _show(
    source: str, rows: list[SchemeScore], trained: dict[str, float], agreement: float | None
) -> None:
    from rich.table import Table

    metric = next((row.metric for row in rows if row.metric), "")
    words = {"r2": "R²", "roc_auc": "ROC-AUC"}
    head = ["scheme", "parts", "largest", "cross", "unseen", "classes by round", "tuples"]
    head += [f"explained ({words.get(metric, metric)})", *(["trained"] if trained else [])]
    table = Table(title=f"{source}: schemes", title_justify="left")
    for place, name in enumerate(head):
        table.add_column(name, justify="right" if place else "left")
    for row in sorted(rows, key=lambda row: -(row.explained or -1.0)):
        if row.reason:
            table.add_row(row.scheme, f"refused: {row.reason}")
            continue
        cells: list[Any] = [row.scheme, f"{row.parts:,}", f"{row.largest:.0%}", f"{row.cross:.0%}"]
        cells += [f"{row.unseen:.1%}", " ".join(f"{c:,}" for c in row.classes), f"{row.tuples:,}"]
        cells += ["-" if row.explained is None else f"{row.explained:.3f}"]
        cells += [f"{abs(trained[row.scheme]):.4f}" if row.scheme in trained else "-"] * bool(
            trained
        )
        table.add_row(*cells)
    show(
        table,
        "largest: share of the vertices in the largest part. cross: edges between parts. unseen: "
        "validation vertices in parts that no training graph has. tuples: what Equation 2 sums "
        "over, its cost. explained: a linear model of the part counts, on held-out graphs; "
        "compare with trivial, which knows the number of vertices alone.",
    )
    if agreement is not None:
        show(f"Rank correlation of explained with trained: {agreement:+.2f}.")
