"""Output of ``--scheme auto``: its candidates, trials and choice."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ..options import AUTO
from ..text import plural
from ._search_progress import search_progress
from ._shared import notes

if TYPE_CHECKING:
    from ..data.samples import Samples
    from ..data.split import Split
    from ..train.scheme_candidates import Candidate
    from ..train.scheme_decision import Chosen
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
    if not fresh:
        known = _known(folder, model)
        if known is not None:
            return known
    import numpy as np

    from ..train.choose_scheme import MINUTES, choose_scheme, usual_jobs

    console = notes()

    def counted(found: list[Candidate]) -> None:
        carried = [one for one in found if not one.refused]
        console.print(f"schemes   {len(carried)} candidates: {_kinds(carried)}")
        reasons: dict[str, list[str]] = {}
        for one in found:
            if one.refused:
                reasons.setdefault(one.refused, []).append(one.title)
        for reason, titles in reasons.items():
            shown = ", ".join(titles[:4]) + f" and {len(titles) - 4} more" * (len(titles) > 4)
            console.print(f"left out  {shown}: {reason}", style="dim")

    def finished(one: Candidate, trial: Trial) -> None:
        value = trial.reason or f"{samples.metric} {trial.value:.4f}"
        console.print(
            f"rung {trial.rung}    {one.title}: {value} after {plural(trial.epochs, 'epoch')} "
            f"({trial.seconds:.1f} s)",
        )

    console.print("schemes   counting the candidates …", style="dim")
    pool = np.concatenate([split.train, split.valid])
    minutes = MINUTES if minutes is None else minutes
    with search_progress() as (progress, _):
        choice = choose_scheme(
            samples, pool, model, config, folder / FOLDER, minutes,
            kind=kind if kind == "scaffold" else None, fresh=fresh,
            jobs=usual_jobs(config.device) if jobs is None else jobs, counted=counted,
            progress=progress, finished=finished,
        )  # fmt: skip
    console.print(f"chosen    {choice.candidate.title}: {choice.reason}")
    if not choice.complete:
        console.print(
            f"          stopped by --minutes {minutes:g}; with more time, more candidates are tried"
        )
    return choice


def _kinds(carried: list[Candidate]) -> str:
    """List what the candidates are made of."""
    own = [one.options for one in carried if one.options["gpnn"]]
    schemes, interactions, radii = (
        list(dict.fromkeys(str(one[name]) for one in own))
        for name in ("scheme", "interactions", "d")
    )
    return (
        f"the base alone, and {', '.join(schemes)} with {', '.join(interactions)} and "
        f"d {', '.join(radii)}"
    )


def _known(folder: Path, model: dict[str, Any]) -> Chosen | None:
    """Return the choice of a finished training in a folder, if there is one."""
    from ..train.model_file import CARD, load_model
    from ..train.scheme_candidates import same_question
    from ..train.scheme_decision import Chosen

    if not (folder / CARD).is_file():
        return None
    known = load_model(folder).about.get("choice")
    fix = "Name another folder with --out, or give --fresh."
    if known is None:
        raise InputError(f"{folder} holds a model that was trained without --scheme {AUTO}. {fix}")
    choice = Chosen.from_dict(known)
    if not same_question([one.candidate for one in choice.standings], model):
        raise InputError(
            f"{folder} holds a choice among other candidates: of other --interactions, --d or "
            f"--distances, or of another version of gpnn. {fix}"
        )
    if not choice.complete:
        notes().print(
            f"The choice in {folder} was stopped before its last rung, and is kept. --fresh "
            "chooses again, with the time of --minutes."
        )
    return choice


def choice_table(choice: Chosen) -> Any:
    """Return a table of the bracket: one line per candidate that was tried."""
    from rich.table import Table

    caption = (
        f"{choice.reason}. Gains are over the base on the same folds, ± standard error; tuples of "
        "Equation 2 are the cost of a layer"
    )
    if choice.rung:
        caption += (
            f"; p is corrected for the candidates of rung {choice.rung} "
            f"({choice.models} networks each)"
        )
    table = Table(
        title=f"{choice.metric} on inner validation folds; chosen: {choice.candidate.title}",
        caption=f"{caption}.",
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
        gain = "" if one.gain is None or not own.options["gpnn"] else f"{one.gain:+.4f}"
        gain += f" ± {one.error:.4f}" if gain and one.error else ""
        rung = str(one.rung) if one.rung else "-"
        p = "" if one.p is None else f"{one.p:.2g}"
        table.add_row(own.title + mark, *facts, rung, value, gain, p)
    return table


def draw_choice(choice: Chosen, folder: Path, name: str) -> list[Path]:
    """Draw the bracket into the folder of the model, if anything was tried."""
    if not any(one.rung for one in choice.standings):
        return []
    from ..plots.save import save
    from ..plots.scheme_choice import draw_scheme_choice

    save(draw_scheme_choice(choice, name), folder / PICTURE)
    return [folder / PICTURE]
