"""The benchmark as a Markdown page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["to_markdown"]

_RULES = """\
From a PyG `edge_index` tensor (int64, both directions, sorted as `coalesce` leaves it) to the
answer, conversion included. Every library goes by its fastest way in, in one process, one thread
each, in turns with gpnn; the median of repeated runs counts. All answers were compared with
gpnn's, vertex by vertex. *Times ours* is the other's time divided by gpnn's: above 1, gpnn is
faster. *Peak* is the memory a run takes at most beyond its input, in a process of its own, in
megabytes.
"""


def to_markdown(result: Mapping[str, Any]) -> str:
    """Return the result of :func:`~gpnn.bench.race.run_race` as a page: a table per workload, the
    growth of time with size, and the machine."""
    rows, environment = result["rows"], result["environment"]
    parts = ["# `gpnn bench partition`\n", _RULES]
    for name in dict.fromkeys(row["workload"] for row in rows):
        about = environment["workloads"].get(name)
        parts.append(f"## {name}\n")
        if about:
            parts.append(f"{about[0].upper()}{about[1:]}.\n")
        parts.append(_table([row for row in rows if row["workload"] == name]))
    parts += [_growth(result["growth"]), _machine(environment)]
    return "\n".join(parts)


def _table(rows: list[Mapping[str, Any]]) -> str:
    lines = [
        "| task | library | seconds | times ours | peak, MB | |",
        "|---|---|---:|---:|---:|---|",
    ]
    for row in rows:
        cells = (
            row["task"],
            f"**{row['peer']}**" if row["peer"] == "gpnn" else row["peer"],
            _number(row["seconds"], ".4f"),
            _number(row["ratio"], ".1f"),
            _number(row["peak_mb"], ",.0f"),
            row["note"] or "",
        )
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _number(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)


def _growth(growth: Mapping[str, Any]) -> str:
    if growth["slope"] is None:
        return "## Growth\n\nNot measured: it takes two power-law graphs of different size.\n"
    points = zip(growth["edges"], growth["seconds"], strict=True)
    lines = [f"| {edges:,} | {seconds:.4f} |" for edges, seconds in points]
    return "\n".join(
        [
            "## Growth\n",
            f"gpnn, {growth['task']}, power-law graphs: time grows as edges to the power "
            f"{growth['slope']:.2f}.\n",
            "| edges | seconds |",
            "|---:|---:|",
            *lines,
            "",
        ]
    )


def _machine(environment: Mapping[str, Any]) -> str:
    versions = ", ".join(f"{name} {number}" for name, number in environment["versions"].items())
    absent = ", ".join(environment["absent"])
    lines = [
        "## Machine\n",
        f"{environment['processor']}, {environment['cores']} cores, one thread used; "
        f"{environment['system']}, Python {environment['python']}; {versions}.",
    ]
    if absent:
        lines.append(f"\nNot installed, so not raced: {absent}.")
    return "\n".join(lines) + "\n"
