"""How far a training run is: live on a terminal, else a line now and then; on standard error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ._shared import notes

if TYPE_CHECKING:
    from ..train.fit import Epoch
    from ..train.model_file import Loaded

__all__ = ["progress"]

_METRICS = ("valid_accuracy", "valid_roc_auc", "valid_mae")


@contextmanager
def progress(
    folder: Path, epochs: int
) -> Iterator[tuple[Callable[[Loaded, int], None], Callable[[Epoch], None]]]:
    """Callbacks ``started`` and ``callback`` of :func:`gpnn.train.fit.fit`."""
    console = notes()

    def started(loaded: Loaded, done: int) -> None:
        console.print(f"model     {loaded.model}", markup=False, soft_wrap=True)
        if done:
            console.print(
                f"going on after epoch {done} of the run in {folder} (--fresh starts over)",
                markup=False,
                soft_wrap=True,
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
        *(TextColumn("{task.description}"), TextColumn("ETA"), TimeRemainingColumn(compact=True)),
        console=console,
    )
    job = bar.add_task("numbering interactions …", total=epochs)

    def tick(epoch: Epoch) -> None:
        bar.update(job, completed=epoch.epoch, description=_said(epoch))

    with bar:
        yield started, tick


def _lines(epochs: int) -> Callable[[Epoch], None]:
    """About twenty lines for a whole run."""
    seconds: list[float] = []

    def tick(epoch: Epoch) -> None:
        seconds.append(epoch.record["seconds"])
        if len(seconds) == 1 or epoch.epoch % max(1, epochs // 20) == 0:
            left = (epochs - epoch.epoch) * sum(seconds) / len(seconds)
            text = f"epoch {epoch.epoch}/{epochs}  {_said(epoch)}  ETA {left:.0f} s at most"
            notes().print(text, markup=False, soft_wrap=True)

    return tick


def _said(epoch: Epoch) -> str:
    name = next((key for key in epoch.record if key in _METRICS), "valid_loss")
    return (
        f"loss {epoch.record['loss']:.4f}  {name.replace('_', ' ', 1)} {epoch.record[name]:.4f}  "
        f"best {epoch.best.get(name, float('nan')):.4f} at {epoch.best['epoch']}"
    )
