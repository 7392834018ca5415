"""Training on blocks of one graph: from a file to a model and its answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from typer.testing import CliRunner, Result

from gpnn.cli import app
from gpnn.data.node_file import read_node_file
from gpnn.data.samples import load_samples
from gpnn.errors import InputError
from gpnn.train.fit import fit
from gpnn.train.train_config import TrainConfig

pytestmark = pytest.mark.usefixtures("one_thread")


def arrays(seed: int = 0) -> dict[str, Any]:
    """Two communities, of which the features tell half."""
    graph = nx.planted_partition_graph(2, 60, 0.12, 0.01, seed=seed)
    y = np.repeat([0, 1], 60)
    rng = np.random.default_rng(seed)
    x = np.stack([y + rng.normal(size=120), rng.normal(size=120)], 1)
    part = rng.permutation(120)
    masks = {"train_mask": part < 60, "val_mask": (part >= 60) & (part < 80),
             "test_mask": part >= 80}  # fmt: skip
    return {"edge_index": np.array(graph.edges).T, "x": x, "y": y, **masks}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "graph.npz"
    np.savez(path, **arrays())
    return path


def run(*words: str, fails: str | None = None) -> Result:
    result = CliRunner().invoke(app, list(words))
    if fails is None:
        assert result.exit_code == 0, (result.output, result.exception)
    else:
        assert isinstance(result.exception, InputError)
        assert fails in str(result.exception)
    return result


def test_training_on_blocks_learns_and_is_the_same_every_time(file: Path) -> None:
    samples = load_samples(str(file), nodes=True)
    config = TrainConfig(epochs=12, batch_size=20, fanout=(6, 4), device="cpu")
    model = {"layers": 1, "hidden": 16, "scheme": "core"}
    one, two = (fit(samples, model, config) for _ in range(2))
    assert one.metrics["test"]["accuracy"] > 0.8
    assert one.history == two.history
    other = fit(samples, model, TrainConfig(epochs=12, batch_size=20, fanout=(2, 1), device="cpu"))
    assert other.history != one.history
    assert torch.equal(one.loaded.predict(samples), two.loaded.predict(samples))


def test_large_graphs_are_answered_from_blocks(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With all neighbours they give what the whole graph gives; with few they do not."""
    samples = load_samples(str(file), nodes=True)
    model = {"layers": 1, "hidden": 8, "scheme": "core"}
    for fanout, equal in (((-1, -1), True), ((2, 1), False)):
        config = TrainConfig(epochs=2, batch_size=60, fanout=fanout, device="cpu")
        loaded = fit(samples, model, config).loaded
        assert loaded.fanout == fanout
        whole = loaded.predict(samples)
        with monkeypatch.context() as patch:
            patch.setattr("gpnn.train.model_file.EXACT", 100)
            patch.setattr("gpnn.train.model_file.ROOTS", 50)
            blocks, again = loaded.predict(samples), loaded.predict(samples)
        assert torch.equal(blocks, again)
        assert torch.allclose(blocks, whole, atol=1e-5) == equal


def test_the_command_line_trains_predicts_and_resumes(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "model"
    words = ("train", str(file), "--nodes", "--batch-size", "20", "--fanout", "5", "3", "--epochs",
             "3", "--hidden", "8", "--device", "cpu", "--out", str(out), "--json")  # fmt: skip
    first = json.loads(run(*words).stdout)
    assert json.loads((out / "model.json").read_text())["about"]["run"]["train"]["fanout"] == [5, 3]
    assert json.loads(run(*words).stdout)["metrics"] == first["metrics"]
    run("predict", str(out), str(file), "--out", str(tmp_path / "answers.csv"))
    assert len((tmp_path / "answers.csv").read_text().splitlines()) == 121


@pytest.mark.parametrize(
    ("edges", "words", "threads"),
    [(10**6, [], [1]), (10, [], [1, 6]), (10, ["--threads", "2"], [2])],
)
def test_large_graphs_take_a_thread_per_core(
    file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    edges: int,
    words: list[str],
    threads: list[int],
) -> None:
    asked: list[int] = []
    monkeypatch.setattr("gpnn.cli.train.MANY_EDGES", edges)
    monkeypatch.setattr("gpnn.cli.train.use_threads", asked.append)
    monkeypatch.setattr("os.cpu_count", lambda: 6)
    run("train", str(file), "--nodes", "--epochs", "1", "--hidden", "4", "--layers", "1",
        "--device", "cpu", "--out", str(tmp_path / "model"), *words)  # fmt: skip
    assert asked == threads


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--fanout", "5", "3", "2"], "fanout has 3 numbers, and 1 layer looks 2 hops far"),
        (["--fanout", "5", "3", "--layers", "2"], "fanout has 2 numbers, and 2 layers look 4 hops"),
        (["--fanout", "5", "0"], "fanout must be"),
        (["--fanout", "many"], "--fanout takes whole numbers"),
        (["--fanout", "5", "3", "--base", "gat"], "fanout needs the base gin, sage or none"),
    ],
)
def test_what_cannot_be_drawn_is_refused(
    file: Path, tmp_path: Path, words: list[str], said: str
) -> None:
    out = tmp_path / "none"
    run("train", str(file), "--nodes", "--epochs", "1", "--out", str(out), *words, fails=said)
    assert not out.exists()


def test_graphs_have_no_fanout(tmp_path: Path) -> None:
    run("train", "MUTAG", "--epochs", "1", "--fanout", "5", "3", "--out", str(tmp_path / "none"),
        fails="fanout is for vertices of one graph")  # fmt: skip


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"y": None}, "has no array y"),
        ({"y": np.zeros(3, int), "num_nodes": 120}, "120 vertices, and y has shape (3,)"),
        ({"y": np.full(120, 0.5)}, "classes in y"),
        ({"x": np.zeros(120)}, "x must hold numbers in the shape [vertices, features]"),
        ({"val_mask": None}, "give all of train_mask, val_mask, test_mask, or none"),
    ],
)
def test_files_that_hold_no_vertices_to_learn(
    tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    path = tmp_path / "graph.npz"
    held = {name: value for name, value in (arrays() | change).items() if value is not None}
    np.savez(path, **held)
    with pytest.raises(InputError) as caught:
        read_node_file(path)
    assert said in str(caught.value)


def test_classes_may_be_unknown_and_features_absent(tmp_path: Path) -> None:
    path = tmp_path / "graph.npz"
    held = arrays()
    held["y"][5] = -1
    np.savez(path, edge_index=held["edge_index"], y=held["y"])
    raw = read_node_file(path)
    assert np.isnan(raw.targets["y"][5]) and raw.split is None and raw.node_level
    assert (raw.nodes[:, 0] == raw.graphs.degree).all()
    with pytest.raises(InputError, match=r"read from a \.npz"):
        read_node_file(tmp_path / "graph.csv")
