from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpnn import GPNNRegressor, search_estimator
from gpnn.reproduce import table_search

pytestmark = pytest.mark.usefixtures("one_thread")


def test_search_for_an_estimator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rdkit")
    space = {"lr": [0.01, 0.003], "d": [1, 2], "join": ["beside"]}
    monkeypatch.setattr(table_search, "SPACE", space)
    monkeypatch.setattr(table_search, "TRIALS", 2)
    texts, y = ["C" * k + "O" for k in range(1, 21)], np.arange(20.0)
    tiny: dict[str, Any] = {"layers": 1, "hidden": 4, "device": "cpu", "random_state": 0}
    asked = GPNNRegressor(**tiny, epochs=4, patience=4, d=2, descriptors="rdkit")
    found = search_estimator(asked, texts, y, minutes=5, folder=tmp_path)
    trials = [json.loads(line) for line in (tmp_path / "trials.jsonl").read_text().splitlines()[1:]]
    last = [trial for trial in trials if trial["rung"] == max(own["rung"] for own in trials)]
    best = min(last, key=lambda trial: trial["value"])["values"]
    assert {name: getattr(found, name) for name in best} == best
    assert (found.ensemble, found.epochs, found.descriptors, found.hidden) == (5, 4, ["rdkit"], 4)
    assert asked.ensemble == 1 and not hasattr(found, "model_")
    fitted = found.set_params(ensemble=1).fit(texts, y)
    assert fitted.model_.config.structure.d == found.d
