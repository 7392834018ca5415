from __future__ import annotations

import re
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
from gpnn.graph.convert import as_graphs
from gpnn.graph.learned import PROFILE, part_name, profile
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
    assert first["temperature"] == pytest.approx(0.02)
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
    assert text == "|--- core < 4\n|   |--- part A\n|--- core >= 4\n|   |--- part B\n"
    noise, fidelity = tree_of(cells, rng.integers(0, 2, len(cells)), weight)
    assert fidelity < 1.0 and noise.count("---") > 3
    assert tree_of(cells, np.full(len(cells), 1), weight) == ("|--- part B\n", 1.0)


def test_the_text_of_a_tree_holds_for_the_invariants_themselves() -> None:
    """Every rule of the text, applied to values of networkx, gives what the tree gives."""
    graphs = [nx.gnp_random_graph(14, p, seed=k) for k, p in enumerate((0.1, 0.2, 0.3, 0.6) * 8)]
    values = np.vstack([invariants(graph) for graph in graphs])
    cells, number = np.unique(profile(as_graphs(graphs)), axis=0, return_inverse=True)
    rng = np.random.default_rng(1)
    for column in range(6):
        cut = np.median(cells[:, column])
        parts = (cells[:, column] > cut) + (rng.random(len(cells)) < 0.1).astype(np.int64)
        text, fidelity = tree_of(cells, parts, np.bincount(number, minlength=len(cells)))
        found = np.array([followed(text, dict(zip(PROFILE, row, strict=True))) for row in values])
        wanted = np.array([part_name(part) for part in parts[number].tolist()])
        assert np.mean(found == wanted) == pytest.approx(fidelity)


def invariants(graph: nx.Graph) -> np.ndarray:
    """Degree, core number, onion layer, triangles, return probabilities after 4 and 6 steps."""
    steps = nx.to_numpy_array(graph)
    steps = steps / np.maximum(steps.sum(1, keepdims=True), 1)
    exact = [dict(graph.degree), nx.core_number(graph), nx.onion_layers(graph), nx.triangles(graph)]
    back = [np.diag(np.linalg.matrix_power(steps, k)) for k in (4, 6)]
    return np.column_stack([[one[v] for v in graph] for one in exact] + back)


def followed(text: str, values: dict[str, float]) -> str:
    """The part at which the rules of a tree end, for the invariants of a vertex."""
    depth = 0
    for line in text.splitlines():
        rule = line[4 * depth + 5 :]
        if line.count("|") != depth + 1:
            continue
        if rule.startswith("part "):
            return rule.removeprefix("part ")
        name, sign, bound = re.fullmatch(r"(.+) (<|>=) (.+)", rule).groups()
        depth += (values[name] < float(bound)) == (sign == "<")
    raise AssertionError(text)
