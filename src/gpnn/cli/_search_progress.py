"""How far a search is: a bar on a terminal, a line per settled trial; on standard error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ._shared import notes

if TYPE_CHECKING:
    from ..reproduce.search_store import Trial

__all__ = ["search_progress", "short"]


@contextmanager
def search_progress(
    count: int,
) -> Iterator[tuple[Callable[[int, float], None] | None, Callable[[Trial, Trial | None], None]]]:
    """A bar of the trial at work on a terminal, and a line for every trial that is settled."""
    console = notes()

    def settled(trial: Trial, best: Trial | None) -> None:
        held = "" if best is None or best is trial else f"  best {best.value:.4f} ({best.number})"
        console.print(f"{_line(trial, count)}{held}", markup=False, soft_wrap=True)

    if not console.is_terminal:
        yield None, settled
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    bar = Progress(
        *(TextColumn("{task.description}"), BarColumn(bar_width=24)),
        *(TextColumn("ETA"), TimeRemainingColumn(compact=True)),
        console=console,
        transient=True,
    )
    job = bar.add_task("reading …", total=1.0)
    at = [0]

    def progress(number: int, share: float) -> None:
        if number != at[0]:
            at[0] = number
            bar.reset(job, total=1.0, description=f"trial {number}/{count}")
        bar.update(job, completed=share)

    with bar:
        yield progress, settled


def _line(trial: Trial, count: int) -> str:
    values = ", ".join(f"{name} {short(value)}" for name, value in trial.values.items())
    if trial.value is None:
        return f"trial {trial.number}/{count}  failed: {trial.reason}  ({values})"
    spread = "" if trial.std is None else f" ± {trial.std:.4f}"
    return (
        f"trial {trial.number}/{count}  {trial.value:.4f}{spread} at epoch {trial.epoch}, "
        f"{trial.seconds:.1f} s  ({values})"
    )


def short(value: Any) -> str:
    """A value of a recipe for a table."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
