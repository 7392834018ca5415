from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch

from gpnn import GPNNClassifier
from gpnn.data.planted import planted
from gpnn.data.samples import encode_samples
from gpnn.errors import InputError
from gpnn.explore.api import schemes
from gpnn.graph import registry
from gpnn.graph.partition import partition
from gpnn.train.describe_learned import tree_of
from gpnn.train.fit import fit
from gpnn.train.model_file import CARD, load_model
from gpnn.train.replica import Replica
from gpnn.train.setup import set_up
from gpnn.train.train_config import TrainConfig

pytestmark = pytest.mark.usefixtures("one_thread")

SMALL = {"scheme": "learned-3", "hidden": 8, "layers": 2}
CONFIG = TrainConfig(epochs=6, patience=6, batch_size=8, halve_every=3, device="cpu")


def test_a_learned_scheme_is_kept_with_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    samples = encode_samples(planted("core", 40))
    fitted = fit(samples, SMALL, CONFIG, folder=tmp_path)
    (told,) = fitted.loaded.about["learned"]
    name = fitted.loaded.config.structure.scheme
    assert told["scheme"] == name and name.startswith("learned-3-")
    assert sum(told["vertices"]) > 0 and len(told["vertices"]) == 3
    assert told["dead"] == ["ABCDEFGH"[j] for j, n in enumerate(told["vertices"]) if n == 0]
    assert 0 < told["fidelity"] <= 1 and "|---" in told["tree"]
    before = fitted.loaded.predict(samples)
    parts = partition(samples.graphs, name).part
    known = {k: v for k, v in registry._registry.items() if not k.startswith("learned-")}
    monkeypatch.setattr(registry, "_registry", known)  # as in another process
    with pytest.raises(InputError, match="There is no scheme"):
        partition(samples.graphs, name)
    loaded = load_model(tmp_path)
    assert torch.equal(loaded.predict(samples), before)
    assert np.array_equal(partition(samples.graphs, name).part, parts)
    assert name in [row["name"] for row in schemes()["schemes"]]  # the explorer offers it
    resumed = fit(samples, SMALL, CONFIG, folder=tmp_path)
    assert resumed.resumed == max(fitted.loaded.about["epochs"])
    text = (tmp_path / CARD).read_text()
    (tmp_path / CARD).write_text(
        text.replace('"learned": {"shift": [', '"learned": {"shift": [9, ')
    )
    with pytest.raises(InputError, match="damaged"):
        load_model(tmp_path)


def test_only_epochs_with_discrete_parts_are_kept() -> None:
    """Parts are soft for 60 % of the epochs; patience counts from their end."""
    samples = encode_samples(planted("none", 30))
    config = replace(CONFIG, epochs=10, patience=1)
    learned = fit(samples, SMALL, config)
    assert learned.best_epochs[0] >= 7 and len(learned.histories[0]) >= 7
    fixed = fit(samples, {**SMALL, "scheme": "core", "interactions": "edges"}, config)
    assert len(fixed.histories[0]) == fixed.best_epochs[0] + 1 < 7


def test_networks_side_by_side_learn_schemes_of_their_own() -> None:
    """What they learn alone: ``test_replica_equality.py``, in double precision."""
    together = fit(encode_samples(planted("core", 30)), SMALL, CONFIG, ensemble=2)
    names = [one.model.config.structure.scheme for one in together.loaded.members]
    assert len(set(names)) == 2


def test_test_graphs_do_not_change_where_learning_starts() -> None:
    """Of complete graphs in the test part nothing may be seen."""
    own = [nx.gnp_random_graph(12, 0.25, seed=k) for k in range(40)]
    replica = Replica(np.arange(30), np.arange(30, 40), np.arange(0), 0, 0.01, 0.0, 0.0)
    starts = []
    for others in ([nx.path_graph(8)] * 6, [nx.complete_graph(30)] * 6):
        samples, _ = GPNNClassifier().prepare([*own, *others], [0, 1] * 23)
        scheme = set_up(samples, SMALL, [replica]).network(replica).assignment.learned()
        starts.append(scheme)
    assert np.array_equal(starts[0].shift, starts[1].shift)
    assert np.array_equal(starts[0].scale, starts[1].scale)


def test_a_mixture_is_trained_annealed_and_kept(tmp_path: Path) -> None:
    samples = encode_samples(planted("core", 30))
    options = {**SMALL, "scheme": "mix:core,triangle"}
    together = fit(samples, options, CONFIG, ensemble=2, folder=tmp_path)
    first, second = together.loaded.about["mixture"]
    assert first["schemes"] == ["core", "triangle"] and first != second
    assert np.allclose(np.sum(first["weights"], 1), 1, atol=1e-3) and len(first["weights"]) == 3
    assert 0.02 <= first["temperature"] < 1
    alone = fit(samples, options, CONFIG)
    members = together.loaded.predict_members(samples)
    assert torch.allclose(members[0], alone.loaded.predict(samples), atol=1e-4)
    loaded = load_model(tmp_path)
    assert torch.equal(loaded.predict_members(samples), members)
    assert loaded.model.temperature < 1


def test_a_tree_imitates_what_a_tree_can() -> None:
    rng = np.random.default_rng(0)
    cells = np.unique(rng.integers(0, 6, (60, 6)), axis=0)
    weight = rng.integers(1, 9, len(cells))
    text, fidelity = tree_of(cells, (cells[:, 1] > 3).astype(np.int64), weight)
    assert fidelity == 1.0
    assert "core <=" in text and "part B" in text
    noise = tree_of(cells, rng.integers(0, 2, len(cells)), weight)[1]
    assert noise < 1.0
