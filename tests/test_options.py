"""One rule per field: what it accepts, and what it says."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import pytest

from gpnn.errors import InputError
from gpnn.graph.structure import Structure
from gpnn.nn.config import GPNNConfig
from gpnn.options import RULES, Choice, Flag, Number, Whole, check_options
from gpnn.reproduce.recipe import Recipe
from gpnn.train.replica import Replica, Schedule
from gpnn.train.train_config import TrainConfig


@pytest.mark.parametrize(
    ("rule", "value", "said"),
    [
        (Whole(1), 0, "must be a whole number of at least 1; got 0"),
        (Whole(1), True, "must be a whole number of at least 1; got True"),
        (Whole(1, 5), 6, "must be a whole number from 1 to 5; got 6"),
        (Number(), float("nan"), "must be 0 or more; got nan"),
        (Number(above=True), 0, "must be above 0; got 0"),
        (Number(0, 1, below=True), 1.0, "must be at least 0 and below 1; got 1.0"),
        (Number(), "1", "must be 0 or more; got '1'"),
        (Choice(("a", None)), "b", "cannot be 'b'. Choose one of a, None"),
        (Choice(("a",)), ["a"], "cannot be"),
        (Flag(), 1, "must be True or False; got 1"),
    ],
)
def test_what_is_refused(rule: Whole | Number | Choice | Flag, value: object, said: str) -> None:
    with pytest.raises(InputError, match=f"width {said}"):
        rule.read("width", value)


def test_values_become_plain() -> None:
    @dataclass(frozen=True)
    class Held:
        layers: int = np.int64(3)
        lr: float = 1
        patience: int | None = None

    held = Held()
    check_options(held, ("layers", "lr", "patience"), optional=("patience",))
    assert (type(held.layers), type(held.lr), held.patience) == (int, float, None)


def test_every_rule_is_used_and_every_object_shares_it() -> None:
    names = {
        field.name
        for cls in (Structure, GPNNConfig, Replica, Schedule, TrainConfig, Recipe)
        for field in fields(cls)
    }
    assert set(RULES) - names == {"trials"}  # of the nested space of a recipe
