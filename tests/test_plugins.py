"""Schemes, bases and datasets of users, from a file, in every command and in their processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gpnn.errors import InputError
from gpnn.plugins import load_plugin

PLUGIN = """
import networkx as nx
from torch import nn
import gpnn

gpnn.register_scheme("parity", lambda graphs: graphs.degree % 2)


class Sums(nn.Module):
    def __init__(self, inputs, hidden, layers, dropout):
        super().__init__()
        self.map, self.out_channels = nn.Linear(inputs, hidden), hidden

    def forward(self, x, edge_index):
        return self.map(x.index_add(0, edge_index[1], x[edge_index[0]])).relu()


gpnn.register_base("sums", Sums)
gpnn.register_dataset("rings", lambda: (
    [nx.lollipop_graph(3 + k % 3, 3) if k % 2 else nx.cycle_graph(5 + k % 4) for k in range(40)],
    [k % 2 for k in range(40)],
))
"""


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "mine.py"
    file.write_text(PLUGIN)
    return file


def gpnn(*words: str) -> subprocess.CompletedProcess[str]:
    """In a process of its own: what is registered stays there."""
    environment = {k: v for k, v in os.environ.items() if k not in ("GPNN_DATA", "GPNN_PLUGINS")}
    return subprocess.run([sys.executable, "-m", "gpnn", *words], capture_output=True, text=True,
                          env=environment, timeout=300)  # fmt: skip


def test_train_predict_and_explain_with_everything_of_ones_own(plugin: Path) -> None:
    options = ("--base", "sums", "--scheme", "parity", "--epochs", "3", "--hidden", "8")
    trained = gpnn("train", "rings", "--plugin", plugin.name, *options, "--out", "m", "--json")
    assert trained.returncode == 0, trained.stderr
    config = json.loads(trained.stdout)["config"]
    assert (config["base"], config["structure"]["scheme"]) == ("sums", "parity")
    told = gpnn(f"--plugin={plugin}", "predict", "m", "rings:3", "--json")
    assert told.returncode == 0 and len(json.loads(told.stdout)["rows"]) == 1
    without = gpnn("predict", "m", "MUTAG:3")
    assert without.returncode == 2 and "Unknown base 'sums'" in without.stderr


def test_reproduce_takes_a_column_and_a_row(plugin: Path) -> None:
    added = ("--plugin", plugin.name, "--dataset", "rings", "--base", "sums")
    done = gpnn("reproduce", "graph-classification", "--only", "rings/sums", *added, "--quick",
                "--jobs", "2", "--out", "r")  # fmt: skip
    assert done.returncode == 0, done.stderr
    page = Path("r/graph-classification.md").read_text()
    row = next(line for line in page.splitlines() if line.startswith("| sums |"))
    header = next(line for line in page.splitlines() if line.startswith("| method |"))
    cells = dict(zip(header.split("|"), row.split("|"), strict=True))
    assert "±" in cells[" rings "]
    records = [json.loads(line) for line in Path("r/runs.jsonl").read_text().splitlines()]
    assert {(one["dataset"], one["method"]) for one in records} == {("rings", "sums")}
    wrong = gpnn("reproduce", "node-classification", *added, "--quick")
    assert "rings belongs to the table graph-classification" in wrong.stderr


def test_files_that_are_no_plugins(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"There is no plugin .*nowhere.py"):
        load_plugin(tmp_path / "nowhere.py")
    broken = tmp_path / "broken.py"
    broken.write_text("x = 1\ny = 1 / 0\n")
    with pytest.raises(InputError, match=r"broken.py failed, line 2: ZeroDivisionError"):
        load_plugin(broken)
    torn = tmp_path / "torn.py"
    torn.write_text("def f(:\n")
    with pytest.raises(InputError, match=r"torn.py failed, line 1: SyntaxError"):
        load_plugin(torn)
    taken = tmp_path / "taken.py"
    taken.write_text("import gpnn\ngpnn.register_dataset('MUTAG', 'x.csv')\n")
    with pytest.raises(InputError, match=r"taken.py was refused: MUTAG is a built-in dataset"):
        load_plugin(taken)
