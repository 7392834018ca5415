"""Collections of graphs that are hard to distinguish, and how many a method distinguishes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

import numpy as np

from ..data.catalogue import DATASETS
from ..data.datasets import find, load_graphs
from ..errors import InputError
from ..graph.graphs import Graphs
from .methods import TESTS, Method

__all__ = [
    "BREC_PAIRS",
    "GIN",
    "QUOTED_BREC",
    "SUITES",
    "Suite",
    "about_result",
    "columns_of",
    "load_suite",
    "method_of",
    "quoted_of",
    "quoted_rows",
    "run_suite",
    "to_markdown",
]

GIN = "gin"
"""The test name in rows of a GIN without GPNN, which distinguishes no pair of BREC."""

BREC_PAIRS = 400
# Published figures for comparison, of all pairs; quoted, not measured here.
QUOTED_BREC = {
    "1-WL": 0,
    "NGNN": 166,
    "DSS-GNN": 221,
    "GNN-AK": 222,
    "PPGN": 233,
    "3-WL": 270,
    "KP-GNN": 275,
    "I²-GNN": 281,
    "N²-GNN": 287,
}

_PEERS = {"esan": "DSS-GNN", "gin-ak": "GNN-AK", "kp-gin": "KP-GNN", "ppgn": "PPGN"}
_WITHIN_3WL = ("esan", "gin-ak")

SUITES = {
    "atlas": "all 1,252 graphs of 1 to 7 vertices",
    "brec": "400 pairs in six categories, from easy to beyond 3-WL",
    "csl": "150 circular skip link graphs in 10 isomorphism classes",
    "sr": "eight families of strongly regular graphs, compared inside each family",
    "exp": "600 pairs that 1-WL cannot distinguish",
    "cexp": "600 pairs, half of which 1-WL distinguishes",
    "graph8c": "all 11,117 connected graphs of 8 vertices",
}

_PAIRED = ("brec", "exp", "cexp")


@dataclass(frozen=True)
class Suite:
    """Graphs to distinguish: pairs (2p, 2p + 1), or all graphs of a category from each other."""

    name: str
    graphs: Graphs
    categories: tuple[str, ...]
    paired: bool

    @property
    def size(self) -> int:
        """Number of pairs of a paired suite, number of graphs of any other."""
        return len(self.categories)

    @property
    def digest(self) -> str:
        """A hash of the graphs."""
        total = hashlib.sha256()
        for array in (self.graphs.ptr, self.graphs.indptr, self.graphs.indices):
            total.update(array.tobytes())
        return total.hexdigest()[:16]


def load_suite(name: str, data: str | None = None) -> Suite:
    """Read a suite; all except ``atlas`` come from the data folder."""
    if name not in SUITES:
        raise InputError(f"There is no suite '{name}'. Choose one of: {', '.join(SUITES)}.")
    if name == "sr":
        families = [entry for entry in DATASETS if entry.startswith("sr")]
        sets = [load_graphs(family, data) for family in families]
        labels = [f for f, graphs in zip(families, sets, strict=True) for _ in range(len(graphs))]
        return Suite(name, Graphs.concatenate(sets), tuple(labels), False)
    graphs = load_graphs(name, data)
    if name == "atlas":
        graphs = Graphs.concatenate([graphs[g] for g in range(1, len(graphs))])
    count = len(graphs) // 2 if name in _PAIRED else len(graphs)
    categories = (name,) * count
    if name == "brec":
        path = find("BREC", data).with_name("brec_category.txt")
        categories = tuple(path.read_text(encoding="utf-8").split())
        if len(categories) != count:
            raise InputError(f"{path} names {len(categories)} categories for {count} pairs.")
    return Suite(name, replace(graphs, graph_names=None), categories, name in _PAIRED)


def run_suite(
    suite: Suite,
    methods: Sequence[Method],
    progress: Callable[[Method], None] = lambda _: None,
) -> dict[str, Any]:
    """The number of pairs that each method distinguishes, or the number of classes of graphs."""
    count = "distinguished" if suite.paired else "classes"
    results = []
    for method in methods:
        progress(method)
        sameness = method.sameness(suite.graphs)
        by_category: dict[str, int] = {}
        for category in dict.fromkeys(suite.categories):
            chosen = np.flatnonzero(np.array(suite.categories) == category)
            if suite.paired:
                differ = sameness.digest[2 * chosen] != sameness.digest[2 * chosen + 1]
                known = sameness.exact[2 * chosen] & sameness.exact[2 * chosen + 1]
                by_category[category] = int((differ.any(axis=1) & known).sum())
            else:
                by_category[category] = len(np.unique(sameness.digest[chosen], axis=0))
        row: dict[str, Any] = {**method.as_row(), count: sum(by_category.values())}
        if not sameness.exact.all():
            row["unknown"] = int((~sameness.exact).sum())
        results.append({**row, "by_category": by_category})
    return {
        "suite": suite.name,
        "pairs" if suite.paired else "graphs": suite.size,
        "results": results,
    }


def method_of(row: dict[str, Any]) -> str:
    """The display name of a row of results."""
    if row["test"] == GIN:
        return "GIN alone (control)"
    if row["test"] not in TESTS:  # a peer
        return str(row["test"])
    kind = row["test"], row["scheme"], row["interactions"], row["d"], row.get("distances", False)
    return str(Method(*kind))


def quoted_of(model: str, pairs: int) -> dict[str, int | None]:
    """Pairs of BREC for a peer: the published count of the method, with the settings of its
    authors, and what 3-WL distinguishes where it is a bound, for methods with a subgraph per vertex
    (Frasca et al. 2022). Nothing is quoted beside a part of BREC."""
    if pairs != BREC_PAIRS:
        return {"published": None, "bound": None}
    bound = QUOTED_BREC["3-WL"] if model in _WITHIN_3WL else None
    return {"published": QUOTED_BREC.get(_PEERS.get(model.partition(":")[0], "")), "bound": bound}


def about_result(result: dict[str, Any]) -> str:
    """What the suite is, or which of its categories were run."""
    if result.get("categories"):
        return f"{result['pairs']} pairs, {', '.join(result['categories'])}"
    return SUITES[result["suite"]]


def quoted_rows(result: dict[str, Any]) -> dict[str, int]:
    """Published counts to show beside a result; none unless it covers all pairs of BREC."""
    return QUOTED_BREC if result["suite"] == "brec" and result["pairs"] == BREC_PAIRS else {}


def columns_of(row: dict[str, Any], rows: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Further columns of a row of networks: the exact refinement, the untrained network, failures
    of reliability, and, if there are any in ``rows``, pairs that are too large for a method."""
    if "exact" not in row:
        return {}
    shown = {name: row[name] for name in ("exact", "untrained", "unreliable")}
    if any(one.get("refused") for one in rows):
        shown["refused"] = len(row.get("refused", ()))
    return {name: "—" if value is None else str(value) for name, value in shown.items()}


def to_markdown(result: dict[str, Any], command: str) -> str:
    """The results of a suite as a Markdown page, with published figures if there are any."""
    count = "distinguished" if "pairs" in result else "classes"
    total = result.get("pairs", result.get("graphs"))
    rows = result["results"]
    more = list(columns_of(rows[0], rows)) if rows else []
    name = "trained" if more else count
    categories = list(rows[0]["by_category"]) if rows else []
    if len(categories) < 2:
        categories = []
    head = [
        "method",
        f"{name} of {total:,}",
        *more,
        *categories,
    ]
    lines = [
        f"# {result['suite']}: {about_result(result)}",
        "",
        f"Made by `{command}` on {date.today().isoformat()}.",
        "",
        f"| {' | '.join(head)} |",
        f"|---{'|---:' * (len(head) - 1)}|",
    ]
    for row in rows:
        cells = [method_of(row), f"**{row[count]:,}**", *columns_of(row, rows).values()]
        lines.append(
            f"| {' | '.join([*cells, *(str(row['by_category'][c]) for c in categories)])} |"
        )
    empty = " |" * (len(head) - 2)
    quoted = quoted_rows(result)
    lines += [f"| {name} (quoted) | {figure} |{empty}" for name, figure in quoted.items()]
    return "\n".join(lines) + "\n"
