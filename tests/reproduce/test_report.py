"""What a page says of its records."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import ttest_rel

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


def test_figures_of_another_version_are_marked() -> None:
    gin, cross = (
        {**record(*ZINC, title, mean, 0.01), "versions": {"gpnn": version}}
        for title, mean, version in (
            ("GIN", 0.276, "0.2.0"), ("GPNN core-degree cross on GIN", 0.2, "0.1.0")
        )
    )  # fmt: skip
    text = page(gin, cross)
    assert "| GPNN core-degree cross on GIN | 0.200 ± 0.010 † (0.214" in text
    assert "†: trained with gpnn 0.1.0" in text and "0.276 ± 0.010 (" in text
    assert "†" not in page(gin, {**cross, "versions": {"gpnn": "0.2.0"}})


def test_significant_gains_are_listed() -> None:
    """Two models of ten seeds, a clear gain and noise, against SciPy's paired test."""
    rng = np.random.default_rng(1)
    base = 0.28 + rng.normal(0, 0.01, 10)
    for shift, count in ((-0.05, "1 of 1"), (0.0, "none of 1")):
        ours = base + shift + rng.normal(0, 0.01, 10)
        made = [
            {**record(*ZINC, title, float(own.mean()), 0.01), "data": "x",
             "values": [{"fold": 0, "seed": k, "value": v, "epoch": 1} for k, v in enumerate(own)]}
            for title, own in (("GIN", base), ("GPNN core-degree cross on GIN", ours))
        ]  # fmt: skip
        found = page(*made).partition("## Significant gains")[2].partition("\n## ")[0]
        assert f"- `zinc`: {count}." in found
        if shift:
            gain = f"{(base - ours).mean():+.3f} ± {(base - ours).std(ddof=1) / 10**0.5:.3f}"
            assert ttest_rel(ours, base).pvalue < 0.001
            assert f"| the base GNN | {gain} | < 0.001 |" in found
