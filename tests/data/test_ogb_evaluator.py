"""Our ROC-AUC against the evaluator of the Open Graph Benchmark.

ogb 1.3.6 cannot be imported under a current PyTorch, so its answers were recorded: the class
``Evaluator`` of its ``graphproppred/evaluate.py`` was run on the arrays that :func:`case` makes.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch

from gpnn.data.tasks import Task
from gpnn.train.metrics import measure

TASKS = {"ogbg-molhiv": 1, "ogbg-moltox21": 12, "ogbg-moltoxcast": 617}
RECORDED = {
    ("ogbg-molhiv", 0): 0.6516290726817042,
    ("ogbg-molhiv", 1): 0.7894185437401781,
    ("ogbg-moltox21", 0): 0.7677020475194574,
    ("ogbg-moltox21", 1): 0.745578104456638,
    ("ogbg-moltoxcast", 0): 0.7480005285767566,
    ("ogbg-moltoxcast", 1): 0.7570216640534975,
}


def case(name: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Labels and scores: missing labels, tasks that cannot be measured, many ties."""
    rng, tasks = np.random.default_rng(seed), TASKS[name]
    y = (rng.random((160, tasks)) < rng.uniform(0.02, 0.5, tasks)).astype(np.float64)
    y[rng.random(y.shape) < 0.3] = np.nan
    if tasks > 3:
        y[:, 0], y[:, 1], y[:, 2] = 0.0, np.nan, 1.0
    return y, (rng.random(y.shape) + 0.3 * np.nan_to_num(y)).round(1)


@pytest.mark.parametrize(("name", "seed"), RECORDED)
def test_equal_to_the_ogb_evaluator(name: str, seed: int) -> None:
    y, scores = case(name, seed)
    theirs = RECORDED[name, seed]
    ours = Task.MULTITASK.measure(torch.from_numpy(scores), torch.from_numpy(y))["roc_auc"]
    assert ours == pytest.approx(theirs, abs=1e-12)
    rows = torch.ones(1, len(y), dtype=torch.bool)
    pair = (torch.from_numpy(array)[None] for array in (scores, y))
    tasks = (1, 1, y.shape[1])
    plain = torch.zeros(tasks, dtype=torch.float64), torch.ones(tasks, dtype=torch.float64)
    found = measure(Task.MULTITASK, *pair, rows, *plain)
    names = ("loss", *Task.MULTITASK.metrics(y.shape[1]))
    assert float(found[names.index("roc_auc")]) == pytest.approx(theirs, abs=1e-12)
