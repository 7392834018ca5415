from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpnn.data.samples import load_samples
from gpnn.data.split import make_folds
from gpnn.errors import InputError


def test_demo(gpnn: Callable[..., Any], tmp_path: Path) -> None:
    result = gpnn("demo", "--folds", 3, "--epochs", 1, "--out", tmp_path)
    assert result.code == 0, result.err
    for said in ("MUTAG: 188 graphs",
                 "Molecule 2 partitioned by core-degree", "GPNN on GIN", "s.d.",
                 "small demonstration split, not a benchmark: 188 molecules, 3 folds",
                 "larger class gives 66.5%", "GPNN less GIN, fold by fold",
                 "has not seen: predicted", "Shapley value"):  # fmt: skip
        assert said in result.out, said
    assert "GIN: 3 folds, validation accuracy" in result.err
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"molecule.png", "distribution.png", "curves.png", "explanation.png", "model"}
    again = gpnn("explain", tmp_path / "model", "MUTAG:1", "--out", tmp_path / "why.png")
    assert again.code == 0, again.err


def test_folds_test_every_molecule_once() -> None:
    samples = load_samples("MUTAG")
    found = make_folds(samples, 10)
    assert np.array_equal(np.sort(np.concatenate([s.test for s in found])), np.arange(188))
    for split in found:
        assert sum(split.sizes.values()) == 188
    with pytest.raises(InputError, match="3 folds or more"):
        make_folds(samples, 2)
