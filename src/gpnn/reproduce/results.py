"""The results of a table, computed from the records alone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..data.tasks import higher_is_better
from .jobs import NAMES, Row
from .paper import Figure, figure
from .protocols import Measured, Summary, get_protocol, summarise
from .provenance import version_of
from .recipe import Recipe
from .run_job import record_key
from .tables import NOTHING, Additions, Column, columns, make_job

__all__ = ["Entry", "Part", "collect", "deviations", "gain", "shortfall", "used"]

Record = dict[str, Any]
SETTINGS = {"tu-1": "1", "tu-2": "2"}


@dataclass(frozen=True)
class Entry:
    """A model under a protocol.

    Attributes:
        row: the model.
        record: its line in ``runs.jsonl``, or ``None``.
        paper: the published figure, or ``None``.
        over_base, over_wide, over_one_part: for GPNN, the gain over its base at the same width,
            over its base with the same number of parameters, and over GPNN with one part. Positive
            is better; ``None`` if a record is missing.
    """

    row: Row
    record: Record | None
    paper: Figure | None
    over_base: Summary | None = None
    over_wide: Summary | None = None
    over_one_part: Summary | None = None

    @property
    def measured(self) -> Summary | None:
        """Mean, standard deviation and standard error in the paper's unit: per cent, or the metric
        itself."""
        if self.record is None:
            return None
        factor = unit(self.record["metric"])
        mean, std, error = (self.record[name] for name in ("mean", "std", "error"))
        return Summary(factor * mean, _times(factor, std), _times(factor, error))


@dataclass(frozen=True)
class Part:
    """A dataset of a table under one protocol.

    Attributes:
        column, protocol: the dataset and the protocol.
        recipes: the recipe of every base GNN, or of every model if each has its own.
        entries: the models.
        quoted: published figures of methods that are not measured.
    """

    column: Column
    protocol: str
    recipes: Mapping[str, Recipe]
    entries: tuple[Entry, ...]
    quoted: tuple[tuple[str, Figure], ...]

    @property
    def title(self) -> str:
        return next(iter(self.recipes.values())).title

    @property
    def digits(self) -> int:
        """Number of decimals shown."""
        return 3 if self.protocol == "zinc" else 2


def unit(metric: str) -> float:
    """Return the factor for reports: accuracy and ROC-AUC are reported in per cent."""
    return 100.0 if higher_is_better(metric) else 1.0


def collect(
    table: str,
    records: Mapping[str, Record],
    quick: bool = False,
    recipes: Mapping[str, Recipe] | None = None,
    added: Additions = NOTHING,
) -> list[Part]:
    """Return every dataset and protocol of a table with the available records."""
    return [
        _part(table, column, protocol, records, quick, recipes)
        for column in columns(table, added)
        for protocol in column.protocols
    ]


def _part(
    table: str,
    column: Column,
    protocol: str,
    records: Mapping[str, Record],
    quick: bool,
    recipes: Mapping[str, Recipe] | None,
) -> Part:
    rule, dataset = get_protocol(protocol), column.dataset
    jobs = {row: make_job(dataset, row, rule.family, quick, recipes, table) for row in column.rows}
    finished = {row: records.get(record_key(job, rule)) for row, job in jobs.items()}
    entries = [
        Entry(
            row,
            finished[row],
            _published(table, protocol, dataset, row),
            *(
                gain(finished[row], other, rule.overlap_of(finished[row]))
                for other in _rivals(finished, row)
            ),
        )
        for row in column.rows
        if not row.peer or finished[row] is not None
    ]
    setting = SETTINGS.get(protocol, "")
    quoted = []
    if protocol != "tu-nested":
        measured = {entry.row.base for entry in entries}
        unseen = [name for name in column.quoted if name not in measured]
        seen = ((name, figure(table, setting, dataset, name)) for name in unseen)
        quoted = [(name, value) for name, value in seen if value is not None]
    own = table == "tuned"
    shared = {
        row.title if own else row.base: jobs[row].recipe for row in (entry.row for entry in entries)
    }
    return Part(column, protocol, shared, tuple(entries), tuple(quoted))


def _rivals(found: Mapping[Row, Record | None], row: Row) -> tuple[Record | None, ...]:
    """The models that a GPNN is compared with: its base, its base with as many parameters, GPNN on
    one part."""
    if not row.gpnn:
        return None, None, None
    one_part = replace(row, scheme="trivial")
    return found.get(row.plain), _wide(found, row), found.get(one_part) if one_part != row else None


def _wide(found: Mapping[Row, Record | None], row: Row) -> Record | None:
    """Return the base with as many parameters as a GPNN; if there is only one for all GPNNs, that
    one."""
    wide = [other for other in found if other.wide and other.base == row.base]
    return found.get(row.widened) if len(wide) != 1 else found[wide[0]]


def _published(table: str, protocol: str, dataset: str, row: Row) -> Figure | None:
    if row.wide or table == "tuned" or protocol == "tu-nested" or row.base not in NAMES:
        return None
    setting = SETTINGS.get(protocol, "")
    if not row.gpnn:
        return figure(table, setting, dataset, row.base)
    base = row.base if table == "node-classification" else ""
    return figure(table, setting, dataset, "GPNN", base, row.scheme, row.interactions)


def gain(record: Record | None, other: Record | None, overlap: float = 0.0) -> Summary | None:
    r"""Return the gain of a model over another, from the differences of every fold and seed.

    Positive is better, for errors too. The standard error comes from the n folds, each averaged
    over its seeds (seeds of one fold share their test part), or from the seeds if there is one
    fold. Folds share training samples, so their differences are correlated; with r = ``overlap``,
    the test samples per training sample, the squared standard error is
    :math:`(1/n + r)\,\mathrm{var}` (Nadeau and Bengio 2003). Models that were trained on different
    data, or by different versions of gpnn, are not compared.
    """
    if record is None or other is None:
        return None
    if record.get("data") != other.get("data") or version_of(record) != version_of(other):
        return None
    factor = unit(record["metric"]) * (1 if higher_is_better(record["metric"]) else -1)
    values = {(one["fold"], one["seed"]): one["value"] for one in other["values"]}
    pairs = [
        Measured(one["fold"], one["seed"], factor * (one["value"] - values[place]), one["epoch"])
        for one in record["values"]
        if (place := (one["fold"], one["seed"])) in values
    ]
    if not pairs:
        return None
    summary = summarise(pairs)
    return replace(summary, error=_times(math.sqrt(1 + summary.units * overlap), summary.error))


def deviations(measured: Summary | None, paper: Figure | None) -> float | None:
    """Return the difference to the paper in units of the combined standard deviation."""
    if measured is None or paper is None or measured.std is None:
        return None
    combined = math.hypot(measured.std, paper.std)
    return (measured.mean - paper.mean) / combined if combined else None


def shortfall(entry: Entry) -> float | None:
    """Return how much worse a figure is than the paper's, in combined standard deviations;
    negative if it is better."""
    away = deviations(entry.measured, entry.paper)
    if away is None or entry.record is None:
        return None
    return -away if higher_is_better(entry.record["metric"]) else away


def used(parts: Sequence[Part]) -> list[Record]:
    """Return the records that a table uses."""
    return [entry.record for part in parts for entry in part.entries if entry.record is not None]


def _times(factor: float, value: float | None) -> float | None:
    return None if value is None else factor * value
