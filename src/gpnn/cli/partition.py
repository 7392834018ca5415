"""``gpnn partition``: the parts of a graph or a dataset."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import InputError
from ._shared import Data, Json, Scheme, Source, emit, load, notes, scheme_rule, show, working

if TYPE_CHECKING:
    from ..graph.partition import Partition

__all__ = ["partition"]

Out = Annotated[
    Path | None, typer.Option("--out", "-o", help="Write every vertex's part: .csv or .npz.")
]


def partition(
    source: Source,
    scheme: Scheme = "core-degree",
    out: Out = None,
    data: Data = None,
    json: Json = False,
) -> None:
    """Partition a graph or a dataset and list the parts.

    The scheme may also be the folder of a model, for example with a learned scheme.
    """
    rule = scheme_rule(scheme)
    if out is not None and out.suffix not in (".csv", ".npz"):
        raise InputError(f"Cannot write '{out}': give a name that ends in .csv or .npz.")
    if out is not None:
        from ..files import refuse_overwriting

        refuse_overwriting(out, source)
    graphs = load(source, data)
    from ..graph.partition import partition as cut

    with working(f"partitioning {len(graphs):,} graphs by {rule.name} …"):
        result = cut(graphs, rule)
        report = _report(source, result)
    if out is not None:
        (_write_csv if out.suffix == ".csv" else _write_npz)(result, out)
        notes().print(f"wrote {out}")
    if json:
        emit(report)
    else:
        _show(report)


def _report(source: str, cut: Partition) -> dict[str, Any]:
    import numpy as np

    graphs = cut.graphs
    components = cut.components()
    inside = np.bincount(cut.part[graphs.indices[~cut.cross]], minlength=cut.num_parts)
    parts = [
        {
            "part": i,
            "colour": cut.parts[i].tolist(),
            "label": cut.labels[i],
            "vertices": int(cut.sizes[i]),
            "graphs": int((components[:, i] > 0).sum()),
            "components": int(components[:, i].sum()),
            "within_edges": int(inside[i]) // 2,
        }
        for i in range(cut.num_parts)
    ]
    changed = graphs.normalised
    return {
        "source": source,
        "scheme": cut.scheme.name,
        "graphs": len(graphs),
        "vertices": graphs.num_nodes,
        "edges": graphs.num_edges,
        "cross_edges": int(cut.cross.sum()) // 2,
        "within_edges": int((~cut.cross).sum()) // 2,
        "border_vertices": int(cut.border.sum()),
        "normalised": {
            "self_loops": changed.self_loops,
            "duplicates": changed.duplicates,
            "reversed_added": changed.reversed_added,
        },
        "parts": parts,
        "part_of_vertex": [
            cut.part[low:high].tolist()
            for low, high in zip(graphs.ptr[:-1], graphs.ptr[1:], strict=True)
        ],
    }


SHOWN = 40


def _show(report: dict[str, Any]) -> None:
    from rich.table import Table

    vertices = max(1, report["vertices"])
    table = Table(
        title=f"{report['source']} partitioned by {report['scheme']}", title_justify="left"
    )
    table.add_column("part", justify="right")
    table.add_column("colour")
    for name in ("vertices", "share", "graphs", "components", "within edges"):
        table.add_column(name, justify="right")
    largest = sorted(report["parts"], key=lambda row: -row["vertices"])[:SHOWN]
    for row in sorted(largest, key=lambda row: row["part"]):
        table.add_row(
            str(row["part"]),
            row["label"],
            f"{row['vertices']:,}",
            f"{row['vertices'] / vertices:.1%}",
            f"{row['graphs']:,}",
            f"{row['components']:,}",
            f"{row['within_edges']:,}",
        )
    hidden = len(report["parts"]) - len(largest)
    more = f" The {hidden:,} smallest parts are not shown; --json has all." if hidden else ""
    show(
        table,
        f"{report['graphs']:,} graph{'s' * (report['graphs'] != 1)}, "
        f"{report['vertices']:,} vertices, {report['edges']:,} edges: "
        f"{report['within_edges']:,} within parts, {report['cross_edges']:,} across; "
        f"{report['border_vertices']:,} border vertices.{more}",
    )


def _write_csv(cut: Partition, path: Path) -> None:
    from ..train.answers import write_csv

    names = cut.graphs.vertex_names
    graph_of = cut.graphs.graph_of
    local = range(cut.graphs.num_nodes) - cut.graphs.ptr[graph_of]
    rows = (
        (graph, vertex if names is None else names[v], part, cut.labels[part], border)
        for v, (graph, vertex, part, border) in enumerate(
            zip(graph_of.tolist(), local.tolist(), cut.part.tolist(),
                cut.border.astype(int).tolist(), strict=True)
        )
    )  # fmt: skip
    write_csv(path, ["graph", "vertex", "part", "colour", "border"], rows)


def _write_npz(cut: Partition, path: Path) -> None:
    import numpy as np

    from ..array_files import write_arrays

    labels = np.array(cut.labels, dtype=np.str_)
    arrays: dict[str, Any] = {"ptr": cut.graphs.ptr, "part": cut.part, "colours": cut.colours}
    arrays |= {"parts": cut.parts, "labels": labels, "border": cut.border}
    write_arrays(path, arrays)
