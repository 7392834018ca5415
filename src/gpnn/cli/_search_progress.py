"""Progress of a search on standard error: a bar on a terminal, and a line per finished trial."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ._shared import notes

if TYPE_CHECKING:
    from ..train.halving import Progress
    from ..train.search_log import Trial

__all__ = ["search_progress", "short"]


@contextmanager
def search_progress() -> Iterator[tuple[Progress | None, Callable[[Trial], None]]]:
    """Show a bar of the running trials on a terminal, and a line for every finished trial."""
    console = notes()

    def finished(trial: Trial) -> None:
        console.print(_line(trial))

    if not console.is_terminal:
        yield None, finished
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    bar = Progress(
        *(TextColumn("{task.description}", markup=False), BarColumn(bar_width=24)),
        *(TextColumn("ETA"), TimeRemainingColumn(compact=True)),
        console=console,
        transient=True,
    )
    job = bar.add_task("reading …", total=1.0)
    shown = [""]

    def progress(rung: int, numbers: Sequence[int], share: float) -> None:
        which = f"trial {numbers[0]}" if len(numbers) == 1 else f"{len(numbers)} trials"
        words = f"rung {rung}, {which}"
        if words != shown[0]:
            shown[0] = words
            bar.reset(job, total=1.0, description=words)
        bar.update(job, completed=share)

    with bar:
        yield progress, finished


def _line(trial: Trial) -> str:
    values = ", ".join(f"{name} {short(value)}" for name, value in trial.values.items())
    which = f"rung {trial.rung} trial {trial.number}"
    if trial.value is None:
        return f"{which}  failed: {trial.reason}  ({values})"
    spread = "" if trial.std is None else f" ± {trial.std:.4f}"
    return (
        f"{which}  {trial.value:.4f}{spread} at epoch {trial.epoch} of {trial.epochs}, "
        f"{trial.seconds:.1f} s  ({values})"
    )


def short(value: Any) -> str:
    """Format a value of a recipe for a table."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
