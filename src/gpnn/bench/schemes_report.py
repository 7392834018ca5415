"""The table and the page of ``gpnn bench schemes``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..data.tasks import higher_is_better
from ..graph.learned import learned_parts
from ..graph.registry import mixed_schemes
from ..options import AUTO
from ..train.paired import holm, paired, student_p
from .scheme_methods import BASE, read_method

__all__ = ["summarise", "to_markdown"]

POINT = 0.01
"""Tolerance: a choice is right if its test metric is at most this much worse than that of the best
fixed method; for errors, at most this share."""


def summarise(
    names: Sequence[str],
    records: Sequence[Mapping[str, Any]],
    choices: Sequence[Mapping[str, Any]],
    overlap: float,
) -> list[dict[str, Any]]:
    """Return a row per method: mean, deviation, gain over the base.

    Args:
        choices: of ``auto``.
        overlap: test samples per training sample where runs split the same samples anew, else 0.
    """
    values = {
        name: [one["value"] for one in sorted(records, key=lambda r: r["run"])
               if one["method"] == name]
        for name in names
    }  # fmt: skip
    higher = higher_is_better(records[0]["metric"])
    rows: list[dict[str, Any]] = []
    for name in names:
        own = np.array(values[name])
        gain, error = paired(values[name], values[BASE], higher, overlap)
        p = None
        if name != BASE and error is not None:
            p = student_p(gain, error, len(own) - 1, sides=2)
        took = [one["seconds"] for one in records if one["method"] == name]
        sizes = [one["parameters"] for one in records if one["method"] == name]
        rows.append(
            {"method": name, "mean": float(own.mean()), "std": float(own.std(ddof=1)),
             "gain": gain, "error": error, "p": p, "seconds": float(np.mean(took)),
             "parameters": round(float(np.mean(sizes)))}
        )  # fmt: skip
    tested = [row for row in rows if row["p"] is not None]
    corrected = holm([float(row["p"]) for row in tested])
    for row, p in zip(tested, corrected, strict=True):
        row["p"] = p
    if AUTO in names:
        auto = next(row for row in rows if row["method"] == AUTO)
        auto["seconds"] += sum(one["seconds"] for one in choices) / len(values[AUTO])
        auto["chosen"] = dict(Counter(one["chosen"] for one in choices).most_common())
        auto["cut_short"] = sum(not one["complete"] for one in choices)
        auto["right"] = _right(names, records)
    return rows


def _right(names: Sequence[str], records: Sequence[Mapping[str, Any]]) -> float | None:
    """In which share of the runs the test metric of ``auto`` is close to that of the best fixed
    method; ``None`` without a fixed scheme to compare with."""
    fixed = {name for name in names if read_method(name).get("scheme") and not _is_learned(name)}
    own = [one for one in records if one["method"] == AUTO]
    if not fixed:
        return None
    right = 0
    for auto in own:
        others = [one["value"] for one in records
                  if one["run"] == auto["run"] and one["method"] in fixed | {BASE}]  # fmt: skip
        if higher_is_better(auto["metric"]):
            right += auto["value"] >= max(others) - POINT - 1e-9
        else:
            right += auto["value"] <= min(others) * (1 + POINT) + 1e-9
    return right / len(own)


def to_markdown(results: Sequence[Mapping[str, Any]], command: str, picture: str = "") -> str:
    """Return the results of one or more sources as a page; ``picture`` is the name of the file with
    :func:`~gpnn.plots.scheme_gains.draw_scheme_gains`."""
    names = ", ".join(result["source"] for result in results)
    lines = [
        f"# Partitions on {names}",
        "",
        f"Made by `{command}`. Test metric over the runs, mean ± standard deviation; the gain over "
        "the base GNN ± its standard error, paired by run (positive is better); p after Holm's "
        "correction for the methods of a dataset. Seconds: preparation and training, divided by "
        "the runs that were trained together; the first training of a process also compiles.",
    ]
    if picture:
        lines += ["", f"![Gain over the base GNN, ± two standard errors]({picture})"]
    for result in results:
        lines += ["", *_section(result)]
    return "\n".join(lines) + "\n"


def _gain(row: Mapping[str, Any]) -> str:
    return f"{round(row['gain'], 4) + 0.0:+.4f} ± {row['error']:.4f}"  # no -0.0000


def _is_learned(method: str) -> bool:
    return bool(learned_parts(read_method(method).get("scheme", "")))


def _without_cross(method: str) -> bool:
    """Whether no edge is a cross edge before the training: for learned schemes and mixtures."""
    return _is_learned(method) or bool(mixed_schemes(read_method(method).get("scheme", "")))


def _section(result: Mapping[str, Any]) -> list[str]:
    """Return the table of a source and a sentence about ``auto``."""
    metric = result["metric"]
    lines = [
        f"## {result['source']}",
        "",
        f"{result['runs']} runs. {_RUNS[result['splits']]}",
        "",
        f"| method | test {metric} | gain over the base | p | parameters | seconds |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for row in result["rows"]:
        gain = "" if row["method"] == BASE else _gain(row)
        p = "" if row["p"] is None else f"{row['p']:.2g}"
        lines.append(
            f"| {row['method']} | {row['mean']:.4f} ± {row['std']:.4f} | {gain} | {p} | "
            f"{row['parameters']:,} | {row['seconds']:.1f} |"
        )
    if result["model"].get("interactions") == "cross":
        learned = [row["method"] for row in result["rows"] if _without_cross(row["method"])]
        if learned:
            lines += ["", f"{', '.join(learned)} with edges: which edges are cross is not fixed."]
    for row in result["rows"]:
        if "chosen" in row:
            lines += ["", _about_choices(row, metric, result["splits"])]
    return lines


def _about_choices(row: Mapping[str, Any], metric: str, splits: str) -> str:
    """What ``auto`` chose. The best fixed method of a run is a fair measure only where methods
    differ by more than noise, as on generated graphs."""
    if splits == "official":
        text = f"auto chose once, for all runs: {next(iter(row['chosen']))}."
        return text + " The choice was cut short by --minutes." * row["cut_short"]
    shown = ", ".join(f"{name} ({count})" for name, count in row["chosen"].items())
    text = f"auto chose {shown}."
    if row["cut_short"]:
        count = sum(row["chosen"].values())
        text += f" {row['cut_short']} of {count} choices were cut short by --minutes."
    if row["right"] is not None and splits == "graphs":
        much = f"{POINT:g}" if higher_is_better(metric) else f"{POINT:.0%}"
        text += (
            f" In {row['right']:.0%} of the runs its {metric} is at most {much} worse than that of "
            "the best fixed method of that run."
        )
    return text


_RUNS = {
    "graphs": "Every run has its own graphs.",
    "official": "All runs have the official split, and different seeds.",
    "random": "Every run has its own split of the same samples; the standard errors include the "
    "correction of Nadeau and Bengio for their overlap.",
}
