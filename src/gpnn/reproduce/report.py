"""A table as a Markdown page, generated from the records alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any

from ..text import markdown
from .gain_report import gain_overview, significant
from .page_cells import NONE, gain_text, head_of, line, mean_and_spread, number
from .protocols import get_protocol
from .provenance import version_of
from .recipe import PEERS, Recipe
from .results import Entry, Part, deviations, shortfall, used
from .tables import CONTROLS, OWN, TABLES

__all__ = ["QUICK", "below", "made_with", "overview", "protocols_of", "spent", "to_markdown"]

QUICK = (
    "**QUICK: a small sample (few graphs, folds, seeds and epochs, a narrow network) that shows "
    "that the table runs from end to end. Its figures mean nothing.**"
)
MARK = " †"
_LEGEND = """\
*Measured* and *paper* are mean ± standard deviation; *s.e.* is the standard error of the measured
mean. *Difference* is measured less paper in units of the combined standard deviation,
√(s₁² + s₂²): below 0 is better for errors, above 0 for the others. *Gain* is the mean difference to
the base GNN on the same folds and seeds, ± its standard error, corrected for folds and splits that
share training samples (Nadeau and Bengio 2003): over the base at the same width, and over the base
widened to as many parameters; positive is better, for errors too. An empty cell (—) was not
measured, or is not in the paper, or, for gains, the two models were trained by different versions
of gpnn. `tu-nested` has no published figure.
"""


def to_markdown(table: str, parts: Sequence[Part], command: str, quick: bool = False) -> str:
    """Return the page of a table."""
    records = used(parts)
    lines = [f"# {table}: {TABLES[table]}{' (QUICK)' if quick else ''}", ""]
    if quick:
        lines += [QUICK, ""]
    lines += gain_overview(parts) if table in OWN else []
    lines += [f"Made by `{command}` from `runs.jsonl`. {made_with(records)}", ""]
    lines += ["Accuracy and ROC-AUC in per cent; mean absolute error as it is. " + _LEGEND]
    lines += protocols_of(parts)
    lines += _controls(table)
    for protocol in dict.fromkeys(part.protocol for part in parts):
        lines += overview([part for part in parts if part.protocol == protocol])
    lines += [] if quick or table in OWN else significant(parts)
    lines += [] if quick else below(parts)
    for dataset in dict.fromkeys(part.column.dataset for part in parts):
        lines += _details([part for part in parts if part.column.dataset == dataset])
    return "\n".join(lines).rstrip() + "\n"


def made_with(records: Iterable[dict[str, Any]]) -> str:
    """Describe commits, devices and versions of the records in one sentence."""
    runs = list(records)
    if not runs:
        return "No run is finished yet."
    commits = ", ".join(f"`{name}`" for name in sorted({r["commit"] for r in runs}))
    devices = ", ".join(sorted({r["device"] for r in runs if "device" in r}))
    named = {item for r in runs for item in r["versions"].items() if item[0] != "results"}
    tools = sorted(f"{name} {number}" for name, number in named)
    on = f"; device {devices}" if devices else ""
    return f"{len(runs)} records; commit {commits}{on}; {', '.join(tools)}; {spent(runs)}."


def spent(records: Iterable[dict[str, Any]]) -> str:
    """Return the computing time of the records. A training that several protocols share counts
    once."""
    jobs = {r["key"].partition(":")[0]: r for r in records}.values()
    hours = sum(r["seconds"] + r.get("about", {}).get("prepare_seconds", 0) for r in jobs) / 3600
    return f"{hours:.1f} h of computing" if hours >= 1 else f"{60 * hours:.1f} min of computing"


def _controls(table: str) -> list[str]:
    controls = CONTROLS.get(table, {})
    return [f"- `{row.title}`, not in the paper: {use}.\n" for row, use in controls.items()]


def protocols_of(parts: Sequence[Part]) -> list[str]:
    """List the rule of every protocol, with its warning."""
    lines = []
    for name in dict.fromkeys(part.protocol for part in parts):
        rule = get_protocol(name)
        warning = f" **{rule.warning}**" if rule.warning else ""
        lines.append(f"- `{name}`: {rule.rule}.{warning}")
    return [*lines, ""]


def overview(parts: Sequence[Part]) -> list[str]:
    """Return a table of methods by datasets: measured figures, the paper's figures in brackets.
    Figures by another version of gpnn than that of the dataset's first row are marked."""
    titles = list(dict.fromkeys(entry.row.title for part in parts for entry in part.entries))
    head = ["method", *(markdown(part.title) for part in parts)]
    lines = [f"## {parts[0].protocol}", "", *_warning(parts[0].protocol), *head_of(head)]
    others: set[str] = set()
    for title in titles:
        cells = [title]
        for part in parts:
            entry = next((e for e in part.entries if e.row.title == title), None)
            shown = NONE if entry is None else mean_and_spread(entry.measured, part.digits)
            paper = (
                f" ({mean_and_spread(entry.paper, part.digits)})" if entry and entry.paper else ""
            )
            other = "" if entry is None else _other_version(part, entry)
            others |= {other} - {""}
            cells.append(shown + MARK * bool(other) + paper)
        lines.append(line(cells))
    quoted = any(entry.paper for part in parts for entry in part.entries)
    notes = ["The paper's figures in brackets."] if quoted else []
    if others:
        notes.append(
            f"†: trained with gpnn {', '.join(sorted(others))}, and the first figure of the "
            "column with another version: they are not comparable."
        )
    return [*lines, "", *([" ".join(notes), ""] if notes else [])]


def _other_version(part: Part, entry: Entry) -> str:
    """Return the version of gpnn that trained a model, if another one trained the dataset's first
    model."""
    first = next((one.record for one in part.entries if one.record is not None), None)
    if first is None or entry.record is None or version_of(first) == version_of(entry.record):
        return ""
    return version_of(entry.record)


def below(parts: Sequence[Part]) -> list[str]:
    """List the cells that are worse than the paper's by more than one combined standard
    deviation."""
    compared, rows = 0, []
    for part in parts:
        for entry in part.entries:
            missing = shortfall(entry)
            compared += missing is not None
            if missing is not None and missing > 1:
                shown = [
                    mean_and_spread(value, part.digits) for value in (entry.measured, entry.paper)
                ]
                cells = [
                    part.protocol,
                    markdown(part.title),
                    entry.row.title,
                    *shown,
                    f"{missing:.2f}",
                ]
                rows.append(line(cells))
    if not compared:
        return []
    sentence = (
        f"{len(rows)} of {compared} figures that the paper has too are worse than the paper's by"
    )
    lines = ["## Below the paper", "", f"{sentence} more than one combined standard deviation.", ""]
    head = ["protocol", "dataset", "method", "measured", "paper", "deviations"]
    return [*lines, *(head_of(head) if rows else ()), *rows, *([""] if rows else ())]


def _details(parts: Sequence[Part]) -> list[str]:
    head = ["protocol", "method", "measured", "s.e.", "paper", "difference", "gain over base"]
    head += ["gain over wide base", "parameters", "folds × seeds"]
    lines = [f"## {markdown(parts[0].title)}", "", *_recipes(parts[0]), "", *head_of(head)]
    for part in parts:
        lines += [line(_detail(part, entry)) for entry in part.entries]
        for name, figure in part.quoted:
            cells = [
                part.protocol,
                f"{name} (quoted)",
                NONE,
                NONE,
                mean_and_spread(figure, part.digits),
            ]
            lines.append(line([*cells, *[NONE] * (len(head) - len(cells))]))
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
        mean_and_spread(measured, digits),
        number(measured.error if measured else None, digits),
        mean_and_spread(entry.paper, digits),
        NONE if away is None else f"{round(away, 2) + 0.0:+.2f}",
        gain_text(entry.over_base, digits),
        gain_text(entry.over_wide, digits),
        NONE if record is None else f"{record['parameters']:,}",
        NONE if record is None else f"{record['folds']} × {record['seeds']}",
    ]


def _warning(protocol: str) -> list[str]:
    warning = get_protocol(protocol).warning
    return [f"> {warning}", ""] if warning else []
