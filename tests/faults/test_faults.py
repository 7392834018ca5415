"""Faults in the middle of commands: a few of them here, all by ``make faults``."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from faults.inject import KINDS
from faults.run import Faults

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@pytest.fixture(scope="module", params=["train", "predict", "reproduce"])
def faults(request: pytest.FixtureRequest) -> Iterator[Faults]:
    made = Faults(request.param)
    yield made
    made.close()


def test_faults_leave_nothing_wrong_behind(faults: Faults) -> None:
    """The last write, an early rename and the first fsync; each in its way."""
    for (what, place), kind in zip(
        (("write", -1), ("fsync", 0), ("replace", 1)), KINDS, strict=True
    ):
        found = [k for k, one in enumerate(faults.operations, start=1) if one.startswith(what)]
        faults.fail(found[min(place, len(found) - 1)], kind)
