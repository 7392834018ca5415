"""Replicas trained side by side give what separate runs give: losses and metrics of every epoch.

Batches are put together on the CPU, as they are where there is no GPU, and by index arithmetic, as
on a GPU; here on the CPU too, so that both are held to the plain way everywhere.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from gpnn.data.samples import Samples
from gpnn.train.loop import groups_of, train_replicas, train_staged
from gpnn.train.replica import Curves, Schedule
from gpnn.train.setup import CPU, set_up
from gpnn.train.stage import stage
from train.reference import train_one_by_one
from train.sets import edge_featured, node_samples, replica, samples, some_replicas

pytestmark = pytest.mark.usefixtures("one_thread")

CLOSE = 1e-8
SCHEDULE = Schedule(epochs=3, batch_size=10, halve_every=2)
SMALL = {"hidden": 6, "layers": 2}
DOUBLE: dict[str, Any] = {"device": "cpu", "dtype": torch.float64}

CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "gin alone": ("classification", {"base": "gin", "gpnn": False}),
    "gine alone": ("multitask", {"base": "gine", "gpnn": False}),
    "gcn": ("classification", {"base": "gcn", "interactions": "cross"}),
    "gat": ("classification", {"base": "gat", "interactions": "edges"}),
    "sage, last layer": ("multitask", {"base": "sage", "jump": "last"}),
    "linear head": ("multitask", {"base": "gin", "interactions": "cross", "head": "linear"}),
    "gpnn alone": ("regression", {"base": None, "interactions": "edges"}),
    "cross": ("classification", {"base": "gin", "interactions": "cross"}),
    "edges": ("multitask", {"base": "gine", "interactions": "edges"}),
    "pairs": ("regression", {"base": "gine", "interactions": "pairs"}),
    "radius 2": ("classification", {"base": "gin", "interactions": "edges", "d": 2}),
    "cross, radius 2": ("regression", {"interactions": "cross", "d": 2, "base": None}),
    "cross, far": (
        "regression",
        {"base": "gin", "interactions": "cross", "d": 3, "distances": True},
    ),
    "distances": ("regression", {"interactions": "pairs", "d": 2, "distances": True}),
    "mean readout": ("multitask", {"readout": "mean", "component_feature": False}),
    "sum of pairs": ("classification", {"interactions": "edges", "pair_update": "sum"}),
    "colours only": ("classification", {"interactions": "edges", "colours_only": True}),
    "shared bases": ("classification", {"scheme": "wl-2", "interactions": "edges"}),
    "shared bases, sum": ("regression", {"scheme": "wl-2", "pair_update": "sum", "base": None}),
    "plain, linear": ("classification", {"base": "gin", "block": "plain", "combine": "linear"}),
    "plain, pairwise": ("regression", {"base": "gine", "block": "plain"}),
    "feed-forward": ("regression", {"base": "gine", "block": "feed-forward", "walks": 6}),
    "inside": ("regression", {"base": "gine", "block": "feed-forward", "join": "inside"}),
    "base in blocks": (
        "classification",
        {"base": "gcn", "gpnn": False, "block": "feed-forward", "walks": 6, "virtual_node": True},
    ),
    "virtual node": ("classification", {"base": "gin", "virtual_node": True, "join": "inside"}),
    "scaled": ("regression", {"base": "gin", "part_weights": "scaled", "interactions": "cross"}),
    "learned": ("classification", {"scheme": "learned-3", "interactions": "pairs"}),
    "mixture": ("regression", {"scheme": "mix:core,triangle", "interactions": "edges"}),
    "labels": ("classification", {"base": "gine", "labels": True, "interactions": "edges"}),
}


def agree(together: Curves, apart: Curves, close: float = CLOSE) -> None:
    assert together.metric == apart.metric and together.parameters == apart.parameters
    for name in ("loss", "valid", "test"):
        np.testing.assert_allclose(
            getattr(together, name), getattr(apart, name), atol=close, rtol=close, err_msg=name
        )
    assert np.isfinite(together.loss).all()
    assert len(np.unique(together.loss)) == together.loss.size  # every replica learns, for itself


def resident(data: Samples, model: dict[str, Any], replicas: Any, schedule: Schedule) -> Curves:
    """By index arithmetic."""
    setup = set_up(data, model, replicas)
    places = groups_of(setup, replicas, schedule)
    pieces = [
        train_staged(
            stage(setup, [replicas[r] for r in own], schedule, torch.float64, resident=True), CPU
        ).curves
        for own in places
    ]
    return Curves.join(pieces, places)


def both(data: Samples, model: dict[str, Any], replicas: Any, schedule: Schedule) -> Curves:
    together = train_replicas(data, model, replicas, schedule, **DOUBLE)
    apart = train_one_by_one(data, model, replicas, schedule)
    agree(together, apart)
    agree(resident(data, model, replicas, schedule), apart)
    return together


@pytest.mark.parametrize("case", CASES)
def test_side_by_side_equals_one_by_one(case: str) -> None:
    task, options = CASES[case]
    data = samples(task, floats=options.get("base") == "gcn")
    model = {**SMALL, **options}
    replicas = some_replicas(len(data))
    if case.startswith("shared"):
        assert set_up(data, model, replicas).config.parts > 32
    found = both(data, model, replicas, SCHEDULE)
    assert np.isnan(found.valid[2]).all() and np.isfinite(found.valid[:2]).all()


@pytest.mark.parametrize(
    ("base", "kind"), [(base, kind) for base in ("gcn", "gat", "sage") for kind in (None, "edges")]
)
def test_node_tasks(base: str, kind: str | None) -> None:
    data = node_samples()
    options = {"gpnn": False} if kind is None else {"interactions": kind}
    both(data, {**SMALL, "base": base, **options}, some_replicas(len(data)), Schedule(epochs=4))


def test_node_tasks_in_blocks() -> None:
    """Walks and features that GPNN shares with its base ask for an encoder."""
    data = node_samples()
    options = {"base": "gcn", "walks": 4, "join": "inside", "block": "feed-forward"}
    both(data, {**SMALL, **options}, some_replicas(len(data)), Schedule(epochs=3))


def test_every_replica_halves_its_step_size_on_its_own_plateau() -> None:
    """Against PyTorch's scheduler, with steps so large that nothing gets better for long."""
    data = samples("regression")
    schedule = Schedule(epochs=8, batch_size=10, halve_every=None, plateau=1)
    replicas = [replace(one, lr=0.2) for one in some_replicas(len(data))]
    found = both(data, {**SMALL, "base": "gin", "gpnn": False}, replicas, schedule)
    without = train_replicas(
        data, {**SMALL, "base": "gin", "gpnn": False}, replicas,
        Schedule(epochs=8, batch_size=10, halve_every=None), **DOUBLE,
    )  # fmt: skip
    changed = ~np.isclose(found.loss, without.loss)
    assert changed[:2, -1].all() and not changed[2].any()  # the last has no validation part


def test_warm_up_and_cosine() -> None:
    data = samples()
    schedule = Schedule(epochs=5, batch_size=10, halve_every=None, cosine=True, warmup=2)
    assert [round(schedule.rate(epoch), 4) for epoch in range(5)] == [0.3333, 0.6667, 1, 0.75, 0.25]
    both(data, {**SMALL, "base": "gin"}, some_replicas(len(data)), schedule)


def test_steps_of_random_batches() -> None:
    data = samples()
    schedule = Schedule(epochs=3, batch_size=5, halve_every=None, steps=3)
    both(data, {**SMALL, "interactions": "edges"}, some_replicas(len(data)), schedule)


def test_every_replica_scales_a_regression_by_its_own_training_part() -> None:
    data = samples("regression")
    replicas = some_replicas(len(data))
    setup = set_up(data, SMALL, replicas)
    scales = [setup.scaling(one)[1] for one in replicas]
    assert not torch.equal(scales[0], scales[1])
    found = both(data, SMALL, replicas, Schedule(epochs=2, batch_size=10))
    assert found.metric == "scaled_mae" and found.test.max() < 10  # in deviations, not in units


def company(dropout: float) -> list[Any]:
    count = 22
    return [
        replica(count, 5, dropout=dropout),
        replica(count, 6, 2, 8, lr=0.03, dropout=0.7),
        replica(count, 8, 1, 1, weight_decay=0.1, dropout=0.2),
        replica(count, 9),
    ]


@pytest.mark.parametrize("options", [{"interactions": "edges"}, {"base": "gin", "gpnn": False}])
def test_with_dropout_a_replica_does_not_depend_on_its_company(options: dict[str, Any]) -> None:
    """The same steps an epoch are asked for, because they are part of what a replica sees."""
    data, model = samples(), {**SMALL, **options}
    schedule, exact = Schedule(epochs=3, batch_size=6, steps=3), {"atol": 1e-10, "rtol": 1e-10}
    replicas = company(0.5)
    together = train_replicas(data, model, replicas, schedule, **DOUBLE)
    turned = train_replicas(data, model, replicas[::-1], schedule, **DOUBLE)
    for at, one in enumerate(replicas):
        alone = train_replicas(data, model, [one], schedule, **DOUBLE)
        for curves, place in ((together, at), (turned, len(replicas) - 1 - at)):
            np.testing.assert_allclose(curves.loss[place], alone.loss[0], **exact)
            np.testing.assert_allclose(curves.test[place], alone.test[0], **exact)


def test_dropout_does_something_and_follows_the_seed() -> None:
    data, schedule = samples(), Schedule(epochs=2, batch_size=6, steps=3)
    first, other = replica(22, 5, dropout=0.5), replica(22, 5)
    found = train_replicas(data, SMALL, [first, other, first], schedule, device="cpu")
    assert (found.loss[0] == found.loss[2]).all()
    assert (found.loss[0] != found.loss[1]).all()


def test_dropout_in_a_node_task_does_not_depend_on_the_company() -> None:
    data, schedule = node_samples(), Schedule(epochs=4)
    replicas = some_replicas(len(data), (0.5, 0.0, 0.3))
    model = {**SMALL, "base": "gcn"}
    together = train_replicas(data, model, replicas, schedule, **DOUBLE)
    for at, one in enumerate(replicas):
        alone = train_replicas(data, model, [one], schedule, **DOUBLE)
        np.testing.assert_allclose(together.loss[at], alone.loss[0], atol=1e-10)


def test_replicas_that_take_other_numbers_of_steps_are_trained_apart() -> None:
    """Batches of six: 18 graphs take three steps and 19 four. Neither may depend on the other."""
    data, model = samples(), {**SMALL, "interactions": "edges"}
    replicas = [replica(22, 1, 2, 2), replica(22, 2, 1, 2), replica(22, 3, 2, 2)]
    schedule = Schedule(epochs=2, batch_size=6)
    assert groups_of(set_up(data, model, replicas), replicas, schedule) == [[0, 2], [1]]
    found = both(data, model, replicas, schedule)
    assert found.about["replicas"] == 3
    for at, one in enumerate(replicas):
        alone = train_replicas(data, model, [one], schedule, **DOUBLE)
        np.testing.assert_allclose(found.loss[at], alone.loss[0], atol=1e-10)


def test_float_edge_features() -> None:
    data = edge_featured()
    for base in ("gine", "gin"):
        both(data, {**SMALL, "base": base}, some_replicas(len(data)), SCHEDULE)
