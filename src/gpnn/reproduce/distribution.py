"""The figure ``distribution`` in numbers: the share of the vertices in each part."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .page_cells import NONE
from .paper import published
from .partitions import key, places
from .report import QUICK, made_with

__all__ = ["SCHEMES", "percentages", "to_markdown"]

SCHEMES = ("degree", "core", "core-degree", "core-onion", "triangle")
"""The schemes in the order of the paper's figure."""

SHOWN = 12


def percentages(record: Mapping[str, Any], shown: int = SHOWN) -> list[tuple[str, float]]:
    """Return (part, per cent of all vertices); if there are many parts, the last entry sums up the
    rest."""
    total = max(1, record["vertices"])
    pairs = [(n, 100 * s / total) for n, s in zip(record["parts"], record["sizes"], strict=True)]
    if len(pairs) <= shown:
        return pairs
    rest = pairs[shown - 1 :]
    return [*pairs[: shown - 1], (f"{len(rest):,} more", sum(share for _, share in rest))]


def to_markdown(records: Mapping[str, Mapping[str, Any]], command: str, quick: bool = False) -> str:
    """Return the page in Markdown."""
    names = [key(dataset, scheme, quick) for dataset, scheme in places()]
    used = [dict(records[name]) for name in names if name in records]
    lines = [
        f"# distribution: vertices by part{' (QUICK)' if quick else ''}",
        "",
        *([QUICK, ""] if quick else []),
        f"Made by `{command}` from `runs.jsonl`. {made_with(used)}",
        "",
        "Per cent of all vertices of a dataset in every part. The paper's figure is read from its "
        "bars, which it numbers from 0 or 1 without saying which part is which; its bars of one "
        "panel add up to the sum given, so they cannot all be percentages of the vertices.",
        "",
    ]
    for dataset in dict.fromkeys(dataset for dataset, _ in places()):
        lines += [f"## {dataset}", "", "| scheme | measured | the paper's bars | their sum |"]
        lines.append("|---|---|---|---:|")
        for scheme in SCHEMES:
            record = records.get(key(dataset, scheme, quick))
            ours = NONE
            if record is not None:
                ours = "; ".join(f"{part}: {share:.1f}" for part, share in percentages(record))
            bars = [
                r
                for r in published("distribution")
                if (r["dataset"], r["scheme"]) == (dataset, scheme)
            ]
            shown = "; ".join(f"{r['part']}: {r['percent']}" for r in bars if r["percent"] != "0")
            lines.append(
                f"| {scheme} | {ours} | {shown} | {sum(int(r['percent']) for r in bars)} |"
            )
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _bars(dataset: str, scheme: str) -> dict[str, int]:
    return {
        row["part"]: int(row["percent"])
        for row in published("distribution")
        if (row["dataset"], row["scheme"]) == (dataset, scheme)
    }
