"""Every protocol computes exactly its rule: toy curves with answers worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import sqrt

import numpy as np
import pytest

from gpnn.data.samples import Samples, load_samples
from gpnn.errors import InputError
from gpnn.reproduce.protocols import (
    PROTOCOLS,
    Measured,
    Member,
    family,
    get_protocol,
    summarise,
)
from gpnn.reproduce.protocols.node import geom_splits
from gpnn.reproduce.protocols.tu_nested import configurations
from gpnn.reproduce.recipe import Recipe, Space, load_recipe
from gpnn.train.replica import Curves

NAN = float("nan")


def curves(
    test: Sequence[Sequence[float]], valid: object = None, metric: str = "accuracy"
) -> Curves:
    found = np.array(test, float)
    checked = np.full_like(found, NAN) if valid is None else np.array(valid, float)
    return Curves(metric, np.zeros_like(found), checked, found, 1, 0.0, "cpu")


FOLDS = [Member(0, 0), Member(1, 0), Member(0, 1), Member(1, 1)]
TEST = [
    [0.5, 0.8, 0.7],  # seed 0: the means are 0.55, 0.75, 0.75, a tie
    [0.6, 0.7, 0.8],
    [0.9, 0.1, 0.1],  # seed 1: the means are 0.5, 0.1, 0.525
    [0.1, 0.1, 0.95],
]


def told(found: list[Measured]) -> dict[tuple[int, int], tuple[float, int]]:
    return {(one.seed, one.fold): (one.value, one.epoch) for one in found}


def test_tu_1_takes_one_epoch_for_all_folds_of_a_seed() -> None:
    found = PROTOCOLS["tu-1"].choose(FOLDS, curves(TEST))
    assert told(found) == {(0, 0): (0.8, 2), (0, 1): (0.7, 2), (1, 0): (0.1, 3), (1, 1): (0.95, 3)}
    summary = summarise(found)
    assert summary.mean == pytest.approx((0.75 + 0.525) / 2)
    assert summary.std == pytest.approx((0.1 / sqrt(2) + 0.85 / sqrt(2)) / 2)
    # The folds, averaged over the seeds, are 0.45 and 0.825.
    assert summary.error == pytest.approx(0.375 / sqrt(2) / sqrt(2))


def test_tu_1_is_not_led_astray_by_rounding() -> None:
    """0.1 + 0.2 + 0.3 and 0.3 + 0.2 + 0.1 are one number, though floats differ."""
    members = [Member(fold, 0) for fold in range(3)]
    test = [[0.3, 0.1], [0.2, 0.2], [0.1, 0.3]]
    assert (0.3 + 0.2) + 0.1 < (0.1 + 0.2) + 0.3
    assert {one.epoch for one in PROTOCOLS["tu-1"].choose(members, curves(test))} == {1}


def test_tu_2_takes_the_best_of_every_fold() -> None:
    found = PROTOCOLS["tu-2"].choose(FOLDS, curves(TEST))
    assert told(found) == {(0, 0): (0.8, 2), (0, 1): (0.8, 3), (1, 0): (0.9, 1), (1, 1): (0.95, 3)}
    summary = summarise(found)
    assert summary.mean == pytest.approx(0.8625)
    assert summary.std == pytest.approx((0 + 0.05 / sqrt(2)) / 2)
    assert summary.error == pytest.approx(0.025 / 2)


def test_tu_2_and_tu_1_equal_a_literal_computation() -> None:
    rng = np.random.default_rng(3)
    table = rng.integers(0, 12, (3, 10, 25)) / 12
    members = [Member(fold, seed) for seed in range(3) for fold in range(10)]
    held = curves(table.reshape(30, 25))
    per_seed = []
    for seed in range(3):
        means = [sum(table[seed, f, e] for f in range(10)) / 10 for e in range(25)]
        best = max(means)
        epoch = next(e for e in range(25) if means[e] > best - 1e-9)
        per_seed.append([table[seed, f, epoch] for f in range(10)])
    expected = np.mean(per_seed), np.mean([np.std(row, ddof=1) for row in per_seed])
    summary = summarise(PROTOCOLS["tu-1"].choose(members, held))
    assert (summary.mean, summary.std) == pytest.approx(expected)
    highest = [[max(table[seed, f]) for f in range(10)] for seed in range(3)]
    summary = summarise(PROTOCOLS["tu-2"].choose(members, held))
    assert summary.mean == pytest.approx(np.mean(highest))
    assert summary.std == pytest.approx(np.mean([np.std(row, ddof=1) for row in highest]))


def test_tu_nested_chooses_on_validation_alone() -> None:
    members = [Member(0, 0, 0), Member(1, 0, 0), Member(0, 0, 1), Member(1, 0, 1)]
    valid = [
        [0.5, 0.9, 0.6],  # fold 0, trial 0: best at epoch 2
        [0.4, 0.7, 0.7],  # fold 1, trial 0: best at epoch 2, the earlier of two
        [0.9, 0.2, 0.2],  # fold 0, trial 1: as good as trial 0, but at epoch 1
        [0.4, 0.7, 0.2],  # fold 1, trial 1: the same value and epoch as trial 0
    ]
    test = [[0.11, 0.12, 0.99], [0.21, 0.22, 0.99], [0.31, 0.99, 0.99], [0.99, 0.99, 0.99]]
    found = PROTOCOLS["tu-nested"].choose(members, curves(test, valid))
    assert found == [Measured(0, 0, 0.31, 1, 1), Measured(1, 0, 0.22, 2, 0)]
    other = [[1 - value for value in row] for row in test]
    again = PROTOCOLS["tu-nested"].choose(members, curves(other, valid))
    assert [(one.epoch, one.trial) for one in again] == [(1, 1), (2, 0)]


@pytest.mark.parametrize("name", ["ogb", "node"])
def test_the_best_validation_epoch_is_taken(name: str) -> None:
    members = [Member(0, 0), Member(0, 1)]
    valid = [[0.6, 0.8, 0.8], [NAN, 0.5, 0.4]]
    found = PROTOCOLS[name].choose(members, curves([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]], valid))
    assert [(one.value, one.epoch) for one in found] == [(0.2, 2), (0.5, 2)]
    summary = summarise(found)
    assert summary.mean == pytest.approx(0.35)
    assert summary.std == pytest.approx(0.3 / sqrt(2))
    assert summary.error == pytest.approx(0.15)


def test_zinc_wants_the_lowest_error() -> None:
    valid = [[0.5, 0.3, 0.3, 0.9]]
    found = PROTOCOLS["zinc"].choose([Member(0, 0)], curves([[1, 2, 3, 4]], valid, "mae"))
    assert [(one.value, one.epoch) for one in found] == [(2.0, 2)]
    assert summarise(found).std is None


def test_a_result_with_a_hole_is_refused() -> None:
    with pytest.raises(InputError, match="every fold and seed"):
        summarise([Measured(0, 0, 1.0, 1), Measured(1, 0, 1.0, 1), Measured(0, 1, 1.0, 1)])
    with pytest.raises(InputError, match="no number"):
        PROTOCOLS["ogb"].choose([Member(0, 0)], curves([[1.0]]))


def test_names() -> None:
    assert [protocol.name for protocol in family("tu")] == ["tu-1", "tu-2"]
    assert "test" in get_protocol("tu-1").warning
    assert get_protocol("tu-nested").warning == ""
    with pytest.raises(InputError, match=r"no protocol 'tu-3'. Choose one of tu-1"):
        get_protocol("tu-3")


@pytest.fixture(scope="module")
def mutag() -> Samples:
    return load_samples("MUTAG")


def test_folds_are_those_of_scikit_learn(mutag: Samples) -> None:
    from sklearn.model_selection import StratifiedKFold

    models = PROTOCOLS["tu-1"].replicas(mutag, replace(load_recipe("MUTAG"), seeds=2), False, None)
    assert len(models) == 20
    y = mutag.y.numpy()
    cut = StratifiedKFold(10, shuffle=True, random_state=0).split(np.zeros(len(y)), y)
    for (train, test), member, one in zip(cut, models, models.values(), strict=False):
        assert (one.train == train).all() and (one.test == test).all() and not len(one.valid)
        assert member.seed == 0
    assert len({one.seed for one in models.values()}) == 20


def test_nested_folds_never_show_their_test_part(mutag: Samples) -> None:
    space = Space(trials=3, seeds=2)
    recipe = replace(load_recipe("MUTAG"), nested=space)
    models = PROTOCOLS["tu-nested"].replicas(mutag, recipe, False, None)
    assert len(models) == 3 * 2 * 10
    outer = list(PROTOCOLS["tu-1"].replicas(mutag, load_recipe("MUTAG"), False, None).values())
    y = mutag.y.numpy()
    for member, one in models.items():
        assert (one.test == outer[member.fold].test).all()
        joined = np.sort(np.concatenate([one.train, one.valid]))
        assert (joined == outer[member.fold].train).all()
        assert len(one.valid) == pytest.approx(len(joined) / 9, abs=1)
        assert abs(y[one.valid].mean() - y[joined].mean()) < 0.05


def test_configurations_are_few_distinct_and_begin_with_the_recipe() -> None:
    recipe = load_recipe("MUTAG")
    found = configurations(recipe)
    assert found == configurations(recipe)
    assert found[0] == {"lr": 0.01, "dropout": recipe.dropout, "weight_decay": 0.0}
    assert len(found) == len({tuple(one.values()) for one in found}) == recipe.nested.trials
    small = Space(lr=(0.01,), dropout=(0.5,), weight_decay=(0.0,))
    assert len(configurations(replace(recipe, dropout=0.5, nested=small))) == 1


def test_graphs_without_classes_or_splits_are_refused(mutag: Samples) -> None:
    recipe = Recipe("MUTAG", "MUTAG")
    with pytest.raises(InputError, match="official split"):
        PROTOCOLS["ogb"].replicas(mutag, recipe, False, None)
    with pytest.raises(InputError, match="not a dataset for node"):
        PROTOCOLS["node"].replicas(mutag, recipe, False, None)
    with pytest.raises(InputError, match="Stratified folds"):
        PROTOCOLS["tu-1"].replicas(replace(mutag, y=None), recipe, False, None)


@pytest.mark.data
def test_node_splits(data_dir: object) -> None:
    texas = load_samples("Texas", data=str(data_dir))
    models = PROTOCOLS["node"].replicas(texas, load_recipe("Texas"), False, str(data_dir))
    assert len(models) == 10
    for one in models.values():
        parts = (one.train, one.valid, one.test)
        assert [len(part) for part in parts] == [110, 36, 37]
        assert len(np.unique(np.concatenate(parts))) == 183
    assert len({one.test.tobytes() for one in models.values()}) == 10
    published = geom_splits("Texas", str(data_dir), 10)
    assert [len(part) for part in published[0]] == [87, 59, 37]
    assert [len(part) for part in geom_splits("Cora", str(data_dir), 1)[0]] == [1192, 796, 497]


def test_overlap_is_that_of_the_splits() -> None:
    """60/20/20 drawn again and again, or the published 48/32/20; folds of TU: 1 of 10."""
    node, tu = get_protocol("node"), get_protocol("tu-1")
    assert node.overlap_of(None) == node.overlap_of({"recipe": {"splits": "random"}}) == 20 / 60
    assert node.overlap_of({"recipe": {"splits": "geom-gcn"}}) == 20 / 48
    assert tu.overlap_of({"recipe": {"splits": "random"}}) == pytest.approx(1 / 9)
