"""The bench of the peers: rows as documented. Never timings."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from gpnn.bench import methods as bench
from gpnn.cli import app
from gpnn.nn.peers import PEERS


@pytest.mark.usefixtures("one_thread")
def test_rows_and_report(monkeypatch: pytest.MonkeyPatch) -> None:
    case = bench.Case("few", ("no-such-set", "MUTAG"), 8, {"lrp": "depth=11,width=2"})
    monkeypatch.setattr(bench, "CASES", (case,))
    monkeypatch.setattr(bench, "SAMPLE", 20)
    monkeypatch.setattr(bench, "HIDDEN", 4)
    monkeypatch.setattr(bench, "locate", lambda name, _: None if name == "no-such-set" else name)
    found = CliRunner().invoke(app, ["bench", "peers", "--device", "cpu", "--quick", "--json"])
    result = json.loads(found.stdout)
    rows = {row["method"]: row for row in result["rows"]}
    names = ["gin", "gpnn linear", "gpnn pairwise", *PEERS]
    assert list(rows) == names and result["workloads"]["few"].startswith("8 graphs of MU")
    assert rows["gin"]["seconds_ratio"] == rows["gin"]["memory_ratio"] == 1
    assert rows["gin"]["model"] == "gine"  # bonds are read by all
    assert "depth" in rows["lrp"]["note"] and rows["lrp"]["seconds_ratio"] is None
    others = [row for name, row in rows.items() if name != "lrp"]
    assert all(row["seconds"] > 0 and row["memory"] > 0 for row in others)
    assert rows["ppgn"]["memory_ratio"] > rows["graphsnn"]["memory_ratio"]
    page = bench.to_markdown(result, "gpnn bench peers --quick")
    assert page.count("| cin |") == 1 and "lrp:depth=11" in page
