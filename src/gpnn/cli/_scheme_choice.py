"""Output of ``--scheme auto``: its candidates, trials and choice."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..options import AUTO
from ._search_progress import search_progress
from ._shared import notes

if TYPE_CHECKING:
    from ..data.samples import Samples
    from ..data.split import Split
    from ..train.choose_scheme import Chosen
    from ..train.scheme_candidates import Candidate
    from ..train.search_log import Trial
    from ..train.train_config import TrainConfig

__all__ = ["AUTO", "choice_table", "choose", "draw_choice"]

FOLDER, PICTURE = "search", "schemes.png"


def choose(
    samples: Samples,
    split: Split,
    model: dict[str, Any],
    config: TrainConfig,
    folder: Path,
    kind: str | None,
    minutes: float | None,
    fresh: bool,
    jobs: int | None,
) -> Chosen:
    """Choose the scheme of a training; a finished training keeps its choice."""
    import numpy as np

    from ..train.choose_scheme import MINUTES, Chosen, choose_scheme, usual_jobs
    from ..train.model_file import CARD, load_model

    if not fresh and (folder / CARD).is_file():
        known = load_model(folder).about.get("choice")
        if known is not None:
            return Chosen.from_dict(known)
    console = notes()

    def counted(found: list[Candidate]) -> None:
        carried = [one for one in found if not one.refused]
        console.print(
            f"schemes   {len(carried)} candidates: {', '.join(one.title for one in carried)}",
            soft_wrap=True,
        )
        reasons: dict[str, list[str]] = {}
        for one in found:
            if one.refused:
                reasons.setdefault(one.refused, []).append(one.title)
        for reason, titles in reasons.items():
            shown = ", ".join(titles[:4]) + f" and {len(titles) - 4} more" * (len(titles) > 4)
            console.print(f"left out  {shown}: {reason}", soft_wrap=True, style="dim")

    def finished(one: Candidate, trial: Trial) -> None:
        value = trial.reason or f"{trial.value:.4f}"
        console.print(
            f"rung {trial.rung}    {one.title}: {value} after {trial.epochs} epochs "
            f"({trial.seconds:.1f} s)",
            soft_wrap=True,
        )

    pool = np.concatenate([split.train, split.valid])
    minutes = MINUTES if minutes is None else minutes
    with search_progress() as (progress, _):
        found = choose_scheme(
            samples, pool, model, config, folder / FOLDER, minutes,
            kind=kind if kind == "scaffold" else None, fresh=fresh,
            jobs=usual_jobs(config.device) if jobs is None else jobs, counted=counted,
            progress=progress, finished=finished,
        )  # fmt: skip
    cut = "" if found.complete else f" (stopped after {minutes:g} minutes in rung {found.rung + 1})"
    console.print(f"chosen    {found.candidate.title}{cut}: {found.reason}", soft_wrap=True)
    return found


def choice_table(choice: Chosen) -> Any:
    """Return a table of the bracket: one line per candidate that was tried."""
    from rich.table import Table

    table = Table(
        title=f"{choice.metric} on inner validation folds; chosen: {choice.candidate.title}",
        caption=f"{choice.reason}. Gains are over the base on the same folds, ± standard error; p "
        f"is corrected for the candidates of rung {choice.rung} "
        f"({choice.models} networks each).",
        title_justify="left",
        caption_justify="left",
    )
    table.add_column("candidate")
    for name in ("parts", "tuples per graph", "rung", choice.metric, "gain", "p"):
        table.add_column(name, justify="right")
    for one in choice.standings:
        own = one.candidate
        if own.refused:
            continue
        mark = " ←" if own == choice.candidate else ""
        facts = [f"{own.parts:,}", f"{own.tuples:,.3g}"] if own.options["gpnn"] else ["-", "-"]
        value = one.reason or "-" if one.value is None else f"{one.value:.4f}"
        gain = "" if one.gain is None else f"{one.gain:+.4f}"
        gain += f" ± {one.error:.4f}" if one.error else ""
        rung = str(one.rung) if one.rung else "-"
        p = "" if one.p is None else f"{one.p:.2g}"
        table.add_row(own.title + mark, *facts, rung, value, gain, p)
    return table


def draw_choice(choice: Chosen, folder: Path, name: str) -> Path:
    """Draw the bracket into the folder of the model."""
    from ..plots.save import save
    from ..plots.scheme_choice import draw_scheme_choice

    save(draw_scheme_choice(choice, name), folder / PICTURE)
    return folder / PICTURE
