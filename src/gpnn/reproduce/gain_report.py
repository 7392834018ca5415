"""The gains of GPNN on a page: all of them at the top of the additional tables, the significant
ones on the pages of the paper's tables."""

from __future__ import annotations

from collections.abc import Sequence

from ..text import markdown
from .gains import LEVEL, RIVALS, Gain, gains_of
from .page_cells import NONE, gain_text, head_of, line
from .results import Part

__all__ = ["gain_overview", "significant"]


def significant(parts: Sequence[Part]) -> list[str]:
    """List the significant gains and losses of every protocol, and how many were tested."""
    lines = [
        "## Significant gains",
        "",
        f"Gains over {', '.join(RIVALS.values())}; paired tests with the standard errors of "
        f"this page. Significant: p below {LEVEL:g} after Holm's correction for all of a protocol.",
        "",
    ]
    rows = []
    for protocol in dict.fromkeys(part.protocol for part in parts):
        gains = gains_of([part for part in parts if part.protocol == protocol])
        tested = [one for one in gains if one.corrected is not None]
        own = [one for one in tested if one.established]
        lines.append(f"- `{protocol}`: {len(own) or 'none'} of {len(tested)}.")
        rows += [
            [protocol, markdown(one.part.title), one.entry.row.title, RIVALS[one.rival],
             gain_text(one.gain, one.part.digits), _p(one.corrected or 0.0)]
            for one in own
        ]  # fmt: skip
    if rows:
        head = ["protocol", "dataset", "model", "compared with", "gain", "p"]
        lines += ["", *head_of(head), *map(line, rows)]
    return [*lines, ""]


def gain_overview(parts: Sequence[Part]) -> list[str]:
    """Summarise where GPNN improves the results, in a sentence and a table at the top."""
    gains = gains_of(parts)
    head = ["dataset", "model", *(f"gain over {name} (p)" for name in RIVALS.values())]
    lines = [_verdict(parts, gains), "", *head_of(head)]
    for part in parts:
        for entry in part.entries:
            own = {one.rival: one for one in gains if one.entry is entry}
            if own:
                cells = [_tested(own.get(rival), part.digits) for rival in RIVALS]
                lines.append(line([part.title, entry.row.title, *cells]))
    note = (
        "Gains are mean ± standard error, positive is better; p-values of paired tests, after "
        f"Holm's correction for all of this table. Bold: p below {LEVEL:g}."
    )
    return [*lines, "", note, ""]


def _verdict(parts: Sequence[Part], gains: Sequence[Gain]) -> str:
    """State where the partition improves on the widened base and, if it was trained, on GPNN with
    one part, and where it is worse than a rival."""
    pays, adds_nothing, loses, open_ = [], [], [], []
    for part in parts:
        models = [
            entry for entry in part.entries if entry.row.gpnn and entry.row.scheme != "trivial"
        ]
        several = len(models) > 1
        better, worse, compared = [], [], False
        for entry in models:
            own = [one for one in gains if one.entry is entry]
            rivals = [one for one in own if one.rival != "over_base"]
            name = f"{part.title} ({entry.row.title})" if several else part.title
            compared |= bool(rivals)
            if rivals and all(one.established and one.gain.mean > 0 for one in rivals):
                better.append(name)
            if any(one.established and one.gain.mean < 0 for one in own):
                worse.append(name)
        if any(entry.record is None for entry in part.entries) or not compared:
            open_.append(part.title)
        elif not better:
            adds_nothing.append(part.title)
        else:
            pays += better
        loses += worse
    words = []
    if pays:
        words.append(f"The partition pays on {_and(pays)}.")
    if adds_nothing:
        words.append(f"On {_and(adds_nothing)} the partition adds nothing that is established.")
    if loses:
        words.append(f"On {_and(loses)} it is worse than a model without it, significantly.")
    if open_:
        words.append(f"Not all models are trained yet on {_and(open_)}.")
    return " ".join(words)


def _and(names: Sequence[str]) -> str:
    return "; ".join(names) if any("," in name for name in names) else ", ".join(names)


def _tested(result: Gain | None, digits: int) -> str:
    if result is None:
        return NONE
    p = "" if result.corrected is None else f" ({_p(result.corrected)})"
    text = f"{gain_text(result.gain, digits)}{p}"
    return f"**{text}**" if result.established else text


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}" if value < 0.1 else f"{value:.2f}"
