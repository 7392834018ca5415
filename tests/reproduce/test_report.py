"""What a page says of its records."""

from __future__ import annotations

from typing import Any

from gpnn.reproduce.protocols import get_protocol
from gpnn.reproduce.report import to_markdown
from gpnn.reproduce.results import collect
from gpnn.reproduce.run_job import record_key
from gpnn.reproduce.tables import columns, make_job


def record(dataset: str, protocol: str, method: str, mean: float, std: float) -> dict[str, Any]:
    """A line of ``runs.jsonl``, as far as a page reads it."""
    rule = get_protocol(protocol)
    column = next(c for c in columns(TABLE[protocol]) if c.dataset == dataset)
    row = next(row for row in column.rows if row.title == method)
    key = record_key(make_job(dataset, row, rule.family, quick=False), rule)
    return {
        "key": key, "metric": "mae" if protocol == "zinc" else "accuracy", "mean": mean,
        "std": std, "error": std / 2, "values": [], "parameters": 1, "folds": 1, "seeds": 4,
        "commit": "c", "device": "d", "versions": {}, "seconds": 60.0,
    }  # fmt: skip


TABLE = {"zinc": "regression", "node": "node-classification"}
ZINC = ("ZINC-no-edge-features", "zinc")


def page(*records: dict[str, Any]) -> str:
    table = TABLE["zinc" if records and records[0]["metric"] == "mae" else "node"]
    return to_markdown(table, collect(table, {r["key"]: r for r in records}), "gpnn reproduce")


def section(text: str) -> str:
    return text.partition("## Below the paper")[2].partition("\n## ")[0]


def test_what_is_below_the_paper_is_listed() -> None:
    """The paper has 0.214 ± 0.018 for cross and 0.407 ± 0.028 for GIN; errors are better low."""
    cross = "GPNN core-degree cross on GIN"
    worse = section(page(record(*ZINC, cross, 0.257, 0.008), record(*ZINC, "GIN", 0.276, 0.014)))
    assert "1 of 2 figures" in worse
    assert f"| {cross} | 0.257 ± 0.008 | 0.214 ± 0.018 | 2.18 |" in worse
    assert "| GIN |" not in worse
    near = section(page(record(*ZINC, cross, 0.230, 0.010)))
    assert "0 of 1 figures" in near and "|" not in near
    assert section(page(record(*ZINC, "GIN (wide: core-degree)", 0.5, 0.1))) == ""


def test_a_control_is_called_one() -> None:
    said = "- `GPNN trivial cross on GIN`, not in the paper: one part"
    assert said in page(record(*ZINC, "GIN", 0.276, 0.014))
    assert said not in page(record("Wisconsin", "node", "GIN", 0.605, 0.01))


def test_accuracies_are_better_high() -> None:
    """The paper has 70.5 ± 1.6 for GIN on Wisconsin."""
    low = section(page(record("Wisconsin", "node", "GIN", 0.605, 0.01)))
    high = section(page(record("Wisconsin", "node", "GIN", 0.8, 0.01)))
    assert "| GIN | 60.50 ± 1.00 | 70.50 ± 1.60 | 5.30 |" in low and "0 of 1" in high
