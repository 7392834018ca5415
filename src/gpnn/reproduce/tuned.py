"""The fair comparison of GPNN, GPNN with one part, the base GNN, and the base GNN with as many
parameters. Each has the recipe of its own search, in the same space with the same number of trials.

The recipes of the table ``tuned`` are ``recipes/tuned/DATASET/MODEL.toml``; the recipe that the
searches of a dataset started from is next to its folder.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

from .jobs import GPNN_ALONE, Row
from .recipe import Recipe, read_recipe
from .search import Searched, run_search
from .search_trial import Search

__all__ = ["TUNED", "compared_rows", "run_searches", "tuned_recipe", "tuned_rows"]

TUNED = {
    "ZINC-no-edge-features": "zinc",
    "ZINC-edge-features": "zinc",
    "ogbg-moltox21": "ogb",
    "ogbg-moltoxcast": "ogb",
    "ogbg-molhiv": "ogb",
}
"""The datasets of the table, and their protocols."""

GPNN_ROW = Row("GIN", "core-degree", "cross")


def compared_rows(row: Row) -> dict[str, Row]:
    """Return a GPNN and the models it is compared with, by the names of their files. GPNN comes
    first because the widened base matches its number of parameters."""
    return {
        "GPNN": row,
        "GPNN-trivial": replace(row, scheme="trivial"),
        row.plain.method: row.plain,
        row.widened.method: row.widened,
    }


def tuned_rows(dataset: str) -> list[Row]:
    """Return the models of the table that have a recipe."""
    rows = compared_rows(GPNN_ROW).values()
    return [row for row in rows if tuned_recipe(dataset, row) is not None]


def tuned_recipe(dataset: str, row: Row) -> Recipe | None:
    """Return the recipe that the search of a model on a dataset found, or ``None``."""
    name = next((name for name, own in compared_rows(GPNN_ROW).items() if own == row), None)
    with resources.as_file(resources.files(__package__) / "recipes" / "tuned") as folder:
        path = folder / dataset / f"{name}.toml"
        return read_recipe(path) if path.is_file() else None


def run_searches(
    search: Search,
    out: Path,
    minutes: float | None = None,
    began: Callable[[Search], None] = lambda _: None,
    **options: Any,
) -> dict[str, Searched]:
    """Run the searches of a GPNN and of the models it is compared with, one folder each.

    All use the space, the trials and the models of ``search``, without fields that have no effect
    on a base GNN. Searches that do not finish within ``minutes`` can be resumed.
    """
    end = None if minutes is None else time.time() + 60 * minutes
    results: dict[str, Searched] = {}
    for name, row in compared_rows(search.row).items():
        recipe, space = search.recipe, search.space
        if row.wide:
            best = results["GPNN"].best
            if best is None or best.parameters is None:
                break
            recipe = replace(recipe, parameters=best.parameters)
        if not row.gpnn:
            space = space.without(*GPNN_ALONE)
        own = replace(search, recipe=recipe, row=row, space=space)
        began(own)
        left = None if end is None else (end - time.time()) / 60
        if left is not None and left <= 0:
            break
        results[name] = run_search(own, out / name, left, **options)
        if not results[name].complete:
            break
    return results
