"""Progress of a training run on standard error: live on a terminal, else occasional lines."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ._shared import notes

if TYPE_CHECKING:
    from ..nn.model import GPNN
    from ..train.loop import EpochReport

__all__ = ["progress", "row_progress"]

SECONDS = 10.0
"""Minimum time between two lines if the output is not a terminal."""


@contextmanager
def progress(
    folder: Path, epochs: int
) -> Iterator[tuple[Callable[[GPNN, int], None], Callable[[EpochReport], None]]]:
    """Yield the callbacks ``started`` and ``report`` of :func:`gpnn.train.fit.fit`."""
    console = notes()

    def started(model: GPNN, done: int) -> None:
        console.print(f"model     {model}")
        if done:
            console.print(
                f"resuming after epoch {done} of the run in {folder} (--fresh starts over)",
            )

    if not console.is_terminal:
        yield started, _lines(epochs)
        return
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    bar = Progress(
        *(TextColumn("epoch"), MofNCompleteColumn(), BarColumn(bar_width=12)),
        *(
            TextColumn("{task.description}", markup=False),
            TextColumn("ETA"),
            TimeRemainingColumn(compact=True),
        ),
        console=console,
    )
    job = bar.add_task("preparing the graphs …", total=epochs)

    def tick(report: EpochReport) -> None:
        bar.update(job, completed=report.epoch, description=_said(report))

    with bar:
        yield started, tick


def _lines(epochs: int) -> Callable[[EpochReport], None]:
    """Return a callback that prints about twenty lines per run."""
    began: list[tuple[int, float]] = []

    def tick(report: EpochReport) -> None:
        now = time.perf_counter()
        began.append((report.epoch, now))
        first, since = began[0]
        if report.epoch == first or report.epoch % max(1, epochs // 20) == 0:
            each = (now - since) / (report.epoch - first) if report.epoch > first else None
            left = f"  ETA {(epochs - report.epoch) * each:.0f} s at most" if each else ""
            text = f"epoch {report.epoch}/{epochs}  {_said(report)}{left}"
            notes().print(text)

    return tick


def _said(report: EpochReport) -> str:
    """Format loss and metrics, averaged over the networks."""
    count = len(report.loss)
    metrics = [(name, values) for name, values in report.valid.items() if name != "loss"]
    shown = "  ".join(f"valid {name} {float(values.mean()):.4f}" for name, values in metrics)
    epochs = ", ".join(str(one) if one else "none yet" for one in report.best.tolist())
    best = epochs if count <= 5 else f"{count} networks"
    stopped = int((~report.active).sum())
    ended = f", {stopped} stopped" if stopped and count > 1 else ""
    return f"loss {float(report.loss.mean()):.4f}  {shown}  best epoch {best}{ended}"


@contextmanager
def row_progress() -> Iterator[tuple[Callable[[int, int], None], Callable[[int], None]]]:
    """Show the number of processed rows of a table and their rate. Yields two callbacks: the first
    takes the rows finished before the start and their total, the second the rows finished now."""
    console = notes()
    state = {"first": 0, "total": 0, "began": 0.0, "last": 0.0}

    def text(done: int) -> str:
        rate = (done - state["first"]) / max(time.perf_counter() - state["began"], 1e-9)
        return f"{done:,} of {state['total']:,} rows, {rate:,.0f} rows/s"

    def started(done: int, total: int) -> None:
        now = time.perf_counter()
        state.update(first=done, total=total, began=now, last=now)
        if done:
            message = f"resuming after {done:,} of {total:,} rows (--fresh starts over)"
            console.print(message)

    if not console.is_terminal:

        def line(done: int) -> None:
            now = time.perf_counter()
            if now - state["last"] >= SECONDS:
                state["last"] = now
                console.print(text(done))

        yield started, line
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(bar_width=24))
    bar = Progress(*columns, TextColumn("ETA"), TimeRemainingColumn(compact=True), console=console)
    job = bar.add_task("reading …", total=None)

    def tick(done: int) -> None:
        bar.update(job, completed=done, total=state["total"], description=text(done))

    with bar:
        yield started, tick
