"""A table as a Markdown page, generated from the records alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any

from ..text import markdown
from .gains import LEVEL, RIVALS, Gain, gains_of
from .paper import Figure
from .protocols import Summary, get_protocol
from .recipe import PEERS, Recipe
from .results import Entry, Part, deviations, shortfall, used
from .tables import CONTROLS, OWN, TABLES

__all__ = ["QUICK", "below", "made_with", "overview", "protocols_of", "spent", "to_markdown"]

QUICK = (
    "**QUICK: a small sample (few graphs, folds, seeds and epochs, a narrow network) that shows "
    "that the table runs from end to end. Its figures mean nothing.**"
)
NONE = "—"
_LEGEND = """\
*Measured* and *paper* are mean ± standard deviation; *s.e.* is the standard error of the measured
mean. *Difference* is measured less paper in units of the combined standard deviation,
√(s₁² + s₂²): below 0 is better for errors, above 0 for the others. *Gain* is the mean difference to
the base GNN on the same folds and seeds, ± its standard error: over the base at the same width, and
over the base widened to as many parameters; positive is better, for errors too. An empty cell (—)
was not measured, or is not in the paper. `tu-nested` has no published figure.
"""


def to_markdown(table: str, parts: Sequence[Part], command: str, quick: bool = False) -> str:
    """Return the page of a table."""
    records = used(parts)
    lines = [f"# {table}: {TABLES[table]}{' (QUICK)' if quick else ''}", ""]
    if quick:
        lines += [QUICK, ""]
    lines += _gains(parts) if table in OWN else []
    lines += [f"Made by `{command}` from `runs.jsonl`. {made_with(records)}", ""]
    lines += ["Accuracy and ROC-AUC in per cent; mean absolute error as it is. " + _LEGEND]
    lines += protocols_of(parts)
    lines += _controls(table)
    for protocol in dict.fromkeys(part.protocol for part in parts):
        lines += overview([part for part in parts if part.protocol == protocol])
    lines += [] if quick else below(parts)
    for dataset in dict.fromkeys(part.column.dataset for part in parts):
        lines += _details([part for part in parts if part.column.dataset == dataset])
    return "\n".join(lines).rstrip() + "\n"


def _gains(parts: Sequence[Part]) -> list[str]:
    """Summarise where GPNN improves the results, in a sentence and a table at the top."""
    gains = gains_of(parts)
    head = ["dataset", "model", *(f"gain over {name} (p)" for name in RIVALS.values())]
    lines = [_verdict(parts, gains), "", *_rule(head)]
    for part in parts:
        for entry in part.entries:
            own = {one.rival: one for one in gains if one.entry is entry}
            if own:
                cells = [_tested(own.get(rival), part.digits) for rival in RIVALS]
                lines.append(_line([part.title, entry.row.title, *cells]))
    note = (
        "Gains are mean ± standard error, positive is better; p-values of paired tests, after "
        f"Holm's correction for all of this table. Bold: p below {LEVEL:g}."
    )
    return [*lines, "", note, ""]


def _verdict(parts: Sequence[Part], gains: Sequence[Gain]) -> str:
    """State where the partition improves on the widened base and, if it was trained, on GPNN with
    one part."""
    pays, adds_nothing, open_ = [], [], []
    for part in parts:
        own = [
            one
            for one in gains
            if one.part is part and one.rival != "over_base" and one.entry.row.scheme != "trivial"
        ]
        best = [one for one in own if one.established and one.gain.mean > 0]
        if any(entry.record is None for entry in part.entries) or not own:
            open_.append(part.title)
        elif {one.rival for one in best} == {one.rival for one in own}:
            pays.append(part.title)
        else:
            adds_nothing.append(part.title)
    words = []
    if pays:
        words.append(f"The partition pays on {_and(pays)}.")
    if adds_nothing:
        words.append(f"On {_and(adds_nothing)} the partition adds nothing that is established.")
    if open_:
        words.append(f"Not all models are trained yet on {_and(open_)}.")
    return " ".join(words)


def _and(names: Sequence[str]) -> str:
    return "; ".join(names) if any("," in name for name in names) else ", ".join(names)


def _tested(held: Gain | None, digits: int) -> str:
    if held is None:
        return NONE
    p = "" if held.corrected is None else f" ({_p(held.corrected)})"
    text = f"{_gain(held.gain, digits)}{p}"
    return f"**{text}**" if held.established else text


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}" if value < 0.1 else f"{value:.2f}"


def made_with(records: Iterable[dict[str, Any]]) -> str:
    """Describe commits, devices and versions of the records in one sentence."""
    held = list(records)
    if not held:
        return "No run is finished yet."
    commits = ", ".join(f"`{name}`" for name in sorted({r["commit"] for r in held}))
    devices = ", ".join(sorted({r["device"] for r in held if "device" in r}))
    tools = sorted({f"{k} {v}" for r in held for k, v in r["versions"].items()})
    on = f"; device {devices}" if devices else ""
    return f"{len(held)} records; commit {commits}{on}; {', '.join(tools)}; {spent(held)}."


def spent(records: Iterable[dict[str, Any]]) -> str:
    """Return the computing time of the records. A training that several protocols share counts
    once."""
    jobs = {r["key"].partition(":")[0]: r for r in records}.values()
    hours = sum(r["seconds"] + r.get("about", {}).get("prepare_seconds", 0) for r in jobs) / 3600
    return f"{hours:.1f} h of computing" if hours >= 1 else f"{60 * hours:.1f} min of computing"


def _controls(table: str) -> list[str]:
    held = CONTROLS.get(table, {})
    return [f"- `{row.title}`, not in the paper: {use}.\n" for row, use in held.items()]


def protocols_of(parts: Sequence[Part]) -> list[str]:
    """List the rule of every protocol, with its warning."""
    lines = []
    for name in dict.fromkeys(part.protocol for part in parts):
        rule = get_protocol(name)
        warning = f" **{rule.warning}**" if rule.warning else ""
        lines.append(f"- `{name}`: {rule.rule}.{warning}")
    return [*lines, ""]


def overview(parts: Sequence[Part]) -> list[str]:
    """Return a table of methods by datasets: measured figures, the paper's figures in brackets."""
    titles = list(dict.fromkeys(entry.row.title for part in parts for entry in part.entries))
    head = ["method", *(markdown(part.title) for part in parts)]
    lines = [f"## {parts[0].protocol}", "", *_warning(parts[0].protocol), *_rule(head)]
    for title in titles:
        cells = [title]
        for part in parts:
            entry = next((e for e in part.entries if e.row.title == title), None)
            shown = NONE if entry is None else _pair(entry.measured, part.digits)
            paper = f" ({_pair(entry.paper, part.digits)})" if entry and entry.paper else ""
            cells.append(shown + paper)
        lines.append(_line(cells))
    quoted = any(entry.paper for part in parts for entry in part.entries)
    return [*lines, "", *(["The paper's figures in brackets.", ""] if quoted else [])]


def below(parts: Sequence[Part]) -> list[str]:
    """List the cells that are worse than the paper's by more than one combined standard
    deviation."""
    compared, rows = 0, []
    for part in parts:
        for entry in part.entries:
            missing = shortfall(entry)
            compared += missing is not None
            if missing is not None and missing > 1:
                shown = [_pair(held, part.digits) for held in (entry.measured, entry.paper)]
                cells = [
                    part.protocol,
                    markdown(part.title),
                    entry.row.title,
                    *shown,
                    f"{missing:.2f}",
                ]
                rows.append(_line(cells))
    if not compared:
        return []
    sentence = (
        f"{len(rows)} of {compared} figures that the paper has too are worse than the paper's by"
    )
    lines = ["## Below the paper", "", f"{sentence} more than one combined standard deviation.", ""]
    head = ["protocol", "dataset", "method", "measured", "paper", "deviations"]
    return [*lines, *(_rule(head) if rows else ()), *rows, *([""] if rows else ())]


def _details(parts: Sequence[Part]) -> list[str]:
    head = ["protocol", "method", "measured", "s.e.", "paper", "difference", "gain over base"]
    head += ["gain over wide base", "parameters", "folds × seeds"]
    lines = [f"## {markdown(parts[0].title)}", "", *_recipes(parts[0]), "", *_rule(head)]
    for part in parts:
        lines += [_line(_detail(part, entry)) for entry in part.entries]
        for name, figure in part.quoted:
            cells = [part.protocol, f"{name} (quoted)", NONE, NONE, _pair(figure, part.digits)]
            lines.append(_line([*cells, *[NONE] * (len(head) - len(cells))]))
    warnings = [line for part in parts for line in _warning(part.protocol)]
    return [*lines, "", *warnings]


def _recipes(part: Part) -> list[str]:
    """Describe the recipes of the models: once, or for every base if they differ."""
    differing: dict[str, list[str]] = {}
    for base, recipe in part.recipes.items():
        differing.setdefault(_recipe(recipe, base in PEERS), []).append(base)
    return [f"{', '.join(bases)}: {sentence}" for sentence, bases in differing.items()]


def _recipe(recipe: Recipe, peer: bool) -> str:
    rate = f"halved every {recipe.halve_every}" if recipe.halve_every else "constant"
    rate = "along a cosine" if recipe.cosine else rate
    rate += f" after {recipe.warmup} epochs of warm-up" if recipe.warmup else ""
    rate += f", halved on plateaus of {recipe.plateau}" if recipe.plateau else ""
    usual = {field.name: field.default for field in fields(Recipe)}
    more = [
        f"{name} {getattr(recipe, name)}"
        for name in ("block", "virtual_node", "walks", "combine", "join", "labels", "part_weights")
        if getattr(recipe, name) != usual[name]
    ]
    reach = f"d {recipe.d}{' with distances' if recipe.distances else ''}"
    return (
        f"{recipe.layers} layers, hidden {recipe.hidden}, batches of {recipe.batch_size}, "
        f"{recipe.epochs} epochs, lr {recipe.lr:g} {rate}, dropout {recipe.dropout:g}, "
        f"weight decay {recipe.weight_decay:g}, readout {recipe.readout}, head {recipe.head}, edge "
        f"labels {'read' if recipe.edge_labels else 'not read'}"
        + (
            f"{'; ' * bool(recipe.peer)}{recipe.peer}."
            if peer
            else f"; GPNN: {', '.join([reach, *more])}."
        )
    )


def _detail(part: Part, entry: Entry) -> list[str]:
    measured, record, digits = entry.measured, entry.record, part.digits
    away = deviations(measured, entry.paper)
    return [
        part.protocol,
        entry.row.title,
        _pair(measured, digits),
        _number(measured.error if measured else None, digits),
        _pair(entry.paper, digits),
        NONE if away is None else f"{round(away, 2) + 0.0:+.2f}",
        _gain(entry.over_base, digits),
        _gain(entry.over_wide, digits),
        NONE if record is None else f"{record['parameters']:,}",
        NONE if record is None else f"{record['folds']} × {record['seeds']}",
    ]


def _warning(protocol: str) -> list[str]:
    warning = get_protocol(protocol).warning
    return [f"> {warning}", ""] if warning else []


def _rule(head: Sequence[str]) -> list[str]:
    return [_line(head), f"|{'---|' * len(head)}"]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _pair(held: Summary | Figure | None, digits: int) -> str:
    if held is None:
        return NONE
    spread = f" ± {_number(held.std, digits)}" if held.std is not None else ""
    return _number(held.mean, digits) + spread


def _gain(held: Summary | None, digits: int) -> str:
    if held is None:
        return NONE
    spread = f" ± {_number(held.error, digits)}" if held.error is not None else ""
    return f"{round(held.mean, digits) + 0.0:+.{digits}f}{spread}"


def _number(value: float | None, digits: int) -> str:
    return NONE if value is None else f"{value:.{digits}f}"
