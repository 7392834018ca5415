"""Which graphs are seen when: every one once a pass, as the seed alone decides."""

from __future__ import annotations

import numpy as np
import pytest

from gpnn.errors import InputError
from gpnn.train.plan import MEASURED, make_plan
from gpnn.train.replica import Replica, Schedule
from train.sets import replica


def test_a_pass_covers_every_training_graph_once() -> None:
    replicas = [replica(50, 1), replica(50, 2, 3, 3), replica(50, 3, 1, 7)]
    schedule = Schedule(epochs=3, batch_size=8)
    plan = make_plan(replicas, schedule, None)
    assert plan.steps == schedule.steps_of(replicas[0]) == -(-41 // 8)
    train = plan.train.view(3, plan.steps, len(replicas), -1).numpy()
    assert train.shape[-1] <= 8
    for r, one in enumerate(replicas):
        for epoch in train[:, :, r]:
            assert sorted(epoch[epoch >= 0]) == sorted(one.train)
            sizes = (epoch >= 0).sum(1)
            assert sizes.max() - sizes.min() <= 1
            assert (np.diff((epoch >= 0).astype(int), axis=1) <= 0).all()  # empty slots come last
        assert not np.array_equal(train[0, :, r], train[1, :, r])


def test_batches_depend_on_replica_epoch_and_steps_alone() -> None:
    one, other = replica(40, 1), replica(40, 2)
    for schedule in (Schedule(batch_size=8), Schedule(batch_size=8, steps=4)):
        first = np.concatenate(schedule.batches(one, 5, 4))
        assert (first == np.concatenate(schedule.batches(one, 5, 4))).all()
        longer = Schedule(epochs=7, batch_size=8, halve_every=3, steps=schedule.steps)
        assert (first == np.concatenate(longer.batches(one, 5, 4))).all()
        again = Replica(one.train, one.valid, [], seed=one.seed, lr=0.5, dropout=0.5)
        assert (first == np.concatenate(schedule.batches(again, 5, 4))).all()
        assert not np.array_equal(first, np.concatenate(schedule.batches(one, 6, 4)))
        assert not np.array_equal(first, np.concatenate(schedule.batches(other, 5, 4)))
    alone = make_plan([one], Schedule(epochs=2, batch_size=8, steps=3), None).train[:, 0]
    beside = make_plan([other, one], Schedule(epochs=2, batch_size=8, steps=3), None).train[:, 1]
    assert (alone == beside).all()


def test_the_plan_holds_the_batches_of_every_replica() -> None:
    """Those of one origin too, which are worked out once."""
    one, other = replica(41, 1), replica(40, 2, 3, 8)
    alike = Replica(one.train, [], one.test, seed=one.seed, lr=0.5, dropout=0.5)
    replicas = [one, other, alike]
    for schedule in (Schedule(epochs=3, batch_size=7), Schedule(epochs=3, batch_size=7, steps=4)):
        plan = make_plan(replicas, schedule, None)
        for at, step in enumerate(plan.train.numpy()):
            epoch, number = divmod(at, plan.steps)
            for row, each in zip(step, replicas, strict=True):
                rng = np.random.default_rng((each.seed, epoch))
                if schedule.steps is None:
                    wanted = np.array_split(rng.permutation(each.train), plan.steps)[number]
                else:
                    draws = [rng.choice(each.train, 7, replace=False) for _ in range(number + 1)]
                    wanted = draws[-1]
                assert row[row >= 0].tolist() == wanted.tolist()


def test_steps_mode_draws_without_repetition_in_a_batch() -> None:
    one, few = replica(40, 1), replica(13, 2)
    plan = make_plan([one, few], Schedule(epochs=2, batch_size=8, steps=5), None)
    assert plan.steps == 5 and plan.train.shape == (10, 2, 8)
    for step in plan.train.numpy():
        assert len(set(step[0])) == 8 and set(step[0]) <= set(one.train)
        assert sorted(step[1][step[1] >= 0]) == sorted(few.train)  # four graphs in all


def test_what_is_measured() -> None:
    replicas = [replica(50, 1, 3, 7), replica(50, 2, 0, 4), replica(50, 3, 5, 0)]
    plan = make_plan(replicas, Schedule(epochs=1), None)
    ids = plan.measure.transpose(0, 1).flatten(1).numpy()
    for r, one in enumerate(replicas):
        assert (ids[r][plan.valid[r]] == one.valid).all()
        assert (ids[r][plan.test[r]] == one.test).all()
        assert ((ids[r] >= 0) == (plan.valid | plan.test)[r].numpy()).all()
    many = make_plan([replica(3 * MEASURED, 0, MEASURED, MEASURED + 1)], Schedule(epochs=1), None)
    assert many.measure.shape[0] == 3 and many.measure.shape[2] <= MEASURED


def test_node_tasks_take_the_whole_graph() -> None:
    replicas = [replica(20, 1), replica(20, 2)]
    plan = make_plan(replicas, Schedule(epochs=5, batch_size=2), 20)
    assert plan.steps == 1 and plan.train.tolist() == [[[0], [0]]]
    assert plan.labels is not None
    for r, one in enumerate(replicas):
        assert sorted(plan.labels[r].nonzero().flatten().tolist()) == sorted(one.train)
        assert sorted(plan.valid[r].nonzero().flatten().tolist()) == sorted(one.valid)


def test_the_rate_is_halved() -> None:
    assert [Schedule(halve_every=2).rate(epoch) for epoch in range(5)] == [1, 1, 0.5, 0.5, 0.25]
    assert Schedule(halve_every=None).rate(1000) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"train": []}, "nothing to train on"),
        ({"lr": 0.0}, "lr must be above 0"),
        ({"lr": float("nan")}, "lr must be above 0"),
        ({"weight_decay": -1.0}, "weight_decay must be 0 or more"),
        ({"dropout": 1.0}, "at least 0 and below 1"),
        ({"seed": -1}, "whole number from 0 to"),
    ],
)
def test_bad_replicas(options: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Replica(**{"train": [0], "valid": [], "test": [], **options})


@pytest.mark.parametrize("field", ["epochs", "batch_size", "halve_every", "steps"])
def test_bad_schedules(field: str) -> None:
    with pytest.raises(InputError, match=f"{field} must be a whole number of at least 1"):
        Schedule(**{field: 0})
