"""The engine's bench: rows as documented, and bytes that are really counted. Never timings."""

from __future__ import annotations

import json

import pytest
import torch
from typer.testing import CliRunner

from gpnn.bench import engine as bench
from gpnn.bench import step
from gpnn.bench.pyg_gin import PyGGIN, pyg_run
from gpnn.cli import app
from gpnn.data.samples import load_samples
from gpnn.errors import InputError
from gpnn.train.replica import Replica, Schedule
from gpnn.train.setup import set_up
from gpnn.train.stage import stage
from gpnn.train.trainer import Trainer
from train.sets import samples

CPU = torch.device("cpu")


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(bench, "CASES", (bench.Case("tu", "MUTAG", 8, 4, (1, 2)),))
    monkeypatch.setattr(bench, "_effort", lambda *_: bench.Effort(2, 1, (1, 2)))
    monkeypatch.setattr(bench, "PROFILED", 2)
    monkeypatch.setattr(bench, "LAYERS", 2)
    monkeypatch.setitem(step.COPIED, "cpu", 2**20)


@pytest.mark.usefixtures("small", "one_thread")
def test_rows_and_report():
    result = bench.run_engine_bench("cpu")
    found = [(row["model"], row["way"], row["replicas"]) for row in result["rows"]]
    assert found == [
        ("gin", "eager", 1), ("gin", "pyg", 1), ("gin", "engine", 1), ("gin", "engine", 2),
        ("cross", "eager", 1), ("cross", "engine", 1), ("cross", "engine", 2),
        ("edges", "eager", 1), ("edges", "engine", 1), ("edges", "engine", 2),
        ("pairwise", "eager", 1), ("pairwise", "engine", 1), ("pairwise", "engine", 2),
    ]  # fmt: skip
    for row in result["rows"]:
        graphs = row["replicas"] * row["batch"] / row["step_seconds"]
        assert row["graphs_per_second"] == pytest.approx(graphs)
        assert row["ratio"] > 0 and (row["way"] != "eager" or row["ratio"] == 1)
        assert (row["times_pyg"] is None) == (row["model"] != "gin")
    assert [row["model"] for row in result["steps"]] == ["gin", "cross", "edges", "pairwise"]
    for row in result["steps"]:
        assert list(row["parts"]) == ["forward", "backward", "optimiser", "assemble"]
        assert row["floor_seconds"] > 0 and row["kernels"] is None
    gin, _, edges, _ = (row["bytes"] for row in result["steps"])
    assert gin["activations"] < edges["activations"]
    json.dumps(result, allow_nan=False)
    page = bench.to_markdown(result, "gpnn bench engine")
    assert "Made by `gpnn bench engine`" in page and "| tu | edges | engine | 2 |" in page


@pytest.mark.usefixtures("small", "one_thread")
def test_what_is_absent_or_too_large_is_said(monkeypatch):
    monkeypatch.setattr(bench, "MODELS", {"gin": bench.MODELS["gin"]})
    cases = (
        bench.Case("tu", "MUTAG", 8, 4, (1, 2)),
        bench.Case("molecules", "ogbg-molhiv", 8, 4, (1, 2)),
    )
    monkeypatch.setattr(bench, "CASES", cases)
    monkeypatch.setattr(bench, "locate", lambda name, _: None if name == "ogbg-molhiv" else "here")

    def full(staged, device):
        if len(staged.replicas) == 2:
            raise torch.OutOfMemoryError
        return Trainer(staged, device)

    monkeypatch.setattr(bench, "Trainer", full)
    result = bench.run_engine_bench("cpu")
    assert result["left_out"] == ["molecules"]
    assert result["rows"][-1]["ratio"] is None and not result["steps"]
    page = bench.to_markdown(result, "x")
    assert "does not fit" in page and "`molecules`: left out" in page
    assert bench.run_engine_bench("cpu", quick=True)["left_out"] == ["molecules"]
    with pytest.raises(InputError, match="188 graphs are too few for batches of 500"):
        bench._replica(load_samples("MUTAG"), 500, 0)
    with pytest.raises(InputError, match="cannot be used"):
        bench.run_engine_bench("abacus")


def test_the_floor_counts_parameters_and_what_the_gradient_needs():
    data = samples()
    replicas = [Replica(range(10), [], [10], seed=seed) for seed in range(3)]
    setup = set_up(data, {"base": "gin", "gpnn": False, "hidden": 4, "layers": 2}, replicas)
    made = []

    def make():
        schedule = Schedule(epochs=1, batch_size=5, steps=2)
        made.append(Trainer(stage(setup, replicas, schedule, resident=True), CPU))
        return made[-1]

    engine = make()
    before = engine.adam.value.clone()
    found = step.floor_bytes(engine)
    assert found["parameters"] == 3 * engine.parameters * 4 * 6
    vertices = engine.source.batches.batch(engine.source.plan[0]).features.shape[1]
    assert found["activations"] > 2 * 3 * vertices * 4 * 4 * 2  # one row a vertex, layer and map
    assert torch.equal(engine.adam.value, before)


@pytest.mark.usefixtures("one_thread")
def test_a_step_cut_short_leaves_out_what_follows():
    data = samples("regression")
    replicas = [Replica(range(10), [], [10], seed=seed) for seed in range(2)]
    setup = set_up(data, {"hidden": 4, "layers": 2}, replicas)
    made = []

    def make():
        schedule = Schedule(epochs=1, batch_size=5, steps=2)
        made.append(Trainer(stage(setup, replicas, schedule, resident=True), CPU))
        return made[-1]

    engine = make()
    before = engine.adam.value.clone()
    for last in (1, 2):
        engine.step.zero_()
        step._beginning(engine, last)()
        assert engine.step.item() == 1 and torch.equal(engine.adam.value, before)
    found = step.breakdown(make, 2, 1)
    assert found["seconds"] > 0
    assert [torch.equal(one.adam.value, before) for one in made[1:]] == [True] * 2 + [False] * 2
    *_, learned, whole = made
    whole.step.zero_()
    whole.source.reset(whole.step)
    whole.train_step()
    assert torch.equal(
        learned.source.current[0].graph_id, engine.source.plan[0]
    )  # only a whole step moves on
    assert torch.equal(whole.source.current[0].graph_id, engine.source.plan[1])
    assert not torch.equal(engine.source.plan[0], engine.source.plan[1])


@pytest.mark.usefixtures("one_thread")
def test_the_yardstick_learns():
    data = load_samples("MUTAG")
    setup = set_up(data, {"base": "gin", "gpnn": False, "hidden": 8}, [Replica([0], [], [])])
    stream = Schedule(batch_size=16).batches(Replica(range(64), [], []), 0, 4)
    losses = []
    plain = data.task.loss

    class Watched:
        def loss(self, outputs, y):
            assert outputs.shape == (16, 2)
            value = plain(outputs, y)
            losses.append(value.item())
            return value

    watched = type(data)(**{**vars(data)})
    object.__setattr__(watched, "encoder", type("E", (), {"task": Watched()})())
    torch.manual_seed(0)
    run = pyg_run(watched, stream, setup.config, 0.0, CPU)
    for _ in range(15):
        run()
    assert sum(losses[-4:]) < 0.8 * sum(losses[:4])
    net = PyGGIN(7, 8, 3, 2, 0.5)
    ours = sum(p.numel() for p in setup.network(Replica([0], [], [])).parameters())
    # theirs has a bias where ours has a row for unseen labels
    assert sum(p.numel() for p in net.parameters()) == ours


def test_the_command(monkeypatch, tmp_path):
    result = {
        "rows": [], "steps": [], "workloads": {}, "left_out": ["molecules"], "device": "a CPU",
        "captured": False, "threads": 1, "bytes_per_second": 1e9,
    }  # fmt: skip
    asked = []
    monkeypatch.setattr(bench, "run_engine_bench", lambda *given: asked.append(given) or result)
    page = tmp_path / "engine.md"
    given = ["bench", "engine", "--quick", "--device", "cpu", "--json", "--out", str(page)]
    done = CliRunner().invoke(app, given)
    assert done.exit_code == 0 and json.loads(done.stdout) == result
    assert asked[0][:2] == ("cpu", True)
    assert "gpnn bench engine --device cpu --quick" in page.read_text()
