"""The table ``statistics``: partitions of the OGB molecules, and all datasets, compared with the
paper."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..data.statistics import PAPER, dataset_statistics
from .page_cells import NONE
from .paper import published
from .partitions import key
from .report import QUICK, made_with

__all__ = ["shares", "to_markdown"]

Record = dict[str, Any]


def shares(
    records: Mapping[str, Record], quick: bool
) -> list[tuple[str, str, float | None, float]]:
    """Return (dataset, scheme, measured, paper): cross edges in per cent of all edges."""
    rows = []
    for row in published("partitions"):
        record = records.get(key(row["dataset"], row["scheme"], quick))
        ours = None if record is None else _share(record["cross_edges"], record["within_edges"])
        theirs = _share(float(row["cross_edges"]), float(row["within_edges"]))
        rows.append((row["dataset"], row["scheme"], ours, theirs))
    return rows


def to_markdown(
    records: Mapping[str, Record], command: str, quick: bool = False, data: str | None = None
) -> str:
    """Return the page in Markdown."""
    rows = [(row, key(row["dataset"], row["scheme"], quick)) for row in published("partitions")]
    used = [records[name] for _, name in rows if name in records]
    lines = [
        f"# statistics: partitions and datasets{' (QUICK)' if quick else ''}",
        "",
        *([QUICK, ""] if quick else []),
        f"Made by `{command}` from `runs.jsonl`. {made_with(used)}",
        "",
        "## Partitions",
        "",
        "Averages of *directed* edges per graph: *cross* edges join two parts (the paper's "
        "intra-edges), *within* edges lie in one (inter-edges). *Parts* are those that occur; the "
        "paper prints the largest label + 1 (for core-onion of the layer alone), so its numbers "
        "are others.",
        "",
        "| dataset | scheme | parts | paper | cross | paper | within | paper | cross, % |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for row, name in rows:
        lines.append(_line(row, records.get(name)))
    lines += [
        "",
        "## Datasets",
        "",
        "Averages per graph, every edge counted once, without self-loops; counted in the data at "
        "hand, all graphs.",
        "",
        "| dataset | graphs | paper | vertices | paper | edges | paper | classes or tasks | paper "
        "| differs |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---|",
        *(_dataset(name, data) for name in PAPER),
    ]
    return "\n".join(lines) + "\n"


def _line(row: Mapping[str, str], record: Record | None) -> str:
    cross, within = float(row["cross_edges"]), float(row["within_edges"])
    cells = [row["dataset"], row["scheme"]]
    for ours, theirs in (
        (record and f"{record['partitions']:,}", row["partitions"]),
        (record and f"{record['cross_edges']:.2f}", f"{cross:.2f}"),
        (record and f"{record['within_edges']:.2f}", f"{within:.2f}"),
    ):
        cells += [ours or NONE, theirs]
    share = record and f"{_share(record['cross_edges'], record['within_edges']):.1f}"
    cells.append(share or NONE)
    return f"| {' | '.join(cells)} |"


def _dataset(name: str, data: str | None) -> str:
    paper, stats = PAPER[name], dataset_statistics(name, data)
    digits = 0 if paper.graphs == 1 else 2
    cells = [name]
    for what in ("graphs", "nodes", "edges"):
        theirs = getattr(paper, what)
        ours = NONE if stats is None else f"{getattr(stats, what):,.{digits * (what != 'graphs')}f}"
        cells += [ours, f"{theirs:,}"]
    tasks = NONE if stats is None else str(stats.classes if stats.tasks == 1 else stats.tasks)
    if stats is not None and not stats.classes:
        tasks = str(stats.tasks)
    note = f" ({paper.note})" if paper.note else ""
    differs = NONE if stats is None else ", ".join(paper.differences(stats)) + note
    return f"| {' | '.join([*cells, tasks, str(paper.classes), differs])} |"


def _share(cross: float, within: float) -> float:
    return 100 * cross / (cross + within)
