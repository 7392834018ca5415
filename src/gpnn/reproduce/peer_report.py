"""The page of the peers, generated from the records alone: results and costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..data.tasks import higher_is_better
from ..errors import InputError
from ..options import Flag, Number, Whole
from ..schema import Anything, ListOf, Maybe, Table, Text, read_json
from .jobs import NAMES, Row
from .page_cells import NONE
from .report import QUICK, below, made_with, overview, protocols_of
from .results import Entry, Part, used

__all__ = ["BREC", "STEPS", "points", "read_brec", "read_steps", "to_markdown"]

BREC, STEPS = "brec.json", "steps.json"
"""Files in the folder of the records, with the output of
``gpnn expressivity brec --realised --json`` and of ``gpnn bench peers --json``."""

_LEGEND = """\
Accuracy and ROC-AUC in per cent, mean absolute error as it is: mean ± standard deviation, the
published figure in brackets. All methods have the same encoder, head, training loop and protocol;
the recipes are in the pages of the tables.
"""
_COSTS = """\
Time and memory of a training step of one network, of all methods in one process on one device
({device}): `gpnn bench peers --json > steps.json`. {layers} layers, width {hidden} for all methods;
the recipes of the tables differ from that for some. *Prepare* is what a method computes once for
all graphs of the workload. GIN = 1.
"""
_NO_COSTS = """\
Not measured: `gpnn bench peers --json > steps.json`, in the folder of this page, measures all
methods in one process on one device. Then write the page again with `--minutes 0`.
"""
_POWER = """\
Pairs of BREC (400) that a network distinguishes, as drawn (*untrained*) and *trained*, by category
for the latter. *Published*: of the method's own code with its own settings, trained (Wang and Zhang
2024); for KP-GNN K = 8, and distances inside the peripheral subgraph are read too. *Bound*: what
an exact refinement of at least the same power distinguishes, where one is known: 1-WL for GIN, 3-WL
for PPGN, and for ESAN and GIN-AK+ as long as there is a subgraph per vertex (Frasca et al. 2022).
"""


def to_markdown(
    parts: Sequence[Part],
    brec: dict[str, Any] | None,
    steps: dict[str, Any] | None,
    costs: Sequence[str],
    command: str,
    quick: bool = False,
) -> str:
    """Return the page.

    Args:
        brec, steps: the results of :func:`read_brec` and :func:`read_steps`.
        costs: lines with the tables of ``steps``.
    """
    title = "# peers: every method of the paper's tables in one harness"
    lines = [title + " (QUICK)" * quick, "", *([QUICK, ""] if quick else [])]
    lines += [f"Made by `{command}` from `runs.jsonl`. {made_with(used(parts))}", "", _LEGEND]
    lines += protocols_of(parts)
    for protocol in dict.fromkeys(part.protocol for part in parts):
        lines += overview([part for part in parts if part.protocol == protocol])
    lines += [] if quick else below(parts)
    lines += _missing(parts)
    lines += ["## Cost", "", *_costs(steps), *costs]
    lines += _power(brec)
    return "\n".join(lines).rstrip() + "\n"


def read_brec(folder: Path) -> dict[str, Any] | None:
    """Read the counts of distinguished pairs; ``None`` if there is no such file."""
    brec = _read(folder / BREC, "gpnn expressivity brec --realised --json", _BREC)
    if brec is not None and brec["pairs"] != PAIRS:
        raise InputError(
            f"{folder / BREC} has {brec['pairs']} pairs of BREC, not {PAIRS}. Measure it "
            "again without --category."
        )
    return brec


def read_steps(folder: Path) -> dict[str, Any] | None:
    """Read the cost of a step of every method; ``None`` if there is no such file."""
    steps = _read(folder / STEPS, "gpnn bench peers --json", _STEPS)
    if steps is not None and (steps["quick"] or steps["replicas"] != 1):
        raise InputError(
            f"{folder / STEPS} was measured with --quick or several replicas. Measure it again "
            "without them."
        )
    return steps


def _read(path: Path, command: str, rule: Table) -> dict[str, Any] | None:
    """Read the output of a command."""
    if not path.is_file():
        return None
    content: dict[str, Any] = read_json(path, rule, f"Write it again with '{command}'.")
    return content


_BREC = Table(
    {
        "pairs": Whole(0),
        "results": ListOf(
            Table(
                {
                    "test": Text(),
                    "exact": Maybe(Whole(0)),
                    **{name: Whole(0) for name in ("untrained", "distinguished")},
                    "by_category": Table(more=Whole(0)),
                    "unreliable": Whole(0),
                },
                {
                    "refused": ListOf(Whole(0)),
                    **{name: Maybe(Whole(0)) for name in ("published", "bound")},
                },
                more=Anything(),
            ),
            least=1,
        ),
    },
    more=Anything(),
)
PAIRS = 400
"""Pairs of BREC."""
_MODEL = {name: Text() for name in ("workload", "method", "model")}
_RATIOS = ("seconds_ratio", "memory_ratio")
_MEASURED = Table(
    {
        **_MODEL,
        **{name: Number() for name in ("seconds", "memory", "prepare_seconds", *_RATIOS)},
        "parameters": Whole(0),
    },
    more=Anything(),
)
_REFUSED = Table(_MODEL, {"note": Text()}, more=Anything())


class _Step:
    """The cost of a method, or why it was not measured."""

    def read(self, name: str, value: Any) -> dict[str, Any]:
        measured = isinstance(value, dict) and "seconds" in value
        return (_MEASURED if measured else _REFUSED).read(name, value)


_STEPS = Table(
    {
        "rows": ListOf(_Step()),
        "workloads": Table(more=Text()),
        "device": Text(),
        "quick": Flag(),
        **{name: Whole(1) for name in ("layers", "hidden", "replicas")},
    },
    more=Anything(),
)


Point = tuple[str, float, float, float]
"""Method, time of a training step with GIN = 1, error, its deviation."""


def points(parts: Sequence[Part], steps: dict[str, Any] | None) -> dict[str, list[Point]]:
    """Return the points of all measured methods by dataset and protocol, one protocol for each
    dataset: ``tu-1``, which chooses the epoch on test samples, where it has more than twice as many
    peers as ``tu-nested``. Datasets without a measured peer are left out."""
    named: dict[str, list[tuple[str, list[Point]]]] = {}
    peers = {entry.row.title for part in parts for entry in part.entries if entry.row.peer}
    for part in _one_per_job(parts):
        times = _step_times(part.column.dataset, steps)
        points = [point for entry in part.entries for point in _point(entry, times)]
        named.setdefault(part.title, []).append((part.protocol, points))
    shown = {}
    for title, measured in named.items():
        counts = [sum(name in peers for name, *_ in points) for _, points in measured]
        most = max(counts)
        enough = [own for own, count in zip(measured, counts, strict=True) if 2 * count >= most]
        protocol, points = min(enough, key=lambda own: own[0] == "tu-1")
        label = "tu-1: epoch chosen on test" if protocol == "tu-1" else protocol
        if most:
            shown[f"{title} ({label})"] = points
    return shown


def _point(entry: Entry, times: Mapping[str, float]) -> list[Point]:
    """Return the point of a model, if its error and its time are measured."""
    measured, record, method = entry.measured, entry.record, _method(entry.row)
    if measured is None or record is None or method not in times:
        return []
    up = higher_is_better(record["metric"])
    error = 100 - measured.mean if up else measured.mean
    return [(entry.row.title, times[method], error, measured.std or 0.0)]


def _step_times(dataset: str, steps: dict[str, Any] | None) -> dict[str, float]:
    """Return the time of a step of every method on the workload that is like a dataset."""
    if steps is None:
        return {}
    like = "imdb" if dataset in ("IMDB-BINARY", "PROTEINS") else "molecules"
    return {
        row["method"]: float(row["seconds_ratio"])
        for row in steps["rows"]
        if row["workload"].startswith(like) and row.get("seconds_ratio") is not None
    }


def _method(row: Row) -> str:
    """The name of a model in ``gpnn bench peers``; "" for a widened base, which is not there."""
    if row.gpnn:
        return "gpnn linear"
    return "" if row.wide else NAMES.get(row.base, row.base)


def _one_per_job(parts: Sequence[Part]) -> list[Part]:
    """Drop ``tu-2``, which shares its training with ``tu-1``."""
    return [part for part in parts if part.protocol != "tu-2"]


def _missing(parts: Sequence[Part]) -> list[str]:
    """List the published figures of peers that have no measured counterpart."""
    names = [
        f"{name} on {part.title} ({part.protocol})"
        for part in parts
        for name, _ in part.quoted
        if name in NAMES
    ]
    return [f"Quoted and not measured: {', '.join(names)}.", ""] if names else []


def _costs(steps: dict[str, Any] | None) -> list[str]:
    if steps is None:
        return [_NO_COSTS]
    return [_COSTS.format(**{name: steps[name] for name in ("device", "layers", "hidden")})]


def _power(brec: dict[str, Any] | None) -> list[str]:
    if brec is None:
        return []
    categories = list(brec["results"][0]["by_category"])
    head = ["method", "published", "bound", "untrained", "trained", *categories, "unreliable"]
    head.append("refused")
    lines = ["## BREC", "", _POWER, f"| {' | '.join(head)} |", f"|---{'|---:' * (len(head) - 1)}|"]
    for row in brec["results"]:
        bound = row.get("bound") if row["exact"] is None else row["exact"]
        cells = [row["test"]]
        cells += [NONE if one is None else str(one) for one in (row.get("published"), bound)]
        cells += [str(row["untrained"]), f"**{row['distinguished']}**"]
        cells += [str(row["by_category"].get(name, 0)) for name in categories]
        cells += [str(row["unreliable"]), str(len(row.get("refused", [])))]
        lines.append(f"| {' | '.join(cells)} |")
    return [*lines, ""]
