"""The page of ``gpnn bench scale``: rows, exponents of growth, ratios and the machine."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["to_markdown"]


def to_markdown(result: Mapping[str, Any], command: str) -> str:
    """Return a page with the rows, the exponents and the machine."""
    runs, enough = result["runs"], result["enough"]
    lines = [
        f"# `{command}`\n",
        f"The median of {runs} runs, each in a process of its own, kernels compiled before; of one "
        f"run where it takes more than {enough:.0f} s. *Seconds* are of the clock, "
        "*processor* those of all cores together; *peak* is the memory of the whole process, in "
        "megabytes; a figure that misses the one it is held against is marked ✗.\n",
        "| task | workload | size | way | seconds | processor | peak, MB | per second | |",
        "|---|---|---:|---|---:|---:|---:|---:|---|",
    ]
    for row in result["rows"]:
        cells = (
            row["task"], row["workload"], f"{row['size']:,} {row['unit']}", row["way"],
            _figure(row["seconds"], row["most_seconds"], ",.2f"),
            _figure(row["cpu_seconds"], None, ",.2f"),
            _figure(row["peak_mb"], row["most_mb"], ",.0f"),
            _figure(row["rate"], row["least_rate"], ",.0f", least=True),
            row["note"] or "",
        )  # fmt: skip
        lines.append("| " + " | ".join(cells) + " |")
    lines += _section(
        "Growth", "Time grows as size to the power",
        ("task", "workload", "way", "sizes", "seconds:", "processor:"),
        [
            (
                one["task"], one["workload"], one["way"],
                f"{min(one['sizes']):,} to {max(one['sizes']):,}",
                _figure(one["elapsed"], one["most"], ".2f"),
                _figure(one["processor"], one["most"], ".2f"),
            )
            for one in result["growth"]
        ],
    )  # fmt: skip
    lines += _section(
        "Sampled steps against SAGEConv", "Drawing included.", ("edges:", "times as long:"),
        [
            (f"{one['size']:,}", _figure(one["times"], one["most"], ".1f"))
            for one in result["against_sage"]
        ],
    )  # fmt: skip
    lines += _section(
        "Several processes against one", "Starts included, but for epochs.",
        ("task", "rows:", "way", "processes:", "times as fast:"),
        [
            (
                one["task"], f"{one['size']:,}", one["way"], str(one["processes"]),
                _figure(one["times"], one["least"], ".2f", least=True),
            )
            for one in result["against_one"]
        ],
    )  # fmt: skip
    machine = result["environment"]
    versions = ", ".join(f"{name} {number}" for name, number in machine["versions"].items())
    lines += [
        "\n## Machine\n",
        f"{machine['processor']}, {machine['cores']} cores; {machine['system']}, Python "
        f"{machine['python']}; {versions}.",
    ]
    return "\n".join(lines) + "\n"


def _section(
    title: str, text: str, head: Sequence[str], rows: Sequence[Sequence[str]]
) -> list[str]:
    """A section with a table; nothing without rows. Columns that end in a colon are aligned to the
    right."""
    if not rows:
        return []
    return [
        f"\n## {title}\n",
        f"{text}\n",
        f"| {' | '.join(name.removesuffix(':') for name in head)} |",
        f"|{'|'.join('---:' if name.endswith(':') else '---' for name in head)}|",
        *(f"| {' | '.join(row)} |" for row in rows),
    ]


def _figure(value: float | None, limit: float | None, form: str, least: bool = False) -> str:
    """Format a figure with its maximum, or minimum (``least``)."""
    if value is None or math.isnan(value):
        return "–"
    if limit is None:
        return format(value, form)
    missed = value < limit if least else value > limit
    return format(value, form) + " ✗" * missed + f" (of {limit:,g})"
