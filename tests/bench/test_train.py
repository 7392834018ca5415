"""The bench of training: rows as documented, and both loops really train. Never timings."""

from __future__ import annotations

import json

import pytest
import torch
from typer.testing import CliRunner

from gpnn.bench import train as bench
from gpnn.cli import app
from gpnn.data.samples import load_samples
from gpnn.train.replica import Schedule
from gpnn.train.setup import set_up

pytestmark = pytest.mark.usefixtures("one_thread")
CPU = torch.device("cpu")


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(bench, "CASES", {"cpu": (bench.Case("few", "MUTAG", 40, 150),)})
    monkeypatch.setattr(bench, "HIDDEN", 4)
    monkeypatch.setattr(bench, "ENSEMBLE", 2)


@pytest.mark.usefixtures("small")
def test_rows_and_page(tmp_path):
    page = tmp_path / "train.md"
    given = ["bench", "train", "--quick", "--device", "cpu", "--json", "--out", str(page)]
    done = CliRunner().invoke(app, given)
    assert done.exit_code == 0, done.output
    result = json.loads(done.stdout)
    plain, one, several = result["rows"]
    assert [row["models"] for row in result["rows"]] == [1, 1, 2]
    assert {row["device"] for row in result["rows"]} == {"cpu"}
    assert plain["ratio"] == 1
    assert one["ratio"] == pytest.approx(plain["seconds"] / one["seconds"])
    assert several["ratio"] == pytest.approx(2 * plain["seconds"] / several["seconds"])
    assert several["times_one"] == pytest.approx(several["seconds"] / one["seconds"])
    assert "gpnn bench train --device cpu --quick" in page.read_text()
    assert "| few | gpnn train --ensemble 2 | 2 |" in page.read_text()


def test_what_is_absent_is_said(monkeypatch):
    monkeypatch.setattr(bench, "locate", lambda *_: None)
    result = bench.run_train_bench("cpu")
    assert result["rows"] == [] and result["left_out"] == ["MUTAG", "1,000 molecules"]
    assert "`MUTAG`: left out" in bench.to_markdown(result, "x")


@pytest.mark.usefixtures("small")
def test_both_loops_take_the_same_steps():
    """After one epoch without dropout the weights of both agree."""
    samples = load_samples("MUTAG")
    replica = bench._replica(len(samples), 40, 0)
    replica = type(replica)(replica.train, replica.valid, replica.test)
    setup = set_up(samples, {"hidden": 4, "layers": 2}, [replica])
    schedule = Schedule(epochs=1, batch_size=8, halve_every=None)
    plain = bench._plain(setup, replica, schedule, CPU)
    ours = bench._trainer(setup, [replica], schedule, CPU)
    plain(), ours()
    loop = next(c.cell_contents for c in plain.__closure__ if hasattr(c.cell_contents, "adam"))
    trainer = next(c.cell_contents for c in ours.__closure__ if hasattr(c.cell_contents, "staged"))
    theirs = dict(loop.net.named_parameters())
    for name, value in trainer.net.named_parameters():
        torch.testing.assert_close(value, theirs[name], rtol=1e-3, atol=1e-4)
