"""The page of the peers, generated from the records alone: results and costs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..data.tasks import higher_is_better
from ..errors import InputError
from .jobs import NAMES
from .report import QUICK, below, made_with, overview, protocols_of
from .results import Entry, Part, used

__all__ = ["BREC", "points", "read_brec", "to_markdown"]

BREC = "brec.json"
"""File in the folder of the records with the output of
``gpnn expressivity brec --realised --json``."""

NONE = "—"
_LEGEND = """\
Accuracy and ROC-AUC in per cent, mean absolute error as it is: mean ± standard deviation, the
published figure in brackets. All methods have the same encoder, head, training loop and protocol;
the recipes are in the pages of the tables.
"""
_COSTS = """\
*Epoch* is the time of one epoch of one network, trained beside the others of its job, measuring
included; *prepare* is all that has to be done before the first step, once per job; *memory* is the
most that a job took on the GPU, for all its networks together.
"""
_POWER = """\
Pairs of BREC (400) that a network distinguishes, as drawn and trained, and those that the exact
refinement of the same power distinguishes, where one is known.
"""


def to_markdown(
    parts: Sequence[Part], brec: dict[str, Any] | None, command: str, quick: bool = False
) -> str:
    """Return the page; ``brec`` is the result of :func:`read_brec`."""
    title = "# peers: every method of the paper's tables in one harness"
    lines = [title + " (QUICK)" * quick, "", *([QUICK, ""] if quick else [])]
    lines += [f"Made by `{command}` from `runs.jsonl`. {made_with(used(parts))}", "", _LEGEND]
    lines += protocols_of(parts)
    for protocol in dict.fromkeys(part.protocol for part in parts):
        lines += overview([part for part in parts if part.protocol == protocol])
    lines += [] if quick else below(parts)
    lines += _missing(parts)
    lines += ["## Cost", "", _COSTS]
    for part in _one_per_job(parts):
        lines += _costs(part)
    lines += _power(brec)
    return "\n".join(lines).rstrip() + "\n"


def read_brec(folder: Path) -> dict[str, Any] | None:
    """Read the counts of distinguished pairs; ``None`` if there is no such file."""
    path = folder / BREC
    if not path.is_file():
        return None
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        names = ("test", "distinguished", "untrained", "exact", "by_category")
        if found["suite"] != "brec" or any(n not in row for row in found["results"] for n in names):
            raise KeyError("results of networks")
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path} is not what 'gpnn expressivity brec --realised --json' writes ({error}). "
            "Write it again, or remove it."
        ) from None
    content: dict[str, Any] = found
    return content


def points(parts: Sequence[Part]) -> dict[str, list[tuple[str, float, float, float]]]:
    """Return, by dataset, (method, seconds per epoch of one network, error, its deviation) of all
    measured methods. The protocol with the most methods is used; ``tu-nested`` wins ties."""
    found: dict[str, tuple[str, list[tuple[str, float, float, float]]]] = {}
    for part in _one_per_job(parts)[::-1]:
        own = []
        for entry in part.entries:
            measured, record = entry.measured, entry.record
            if measured is None or record is None:
                continue
            up = higher_is_better(record["metric"])
            error = 100 - measured.mean if up else measured.mean
            own.append((entry.row.title, _epoch(record), error, measured.std or 0.0))
        if len(own) > len(found.get(part.title, ("", []))[1]):
            found[part.title] = part.protocol, own
    return {f"{name} ({how})": own for name, (how, own) in reversed(found.items())}


def _one_per_job(parts: Sequence[Part]) -> list[Part]:
    """Drop ``tu-2``, which shares its training with ``tu-1``."""
    return [part for part in parts if part.protocol != "tu-2"]


def _epoch(record: dict[str, Any]) -> float:
    return float(record["seconds"] / record["recipe"]["epochs"] / record["replicas"])


def _missing(parts: Sequence[Part]) -> list[str]:
    """List the published figures of peers that have no measured counterpart."""
    names = [
        f"{name} on {part.title} ({part.protocol})"
        for part in parts
        for name, _ in part.quoted
        if name in NAMES
    ]
    return [f"Quoted and not measured: {', '.join(names)}.", ""] if names else []


def _costs(part: Part) -> list[str]:
    rows = [_cost(entry) for entry in part.entries if entry.record is not None]
    if not rows:
        return []
    head = "| method | epoch, ms | prepare, s | memory, MB | parameters | networks |"
    return [f"### {part.title}, {part.protocol}", "", head, f"|---{'|---:' * 5}|", *rows, ""]


def _cost(entry: Entry) -> str:
    record = entry.record
    assert record is not None
    memory = record["about"].get("memory_bytes")
    cells = [
        entry.row.title,
        f"{1e3 * _epoch(record):.2f}",
        f"{record['about'].get('prepare_seconds', 0.0):.1f}",
        NONE if memory is None else f"{memory / 1e6:,.0f}",
        f"{record['parameters']:,}",
        str(record["replicas"]),
    ]
    return f"| {' | '.join(cells)} |"


def _power(brec: dict[str, Any] | None) -> list[str]:
    if brec is None:
        return []
    categories = list(brec["results"][0]["by_category"])
    head = ["method", "exact", "untrained", "trained", *categories, "unreliable", "refused"]
    lines = ["## BREC", "", _POWER, f"| {' | '.join(head)} |", f"|---{'|---:' * (len(head) - 1)}|"]
    for row in brec["results"]:
        exact = NONE if row["exact"] is None else str(row["exact"])
        cells = [row["test"], exact, str(row["untrained"]), f"**{row['distinguished']}**"]
        cells += [str(row["by_category"].get(name, 0)) for name in categories]
        cells += [str(row.get("unreliable", 0)), str(len(row.get("refused", [])))]
        lines.append(f"| {' | '.join(cells)} |")
    return [*lines, ""]
