"""The tables of the paper and three additional tables (``tuned``, ``seeds``, ``peers``): their
datasets, models, protocols and jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from ..errors import InputError
from .jobs import BASES, NAMES, PEERS, Job, Row, quick_recipe
from .paper import Cell, cells
from .protocols import get_protocol
from .recipe import Recipe, list_recipes, load_recipe
from .tuned import TUNED, tuned_recipe, tuned_rows

__all__ = [
    "ALL",
    "CONTROLS",
    "TABLES",
    "Additions",
    "Column",
    "columns",
    "jobs_of",
    "make_job",
    "named",
    "selected",
]

PAPER = {
    "graph-classification": "graph classification, TU collections and OGB molecules",
    "node-classification": "node classification, GPNN plugged into four base GNNs",
    "schemes": "partitioning schemes on OGB molecules",
    "interactions": "kinds of interactions on TU collections",
    "regression": "regression on ZINC-12k, resampled train",
}
"""The paper's tables that need training."""

OWN = {
    "tuned": "molecules, every model with a recipe of its own search",
    "seeds": "TU collections, 30 seeds",
    "peers": "GIN, GPNN and the methods of the paper's tables, with what they cost",
}
"""Additional tables: they test whether a gain is significant, and compare the paper's peers."""

TABLES = {**PAPER, **OWN}

ALL = (*PAPER, "statistics", "distribution")
"""The paper's tables; ``statistics`` and ``distribution`` are counted, not trained."""

SEEDS = 30
_TU = ("MUTAG", "PTC_MR", "PROTEINS", "IMDB-BINARY", "BZR", "COX2", "DHFR")

_PROTOCOLS = {"accuracy": ("tu-1", "tu-2", "tu-nested"), "rocauc": ("ogb",), "mae": ("zinc",)}


@dataclass(frozen=True)
class Column:
    """A dataset of a table.

    Attributes:
        table, dataset: the names in the paper.
        protocols: the protocols that evaluate its models.
        rows: the models that are trained; a GPNN comes after its base and its widened base.
        quoted: methods whose published figures are shown if they are not measured.
    """

    table: str
    dataset: str
    protocols: tuple[str, ...]
    rows: tuple[Row, ...]
    quoted: tuple[str, ...]

    @property
    def families(self) -> tuple[str, ...]:
        names = ("tu" if name in ("tu-1", "tu-2") else name for name in self.protocols)
        return tuple(dict.fromkeys(names))


def named(table: str) -> tuple[str, ...]:
    """Return the tables that a name stands for."""
    if table == "all":
        return ALL
    if table not in (*ALL, *OWN):
        names = ", ".join((*ALL, *OWN))
        raise InputError(f"There is no table {table!r}. Choose one of {names}, all.")
    return (table,)


@dataclass(frozen=True)
class Additions:
    """Additions of the user to the tables: datasets as columns, base GNNs as rows."""

    datasets: tuple[str, ...] = ()
    bases: tuple[str, ...] = ()


NOTHING = Additions()


def columns(table: str, added: Additions = NOTHING) -> list[Column]:
    """Return the datasets of a table; the user's come last."""
    if table not in TABLES:
        named(table)
        raise InputError(f"The table {table} is counted, not trained.")
    if table in OWN and added != NOTHING:
        raise InputError(f"Datasets and base GNNs cannot be added to the table {table}.")
    if table == "peers":
        both = [column for name in _OF_PEERS for column in columns(name)]
        return [replace(column, rows=rows) for column in both if (rows := _beside_peers(column))]
    paper_cells = [cell for cell in cells() if cell.table == table]
    if table == "tuned":
        return [
            Column(table, name, (protocol,), _sorted(dict.fromkeys(tuned_rows(name))), ())
            for name, protocol in TUNED.items()
            if tuned_rows(name)
        ]
    if table == "seeds":
        return [Column(table, name, ("tu-nested",), _compared(), ()) for name in _TU]
    result = [
        _column(table, dataset, [cell for cell in paper_cells if cell.dataset == dataset])
        for dataset in dict.fromkeys(cell.dataset for cell in paper_cells)
    ]
    result += [_own_column(table, name) for name in added.datasets]
    return [_with_bases(column, added.bases) for column in result]


def _beside_peers(column: Column) -> tuple[Row, ...]:
    """Return the peers of a column with GIN, widened GIN and one GPNN; nothing if it has no
    peer."""
    gpnn = next((row for row in column.rows if row.gpnn and row.scheme == "core-degree"), None)
    kept = {row for row in column.rows if row.peer}
    if not kept or gpnn is None:
        return ()
    kept |= {gpnn, gpnn.plain, gpnn.widened}
    return tuple(row for row in column.rows if row in kept)


def _own_column(table: str, dataset: str) -> Column:
    """Return the column of a dataset that is not in the paper: GIN, widened GIN and GPNN."""
    from ..data.catalogue import get

    name = get(dataset).name
    protocols = own_protocols(name)
    if (table == "node-classification") != (protocols == ("node",)):
        other = "node-classification" if protocols == ("node",) else "graph-classification"
        raise InputError(f"{name} belongs to the table {other}, not to {table}.")
    return Column(table, name, protocols, _compared(), ())


def _compared() -> tuple[Row, ...]:
    """Return GIN, widened GIN, and GPNN with two kinds of interactions."""
    models = [Row("GIN", "core-degree", kind) for kind in ("cross", "edges")]
    rows = dict.fromkeys(row for model in models for row in (model.plain, model.widened, model))
    return _sorted(rows)


def own_protocols(dataset: str) -> tuple[str, ...]:
    """Return the protocols for a dataset of the user, inferred from its labels and its split."""
    from .data import load_samples_of

    samples = load_samples_of(dataset)
    if samples.task.node_level:
        return ("node",)
    if samples.split is not None:
        return ("zinc",) if samples.metric == "mae" else ("ogb",)
    if samples.task.has_classes:
        return ("tu-1", "tu-2", "tu-nested")
    raise InputError(
        f"{dataset} has neither classes nor a split of its own, and no protocol fits it. Add a "
        "column split (train, valid, test), or use 'gpnn train --folds'."
    )


def _with_bases(column: Column, bases: Sequence[str]) -> Column:
    """Add rows for base GNNs of the user: alone, and with GPNN."""
    if not bases:
        return column
    kinds = dict.fromkeys((row.scheme, row.interactions) for row in column.rows if row.gpnn)
    first = next(iter(kinds), ("core-degree", "cross"))
    rows = {**dict.fromkeys(column.rows)}
    for base in bases:
        rows |= dict.fromkeys((Row(base), Row(base, *first)))
    return replace(column, rows=_sorted(rows))


def _column(table: str, dataset: str, published: Sequence[Cell]) -> Column:
    node = table == "node-classification"
    protocols = ("node",) if node else _PROTOCOLS[published[0].metric]
    rows: dict[Row, None] = {}
    quoted: dict[str, None] = {}
    for row in CONTROLS.get(table, ()):
        rows |= dict.fromkeys((row.plain, row.widened, row))
    for cell in published:
        if cell.method == "GPNN":
            row = Row(cell.base or "GIN", cell.scheme, cell.interactions)
            rows |= dict.fromkeys((row.plain, row.widened, row))
        elif cell.method in BASES and (dataset, cell.method) not in _BLIND:
            rows[Row(cell.method)] = None
        else:
            quoted[cell.method] = None
            if cell.method in PEERS:
                rows[Row(cell.method)] = None
    if dataset in _ALL_PEERS and table == "graph-classification":
        rows |= {Row(name): None for name in PEERS}
    return Column(table, dataset, protocols, _sorted(rows), (*quoted,))


def _sorted(rows: Mapping[Row, None]) -> tuple[Row, ...]:
    """Sort by base, the paper's bases first; a base comes before GPNN on it."""
    known = [*NAMES, *dict.fromkeys(row.base for row in rows if row.base not in NAMES)]
    return tuple(sorted(rows, key=lambda row: (known.index(row.base), row.gpnn, row.wide)))


CONTROLS = {
    "regression": {
        Row("GIN", "trivial", "cross"): "one part with the same radius shows what the hops do "
        "without parts",
    }
}
"""Rows of a table that are not in the paper, and their purpose."""

_OF_PEERS = ("graph-classification", "regression")
"""The tables in which the paper quotes other methods."""

_ALL_PEERS = ("MUTAG", "PTC_MR", "PROTEINS", "IMDB-BINARY")
"""Datasets on which all peers are trained, even those that the paper does not quote there."""

_BLIND = {("ZINC-edge-features", "GCN")}
"""Left out: GCN does not read edge labels here and would repeat its figure without them."""


def make_job(
    dataset: str,
    row: Row,
    family: str,
    quick: bool,
    recipes: Mapping[str, Recipe] | None = None,
    table: str = "",
) -> Job:
    """Return the job of a model on a dataset, with the given recipe or else that of the package.
    Each model of ``tuned`` has a separate recipe; ``seeds`` uses only the recipe's own
    configuration."""
    recipe = (recipes or {}).get(dataset) or recipe_of(dataset, family)
    if table == "tuned":
        recipe = tuned_recipe(dataset, row) or recipe
    elif table == "seeds":
        recipe = replace(recipe, nested=replace(recipe.nested, trials=1, seeds=SEEDS))
    recipe = recipe.for_base(NAMES.get(row.base, row.base))
    return Job(quick_recipe(recipe) if quick else recipe, row, family, quick)


def recipe_of(dataset: str, family: str) -> Recipe:
    """Return the package's recipe of a dataset; a user's dataset gets a recipe for its kind."""
    if dataset in list_recipes():
        return load_recipe(dataset)
    return replace(load_recipe(_LIKE[family]), name=dataset, dataset=dataset, title=dataset)


_LIKE = {"tu": "MUTAG", "tu-nested": "MUTAG", "ogb": "ogbg-moltox21", "node": "Texas",
         "zinc": "ZINC-edge-features"}  # fmt: skip
"""Family of protocols → the dataset whose recipe a user's dataset gets."""


def jobs_of(
    tables: Sequence[str],
    only: Sequence[str] = (),
    quick: bool = False,
    recipes: Mapping[str, Recipe] | None = None,
    added: Additions = NOTHING,
    protocols: Sequence[str] = (),
) -> list[Job]:
    """Return the jobs of some tables, each once and grouped by dataset; with ``protocols``, only
    the jobs of their families."""
    if recipes and "tuned" in tables:
        raise InputError(
            "Every model of the table tuned has a recipe of its own: leave out --recipe. "
            "docs/experiments.md says how the recipes are found."
        )
    jobs = {
        job.key: job
        for table in tables
        for column in columns(table, added)
        for row in selected(column, only)
        for family in column.families
        if not protocols or {family} & {get_protocol(name).family for name in protocols}
        for job in [make_job(column.dataset, row, family, quick, recipes, table)]
    }
    if only and tables and not jobs:
        available = [column for table in tables for column in columns(table, added)]
        names = list(dict.fromkeys(column.dataset for column in available))
        methods = dict.fromkeys(row.method for column in available for row in column.rows)
        raise InputError(
            f"Nothing matches {' or '.join(only)}. Give dataset/method/scheme/interactions, such "
            f"as {names[0]}/GPNN/core-degree or '*/GIN'. Datasets are {', '.join(names)}; methods "
            f"{', '.join(methods)}, not each with every dataset."
        )
    return sorted(jobs.values(), key=lambda job: job.recipe.dataset)


def selected(column: Column, only: Sequence[str]) -> list[Row]:
    """Return the rows that match one of the patterns, and the baselines of every GPNN among them.

    A pattern is ``dataset/method/scheme/interactions``, where later parts may be left out. Parts
    are case-insensitive and may contain ``*`` and ``?``.
    """
    chosen = {row for row in column.rows if not only or any(_fits(p, column, row) for p in only)}
    chosen |= {other for row in chosen if row.gpnn for other in (row.plain, row.widened)}
    return [row for row in column.rows if row in chosen]


def _fits(pattern: str, column: Column, row: Row) -> bool:
    words = (column.dataset, row.method, row.scheme, row.interactions)
    parts = pattern.split("/")
    if len(parts) > len(words):
        raise InputError(
            f"{pattern!r} has more than four parts. Give dataset/method/scheme/interactions."
        )
    return all(
        fnmatchcase(word.lower(), part.lower() or "*")
        for part, word in zip(parts, words, strict=False)
    )
