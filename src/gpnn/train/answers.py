"""Predictions of a model as rows of a table, as written by ``gpnn train`` and ``gpnn predict``."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..files import atomic_path
from ..text import csv_cell

if TYPE_CHECKING:
    from torch import Tensor

    from ..data.encoder import Encoder
    from ..data.raw import Skipped
    from .model_file import Loaded

__all__ = [
    *("answer_header", "answer_rows", "csv_bytes", "header_of", "interval_of", "rounded"),
    *("spread_of", "write_csv", "written"),
]


def answer_header(loaded: Loaded, level: float) -> list[str]:
    """The columns of the table that ``gpnn predict`` writes."""
    spread = spread_of(loaded.encoder) if len(loaded.members) > 1 else []
    ends = [name for own in interval_of(loaded, level).values() for name in own[:2]]
    return ["row", "input", *header_of(loaded.encoder), *ends, *spread, "reason"]


def answer_rows(
    loaded: Loaded,
    level: float,
    rows: Sequence[int],
    ids: Sequence[str],
    scores: Tensor | None,
    skipped: Sequence[Skipped],
) -> list[list[Any]]:
    """One output row per input row, in the order of the input, including rows without a graph.

    Args:
        rows, ids: number and text of every row that has a prediction.
        scores: predictions of every network, [members, rows, outputs].
    """
    width, intervals = len(answer_header(loaded, level)) - 3, interval_of(loaded, level)
    lines: list[tuple[int, list[Any]]] = [
        (one.row, [one.row + 1, one.id, *[None] * width, one.reason]) for one in skipped
    ]
    if scores is not None:
        mean = scores.mean(0).tolist()
        spread = scores.std(0).tolist() if len(loaded.members) > 1 else [[]] * len(mean)
        for row, name, values, apart in zip(rows, ids, mean, spread, strict=True):
            ends = [values[k] + sign * half for k, (_, _, half) in intervals.items() for sign in
                    (-1, 1)]  # fmt: skip
            answer = [*written(loaded.encoder, values), *rounded(ends), *rounded(apart)]
            lines.append((row, [row + 1, name, *answer, None]))
    return [line for _, line in sorted(lines, key=lambda item: item[0])]


def header_of(encoder: Encoder) -> list[str]:
    """The columns of a prediction."""
    from ..data.tasks import Task

    if encoder.task.has_classes:
        return ["prediction", *(f"p({name})" for name in encoder.class_names)]
    if encoder.mixed:
        return [
            name
            for target, classes, own in encoder.groups
            for name in (target, *(f"p({one})" for one in encoder.outputs[own] if classes))
        ]
    if encoder.task is Task.MULTITASK:
        if len(encoder.target_names) == 1:
            return ["prediction", "p(1)"]
        return [f"p({name})" for name in encoder.target_names]
    return ["prediction"] if len(encoder.target_names) == 1 else list(encoder.target_names)


def spread_of(encoder: Encoder) -> list[str]:
    """The columns of the spread over several networks."""
    if encoder.mixed:
        return [f"spread {name}" for name in encoder.outputs]
    names = [name for name in header_of(encoder) if name != "prediction"] or ["prediction"]
    return [f"spread {name}" for name in names]


def interval_of(loaded: Loaded, level: float) -> dict[int, tuple[str, str, float]]:
    """Column names of the bounds and half width, for every output with an interval."""
    if loaded.calibration is None:
        return {}
    several = len(loaded.encoder.outputs) > 1
    out = {}
    for k, half in enumerate(loaded.calibration.half_widths(level)):
        if half is not None:
            name = f" {loaded.encoder.outputs[k]}" if several else ""
            out[k] = (f"low{name}", f"high{name}", half)
    return out


def written(encoder: Encoder, values: list[float]) -> list[Any]:
    """The cells of a prediction, column by column."""
    from ..data.tasks import Task

    numbers = rounded(values)
    if encoder.mixed:
        out: list[Any] = []
        for _, classes, own in encoder.groups:
            if not classes:
                out += numbers[own]
            elif len(classes) == 2:
                out += [classes[values[own.start] >= 0.5], *numbers[own]]
            else:
                best = max(range(len(classes)), key=values[own].__getitem__)
                out += [classes[best], *numbers[own]]
        return out
    if encoder.task.has_classes:
        best = max(range(len(values)), key=values.__getitem__)
        return [encoder.class_names[best], *numbers]
    if encoder.task is Task.MULTITASK and len(values) == 1:
        return [int(values[0] >= 0.5), *numbers]
    return numbers


def rounded(values: list[float]) -> list[Any]:
    return [float(f"{value:.6g}") for value in values]


def write_csv(path: Path, header: list[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a table atomically."""
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        file.writelines(csv_bytes([row]) for row in (header, *rows))


def csv_bytes(rows: Iterable[Sequence[Any]]) -> bytes:
    """Rows as lines of a CSV. Texts that a spreadsheet would read as a formula are prefixed with an
    apostrophe."""
    text = io.StringIO(newline="")
    csv.writer(text).writerows(map(csv_cell, row) for row in rows)
    return text.getvalue().encode("utf-8", errors="backslashreplace")
