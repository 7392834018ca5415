"""Results in order, and workers that cannot start."""

from __future__ import annotations

import os
from functools import partial
from typing import Any

import pytest

from gpnn.errors import InputError
from gpnn.pool import ordered_map


def test_results_come_in_order() -> None:
    answers = list(ordered_map(partial, (divmod, 100), range(1, 9), jobs=2))
    assert answers == [divmod(100, k) for k in range(1, 9)]


def test_a_worker_that_cannot_start_says_why() -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        list(ordered_map(int, ("x",), range(3), jobs=2))  # type: ignore[arg-type]
    die: Any = os._exit
    with pytest.raises(InputError, match="No worker process could start"):
        list(ordered_map(die, (1,), range(3), jobs=2))
