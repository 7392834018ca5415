from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse
import torch
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from torch_geometric.data import Batch, Data

from gpnn import GPNN, GPNNClassifier, GPNNMultiTarget, GPNNRegressor, Graphs
from gpnn.data.objects import read_inputs
from gpnn.data.raw import DEGREE, FEATURES, LABELS, MOLECULE
from gpnn.errors import InputError
from gpnn.train.effort import MOLECULES, schedule_for
from gpnn.train.train_config import TrainConfig

TINY: dict[str, Any] = {"layers": 1, "hidden": 8, "epochs": 6, "device": "cpu", "random_state": 0}


pytestmark = pytest.mark.usefixtures("one_thread")


def rings(count: int = 18) -> tuple[list[nx.Graph], list[str]]:
    """Rings, and as many rings with a tail."""
    graphs = [
        nx.lollipop_graph(3 + k % 3, 3) if k % 2 else nx.cycle_graph(5 + k % 3)
        for k in range(count)
    ]
    return graphs, ["tail" if k % 2 else "ring" for k in range(count)]


def as_data(graph: nx.Graph, **more: Any) -> Data:
    edges = torch.tensor(list(graph.edges)).T
    both = torch.cat([edges, edges.flip(0)], dim=1)
    return Data(edge_index=both, num_nodes=len(graph), **more)


def test_fit_predict_and_score() -> None:
    graphs, y = rings()
    model = GPNNClassifier(**TINY | {"epochs": 15}).fit(graphs, y)
    assert model.classes_.tolist() == ["ring", "tail"]
    probability = model.predict_proba(graphs)
    assert probability.shape == (18, 2)
    np.testing.assert_allclose(probability.sum(1), 1, rtol=1e-6)
    found = model.predict(graphs)
    assert found.tolist() == model.classes_[probability.argmax(1)].tolist()
    assert model.score(graphs, y) == np.mean(found == np.array(y)) > 0.9
    assert len(model.history_) >= model.best_epoch_ >= 1
    assert not hasattr(model, "n_features_in_")


def test_same_seed_same_bits_and_init_is_pure() -> None:
    graphs, y = rings()
    first, second = (GPNNClassifier(**TINY).fit(graphs, y) for _ in range(2))
    assert np.array_equal(first.predict_proba(graphs), second.predict_proba(graphs))
    third = GPNNClassifier(**TINY | {"random_state": 1}).fit(graphs, y)
    assert not np.array_equal(first.predict_proba(graphs), third.predict_proba(graphs))
    odd = object()
    model = GPNNClassifier(scheme=odd, layers=-5)
    assert model.get_params()["scheme"] is odd
    assert model.set_params(layers=2) is model
    copied = clone(first)
    assert copied.get_params() == first.get_params()
    assert not hasattr(copied, "model_")
    assert vars(GPNNClassifier()) == GPNNClassifier().get_params()
    assert is_classifier(first)
    assert not is_regressor(first)
    assert is_regressor(GPNNRegressor())


@pytest.mark.parametrize("shape", ["list", "array", "graphs", "data"])
def test_cross_validation(shape: str) -> None:
    graphs, y = rings()
    given: Any = graphs
    if shape == "array":
        given = np.empty(len(graphs), object)
        for k, graph in enumerate(graphs):
            given[k] = graph
    elif shape == "graphs":
        given = Graphs.concatenate(list(read_inputs(graphs).graphs))
    elif shape == "data":
        given = [as_data(graph) for graph in graphs]
    model = GPNNClassifier(**TINY | {"epochs": 12, "patience": 12, "batch_size": 4})
    scores = cross_val_score(model, given, y, cv=3, error_score="raise")
    assert scores.shape == (3,)
    assert scores.mean() > 0.8  # rings with a chord and without


def test_grid_search_and_numpy_parameters() -> None:
    graphs, y = rings(12)
    grid = {"hidden": np.array([4, 8]), "interactions": ["cross", "edges"]}
    search = GridSearchCV(
        GPNNClassifier(**TINY | {"epochs": 2}), grid, cv=3, error_score="raise"
    ).fit(graphs, y)
    assert search.best_params_["hidden"] in (4, 8)
    assert search.predict(graphs[:2]).shape == (2,)


def test_regressor() -> None:
    graphs, _ = rings()
    sizes = np.array([len(graph) for graph in graphs], float)
    model = GPNNRegressor(**TINY | {"epochs": 60, "patience": 60}).fit(graphs, 100 * sizes)
    found = model.predict(graphs)
    assert found.shape == (18,)
    assert model.score(graphs, 100 * sizes) > 0.5
    two = GPNNRegressor(**TINY).fit(graphs, np.stack([sizes, -sizes], axis=1))
    assert two.predict(graphs[:3]).shape == (3, 2)


def test_distances_tell_rings_apart() -> None:
    """Rings of six and seven: within three hops one is closed and the other is not; in both, every
    vertex has two neighbours."""
    graphs = [nx.cycle_graph(6 + k % 2) for k in range(12)]
    y = np.arange(12) % 2
    options = TINY | {"interactions": "cross", "readout": "mean", "epochs": 40, "validation": 0.34}
    near = GPNNClassifier(**options).fit(graphs, y)
    far = GPNNClassifier(**options, d=3, distances=True).fit(graphs, y)
    assert near.score(graphs, y) == 0.5 and far.score(graphs, y) == 1
    assert far.model_.config.structure.distances


def test_what_is_read_of_the_graphs() -> None:
    plain = nx.path_graph(3)
    assert read_inputs([plain]).kind == DEGREE
    labelled = nx.Graph()
    labelled.add_node("b", label=7)
    labelled.add_node("a", label=5)
    labelled.add_edge("a", "b", label=3)
    raw = read_inputs([labelled])
    assert (raw.kind, raw.nodes.tolist()) == (LABELS, [[7], [5]])
    assert raw.graphs.edge_labels is not None
    assert raw.graphs.edge_labels.tolist() == [3, 3]
    both = torch.rand(2, 2).repeat(2, 1)
    floats = as_data(plain, x=torch.rand(3, 4), edge_attr=both)
    raw = read_inputs([floats])
    assert (raw.kind, raw.nodes.shape, raw.graphs.edge_labels) == (FEATURES, (3, 4), None)
    assert raw.edge_features is not None and raw.edge_features.shape == (4, 2)
    hot = as_data(plain, edge_attr=torch.eye(3)[[2, 0, 2, 0]])
    assert read_inputs([hot]).graphs.edge_labels.tolist() == [2, 2, 0, 0]
    several = as_data(plain, edge_attr=torch.tensor([[1, 2], [1, 3], [1, 2], [1, 3]]))
    assert len(set(read_inputs([several]).graphs.edge_labels.tolist())) == 2
    codes = as_data(plain, x=torch.tensor([[1, 2]] * 3), edge_attr=torch.tensor([[4], [5]] * 2))
    raw = read_inputs([codes])
    assert (raw.kind, raw.nodes.tolist()) == (LABELS, [[1, 2]] * 3)
    assert raw.graphs.edge_labels is not None
    assert raw.graphs.edge_labels.tolist() == [4, 4, 5, 5]
    matrix = scipy.sparse.csr_array(nx.to_scipy_sparse_array(plain))
    assert read_inputs([matrix, np.array([[0, 1], [1, 2]])]).kind == DEGREE


def test_edge_features_are_learned_from() -> None:
    """Rings that differ in a float on their edges alone."""
    rng = np.random.default_rng(0)
    graphs, y = [], []
    for k in range(24):
        values = torch.from_numpy(rng.normal(2.0 * (k % 2), 0.3, (5, 1))).float().repeat(2, 1)
        graphs.append(as_data(nx.cycle_graph(5), edge_attr=values))
        y.append(k % 2)
    model = GPNNClassifier(**TINY | {"epochs": 20, "readout": "mean"}).fit(graphs, y)
    assert model.model_.config.edge_features == 1 and model.model_.config.base == "gine"
    assert model.score(graphs, y) > 0.9
    with pytest.raises(InputError, match="trained with 1 floats per edge, and the source has 0"):
        model.predict([as_data(nx.cycle_graph(5))])


def test_ensembles_and_folds() -> None:
    graphs, y = rings(18)
    options = TINY | {"epochs": 3}
    three = GPNNClassifier(**options, ensemble=3).fit(graphs, y)
    one = GPNNClassifier(**options).fit(graphs, y)
    assert len(three.model_.members) == 3 and three.predict_proba(graphs).shape == (18, 2)
    assert not np.allclose(three.predict_proba(graphs), one.predict_proba(graphs))
    folded = GPNNClassifier(**options, folds=3).fit(graphs, y)
    assert folded.out_of_fold_.shape == (18, 2) and len(folded.fold_scores_) == 3
    assert len(folded.model_.members) == 3
    sizes = np.array([len(graph) for graph in graphs], float)
    numbers = GPNNRegressor(**options, folds=3).fit(graphs, sizes)
    assert np.isfinite(numbers.out_of_fold_).all()
    with pytest.raises(InputError, match="either several splits or an ensemble"):
        GPNNClassifier(**options, folds=3, ensemble=2).fit(graphs, y)


def test_smiles() -> None:
    pytest.importorskip("rdkit")
    texts = ["CO", "CC", "CCO", "CCC", "OCCC", "CCCC"]
    assert read_inputs(texts).kind == MOLECULE
    model = GPNNClassifier(**TINY).fit(texts, [1, 0] * 3)
    assert model.predict(["CCCCO"]).dtype.kind == "i"
    with pytest.raises(InputError, match=r"Item 1 of X: 'what' is not SMILES .*1 such items"):
        model.predict(["C", "what"])
    with pytest.raises(InputError, match="SMILES and other graphs are mixed"):
        model.predict(["C", nx.path_graph(2)])
    with pytest.raises(InputError, match=r"The model reads molecules .* without vertex labels"):
        model.predict([nx.path_graph(2)])


def test_bad_labels() -> None:
    graphs, y = rings(6)
    model = GPNNClassifier(**TINY)
    with pytest.raises(InputError, match="X holds 6 graphs and y 5 labels"):
        model.fit(graphs, y[:5])
    with pytest.raises(InputError, match="only the class 'ring'"):
        model.fit(graphs, ["ring"] * 6)
    with pytest.raises(InputError, match=r"y holds NaN or None \(1 of 6, the first at 2\)"):
        model.fit(graphs, [0, 1, float("nan"), 1, 0, 1])
    with pytest.raises(InputError, match="NaN or None"):
        model.fit(graphs, ["a", "b", None, "a", "b", "a"])
    with pytest.raises(InputError, match="y must hold numbers"):
        GPNNRegressor(**TINY).fit(graphs, y)
    with pytest.raises(InputError, match="NaN or None"):
        GPNNRegressor(**TINY).fit(graphs, [1.0, 2.0, float("nan"), 4.0, 5.0, 6.0])
    with pytest.raises(InputError, match="infinity"):
        GPNNRegressor(**TINY).fit(graphs, [1.0, 2.0, float("inf"), 4.0, 5.0, 6.0])
    with pytest.raises(InputError, match="Every class of y is seen once"):
        model.fit(graphs[:2], y[:2])
    with pytest.raises(InputError, match="y is missing"):
        model.fit(graphs, None)
    with pytest.raises(InputError, match=r"not classes. Use GPNNRegressor"):
        model.fit(graphs, [0.5, 1.5, 0.5, 1.5, 0.5, 1.5])


@pytest.mark.parametrize("seed", range(4))
def test_a_class_seen_once_is_learned_from(seed: int) -> None:
    graphs, _ = rings(5)
    model = GPNNClassifier(**TINY | {"random_state": seed, "epochs": 1})
    model.fit(graphs, ["a", "a", "a", "b", "c"])
    assert model.classes_.tolist() == ["a", "b", "c"]
    (split,) = model.model_.about["splits"]
    assert {3, 4} <= set(split["train"])
    assert len(split["valid"]) == 1


def test_bad_graphs() -> None:
    graphs, y = rings(6)
    model = GPNNClassifier(**TINY)
    with pytest.raises(NotFittedError):
        model.predict(graphs)
    with pytest.raises(NotFittedError):
        model.save("nowhere")
    with pytest.raises(InputError, match="got one graph"):
        model.fit(graphs[0], y)
    with pytest.raises(InputError, match="got a str"):
        model.fit("CCO", y)
    with pytest.raises(InputError, match="X holds no graphs"):
        model.fit([], [])
    with pytest.raises(InputError, match="Item 0 of X: A set is not a graph"):
        model.fit([{1}], [1])
    both = Batch.from_data_list([as_data(graph) for graph in graphs[:2]])
    with pytest.raises(InputError, match="Item 0 of X holds 2 graphs"):
        model.fit([both], [1])
    mixed = [as_data(graphs[0], x=torch.rand(len(graphs[0]), width)) for width in (2, 3)]
    with pytest.raises(InputError, match="The x of the Data differ"):
        model.fit(mixed, [0, 1])
    broken = as_data(graphs[0], x=torch.full((len(graphs[0]), 2), float("nan")))
    with pytest.raises(InputError, match="NaN or infinity"):
        model.fit([broken] * 4, [0, 1, 0, 1])
    with pytest.raises(InputError, match="Unknown base 'gan'"):
        GPNNClassifier(**TINY | {"base": "gan"}).fit(graphs, y)


@pytest.mark.parametrize(
    "names", [("ring", "tail"), ("1", "01"), ("2", "10"), (-1, 1), (1.0, 2.0), (False, True)]
)
def test_a_loaded_classifier_is_the_saved_one(names: tuple[Any, Any], tmp_path: Any) -> None:
    graphs, y = rings(8)
    y = [names[name == "tail"] for name in y]
    trained = {"lr": 0.003, "batch_size": 7, "patience": 3, "weight_decay": 1e-3}
    model = GPNNClassifier(**TINY, **trained, scheme="degree", d=2, distances=True).fit(graphs, y)
    model.save(tmp_path)
    loaded = GPNNClassifier.load(tmp_path)
    assert loaded.classes_.dtype == model.classes_.dtype
    assert loaded.classes_.tolist() == model.classes_.tolist() == sorted(names)
    assert np.array_equal(loaded.predict_proba(graphs), model.predict_proba(graphs))
    assert loaded.predict(graphs).tolist() == model.predict(graphs).tolist()
    assert (loaded.scheme, loaded.d, loaded.distances) == ("degree", 2, True)
    assert {name: getattr(loaded, name) for name in trained} == trained and loaded.epochs == 6
    assert (
        len(model.history_) > 1
        and loaded.history_ == model.history_
        and loaded.best_epoch_ == model.best_epoch_
    )
    with pytest.raises(
        InputError, match=r"GPNNRegressor is for regression. Read it with GPNNClassifier.load"
    ):
        GPNNRegressor.load(tmp_path)


@pytest.mark.parametrize("options", [{"gpnn": False}, {"model": "dgn"}, {"scheme": "core"}])
def test_a_loaded_estimator_trains_again(options: dict[str, Any], tmp_path: Any) -> None:
    graphs = [nx.gnp_random_graph(7, 0.4, seed=k) for k in range(20)]
    made = GPNNClassifier(epochs=2, hidden=8, random_state=0, **options).fit(graphs, [0, 1] * 10)
    made.save(tmp_path / "model")
    loaded = GPNNClassifier.load(tmp_path / "model")
    again = clone(loaded).set_params(random_state=0).fit(graphs, [0, 1] * 10)
    assert np.array_equal(again.predict_proba(graphs), made.predict_proba(graphs))


@pytest.mark.parametrize("shape", [(8,), (8, 1), (8, 2)])
def test_a_loaded_regressor_is_the_saved_one(shape: tuple[int, ...], tmp_path: Any) -> None:
    graphs, _ = rings(8)
    y = np.array([[len(graph), graph.number_of_edges()] for graph in graphs])
    model = GPNNRegressor(**TINY).fit(graphs, y.ravel()[: np.prod(shape)].reshape(shape))
    model.save(tmp_path)
    loaded = GPNNRegressor.load(tmp_path)
    assert loaded.predict(graphs).shape == shape
    assert np.array_equal(loaded.predict(graphs), model.predict(graphs))


def test_a_constant_target_is_refused() -> None:
    graphs = [nx.cycle_graph(k) for k in range(3, 9)]
    with pytest.raises(InputError, match="nothing to learn"):
        GPNNRegressor(epochs=1).fit(graphs, [2.0] * 6)
    with pytest.raises(InputError, match="beyond the range of 32-bit floats"):
        GPNNRegressor(epochs=1).fit(graphs, [1.0, 1e300, 2, 3, 4, 5])


def test_numbers_and_texts_that_read_the_same_are_refused() -> None:
    graphs = [nx.cycle_graph(k) for k in range(3, 7)]
    with pytest.raises(InputError, match="mixes numbers and texts"):
        GPNNClassifier(epochs=1).fit(graphs, np.array([1, "1", 2, 2], dtype=object))


def molecules() -> tuple[list[str], dict[str, list[Any]]]:
    """Chains with and without an oxygen, with what is true of them."""
    pytest.importorskip("rdkit")
    texts = ["C" * (2 + k % 7) + ("O" if k % 2 else "C") for k in range(60)]
    columns = {
        "size": [float(len(text)) for text in texts],
        "kind": ["alcohol" if text.endswith("O") else "alkane" for text in texts],
        "long": [int(len(text) > 5) for text in texts],
        "group": ["abc"[len(text) % 3] for text in texts],
    }
    return texts, columns


def test_numbers_and_classes_in_one_model(tmp_path: Any) -> None:
    texts, columns = molecules()
    holes: dict[str, list[Any]] = {name: list(own) for name, own in columns.items()}
    holes["size"][3] = None
    holes["kind"][4] = ""
    holes["long"][5] = float("nan")
    model = GPNNMultiTarget(**TINY | {"epochs": 40, "patience": 40, "batch_size": 8})
    model.fit(texts, holes)
    assert model.targets_ == {
        "size": (), "kind": ("alcohol", "alkane"), "long": ("0", "1"), "group": ("a", "b", "c")
    }  # fmt: skip
    found = model.predict(texts)
    assert np.mean(found["kind"] == np.array(columns["kind"])) > 0.9
    assert np.corrcoef(found["size"], columns["size"])[0, 1] > 0.9
    shares = model.predict_proba(texts)
    assert {name: own.shape for name, own in shares.items()} == {
        "kind": (60, 2), "long": (60, 2), "group": (60, 3)
    }  # fmt: skip
    for own in shares.values():
        np.testing.assert_allclose(own.sum(1), 1, rtol=1e-6)
    measured = model.evaluate(texts, columns)
    assert measured["mae[size]"] == pytest.approx(np.abs(found["size"] - columns["size"]).mean())
    model.save(tmp_path)
    again = GPNNMultiTarget.load(tmp_path)
    assert again.targets_ == model.targets_
    assert again.predict(texts[:9])["kind"].tolist() == found["kind"][:9].tolist()
    with pytest.raises(InputError, match=r"class 'd' of 'group' is not in the model"):
        model.evaluate(texts, {**columns, "group": ["d"] * 60})
    with pytest.raises(InputError, match=r"GPNNMultiTarget\.load"):
        GPNNRegressor.load(tmp_path)
    with pytest.raises(InputError, match=r"Intervals need GPNNMultiTarget\(ensemble=5"):
        model.predict_interval(texts)


def test_out_of_fold_answers_stay_with_their_graphs() -> None:
    texts, columns = molecules()
    rows = [[size, -2 * size] for size in columns["size"]]
    rows[7] = [None, None]
    model = GPNNMultiTarget(**TINY, folds=3).fit(texts, rows)
    missing = np.isnan(model.out_of_fold_).all(1)
    assert np.flatnonzero(missing).tolist() == [7] and len(missing) == 60


def test_rows_of_numbers_and_intervals() -> None:
    texts, columns = molecules()
    rows = [[size, -2 * size] for size in columns["size"]]
    rows[7][1] = float("nan")
    options = TINY | {"ensemble": 3, "calibrate": True}
    model = GPNNMultiTarget(**options).fit(texts, rows)
    ends = model.predict_interval(texts)
    assert list(ends) == ["target 1", "target 2"]
    low, high = ends["target 1"].T
    np.testing.assert_allclose((low + high) / 2, model.predict(texts)["target 1"])
    for wrong, said in (
        (columns["size"], "y must be a table"),
        ({"size": columns["size"]}, "y has one target"),
        ({name: own[:5] for name, own in columns.items()}, "60 graphs and y 5 rows"),
        ({"size": columns["size"], "long": [1]}, "equally long"),
    ):
        with pytest.raises(InputError, match=said):
            GPNNMultiTarget(**TINY).fit(texts, wrong)


def test_effort_is_that_of_the_command() -> None:
    texts, columns = molecules()
    shape: dict[str, Any] = {"layers": 1, "hidden": 4, "device": "cpu", "random_state": 0}
    model = GPNNRegressor(**shape, effort="quick").fit(texts, columns["size"])
    structure, run = model.model_.config.structure, model.model_.about["run"]["train"]
    wanted = TrainConfig.sized(54, **schedule_for(54, "quick"))
    assert {"d": structure.d, "distances": structure.distances} == MOLECULES
    assert run["epochs"] == wanted.epochs and run["cosine"] is wanted.cosine is True
    assert model.descriptors is None and model.model_.encoder.descriptors.asked == ("rdkit",)
    bare = GPNNRegressor(**shape, effort="quick", descriptors=[]).fit(texts, columns["size"])
    assert bare.model_.encoder.descriptors is None
    with pytest.raises(InputError, match="effort='quick' sets epochs"):
        GPNNRegressor(**TINY, effort="quick").fit(texts, columns["size"])
    with pytest.raises(InputError, match="effort cannot be 'much'"):
        GPNNRegressor(**shape, effort="much").fit(texts, columns["size"])
    with pytest.raises(InputError, match="search_estimator"):
        GPNNRegressor(**shape, effort="thorough").fit(texts, columns["size"])
    with pytest.raises(InputError, match="effort is for molecules"):
        GPNNClassifier(**shape, effort="quick").fit(*rings())


def test_splits_and_columns_of_a_table() -> None:
    texts, columns = molecules()
    table = {"smiles": texts, "heat": [0.1 * k for k in range(60)], "name": columns["kind"]}
    parts = ["valid" if k % 5 == 0 else "train" for k in range(60)]
    model = GPNNRegressor(**TINY, descriptors=["heat", "rdkit"])
    model.fit(table, columns["size"], parts=parts)
    split = model.model_.about["splits"][0]
    assert split["valid"] == list(range(0, 60, 5)) and len(split["train"]) == 48
    assert model.predict(table).shape == (60,)
    with pytest.raises(InputError, match="reads the column 'heat'"):
        model.predict(texts)
    with pytest.raises(InputError, match="no column of numbers 'name'"):
        GPNNRegressor(**TINY, descriptors=["name"]).fit(table, columns["size"])
    with pytest.raises(InputError, match="train or valid for each of the 60"):
        model.fit(table, columns["size"], parts=["train", "odd"] * 30)
    with pytest.raises(InputError, match="either split or parts"):
        GPNNRegressor(**TINY, split="random").fit(texts, columns["size"], parts=parts)
    closed = [f"C1{'C' * (1 + k // 4)}C1{'C' * (k % 4)}" for k in range(40)]
    apart = GPNNRegressor(**TINY, split="scaffold", validation=0.3).fit(closed, np.arange(40.0))
    assert apart.model_.about["how"].startswith("scaffold")
    sides = apart.model_.about["splits"][0]
    assert not {row // 4 for row in sides["train"]} & {row // 4 for row in sides["valid"]}


def test_baselines_beside_an_estimator() -> None:
    texts, columns = molecules()
    both = {name: columns[name][:30] for name in ("size", "kind")}
    for estimator, y, rest in (
        (GPNNRegressor(**TINY), columns["size"][:30], columns["size"][30:]),
        (GPNNClassifier(**TINY), columns["kind"][:30], columns["kind"][30:]),
        (GPNNMultiTarget(**TINY), both, {name: columns[name][30:] for name in both}),
    ):
        rows = estimator.fit(texts[:30], y).compare(texts[:30], y, texts[30:], rest)
        assert [row["name"].split(",")[0] for row in rows] == [
            type(estimator).__name__, "gine alone", "boosting", "forest"
        ]  # fmt: skip
        assert rows[0]["ahead"] == [0.0, 0.0]
        if isinstance(estimator, GPNNRegressor):
            error = np.abs(estimator.predict(texts[30:]) - rest).mean()
            assert rows[0]["value"] == pytest.approx(error)
    shares = estimator.atom_contributions(texts[:2], "size")
    assert len(shares.of(0)) == 3
    assert shares.of(0).sum() == pytest.approx(shares.full[0] - shares.empty[0])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"model": "cin", "scheme": "core"}, r"model='cin' trains without GPNN: leave out scheme"),
        ({"gpnn": False, "interactions": "pairs", "d": 2}, r"gpnn=False .* interactions, d\."),
    ],
)
def test_arguments_of_gpnn_are_refused_without_it(given: dict[str, Any], message: str) -> None:
    graphs = [nx.path_graph(n) for n in range(2, 12)]
    with pytest.raises(InputError, match=message):
        GPNNClassifier(epochs=1, **given).fit(graphs, [0, 1] * 5)


def test_one_thread_is_used_and_the_number_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small batches are up to a hundred times slower with two threads on a busy machine."""
    before, seen = torch.get_num_threads(), []
    forward = GPNN.forward

    def watched(self: GPNN, *args: Any, **options: Any) -> torch.Tensor:
        seen.append(torch.get_num_threads())
        return forward(self, *args, **options)

    monkeypatch.setattr(GPNN, "forward", watched)
    torch.set_num_threads(2)
    try:
        graphs = [nx.path_graph(n) for n in range(2, 12)]
        model = GPNNClassifier(epochs=1, hidden=4, layers=1, random_state=0, device="cpu")
        model.fit(graphs, [0, 1] * 5).predict(graphs)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert seen and set(seen) == {1}
