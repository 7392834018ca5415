from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from scipy.stats import ttest_1samp

from gpnn import GPNNClassifier
from gpnn.data.planted import planted
from gpnn.data.samples import Samples, encode_samples
from gpnn.data.split import inner_folds
from gpnn.errors import InputError
from gpnn.train.choose_scheme import Chosen, choose_scheme, decide
from gpnn.train.paired import paired, student_p
from gpnn.train.scheme_candidates import Candidate, candidates
from gpnn.train.search_log import Trial
from gpnn.train.train_config import TrainConfig

pytestmark = pytest.mark.usefixtures("one_thread")

SMALL = {"hidden": 8, "layers": 2, "interactions": "cross", "d": 1, "distances": False}


def gpnn(scheme: str, parts: int, **changes: Any) -> Candidate:
    options = {"gpnn": True, "scheme": scheme, "interactions": "edges", "d": 1, "distances": False}
    return Candidate({**options, **changes}, parts)


FOUND = [
    Candidate({"gpnn": False}),
    gpnn("trivial", 1),
    gpnn("core", 2),
    gpnn("wl-2", 9),
    gpnn("ego-2", 40),
    replace(gpnn("orbit", 99), refused="too many"),
]


def trials(values: np.ndarray, rung: int = 3) -> list[Trial]:
    """Rows of values: a candidate each."""
    return [
        Trial(n, rung, 9, {}, float(row.mean()), 0.1, 1, models=tuple(row.tolist()))
        for n, row in enumerate(values, start=1)
    ]


def choice(values: np.ndarray, metric: str = "accuracy", last: int = 3) -> Chosen:
    return decide(FOUND, trials(values, max(last, 1)), metric, [0.25] * 3, last)


def test_noise_is_no_gain() -> None:
    """Folds are hard or easy for all candidates alike; the rest is noise."""
    rng = np.random.default_rng(0)
    wrong = 0
    for _ in range(300):
        folds = rng.normal(0.7, 0.05, 10)
        values = folds + rng.normal(0, 0.04, (5, 10))
        wrong += choice(values).candidate is not FOUND[0]
    assert wrong <= 0.05 * 300


def test_the_simplest_within_one_error_of_the_best_is_chosen() -> None:
    rng = np.random.default_rng(1)
    noise = rng.normal(0, 0.01, (5, 10))
    level = np.array([0.6, 0.6, 0.8, 0.802, 0.9])[:, None]
    assert choice(level + noise).candidate.options["scheme"] == "ego-2"
    level[4] = 0.801
    found = choice(level + noise)
    assert found.candidate.options["scheme"] == "core"
    assert "established gain" in found.reason
    assert found.standing.gain == pytest.approx(0.2, abs=0.02)
    assert choice(1 - (level + noise), "mae").candidate.options["scheme"] == "core"
    assert found.standings[-1].reason == "too many"
    again = Chosen.from_dict(json.loads(json.dumps(found.to_dict())))
    assert again.candidate == found.candidate
    assert [s.gain for s in again.standings] == [s.gain for s in found.standings]


def test_no_partition_can_win() -> None:
    level = np.array([0.6, 0.8, 0.8, 0.7, 0.6])[:, None]
    found = choice(level + np.random.default_rng(2).normal(0, 0.01, (5, 10)))
    assert found.candidate.options["scheme"] == "trivial"
    assert found.applied({"scheme": "auto", "hidden": 9})["scheme"] == "trivial"
    base = choice(np.tile(0.5 + np.arange(10) / 100, (5, 1)))
    assert base.candidate is FOUND[0]
    assert base.applied({"d": 3, "labels": True, "hidden": 9}) == {"hidden": 9, "gpnn": False}


def test_too_little_time_keeps_the_base() -> None:
    level = np.array([0.5, 0.5, 1.0, 1.0, 1.0])[:, None] + np.zeros((5, 2))
    found = decide(FOUND, trials(level, 1), "accuracy", [0.25] * 3, 1)
    assert found.candidate is FOUND[0]
    assert "time was too short" in found.reason
    assert decide(FOUND, [], "accuracy", [0.25] * 3, 0).candidate is FOUND[0]


def test_without_the_correction_the_error_is_the_usual_one() -> None:
    x, y = np.random.default_rng(3).normal(size=(2, 12))
    gain, error = paired(x.tolist(), y.tolist(), True)
    assert error is not None
    wanted = ttest_1samp(x - y, 0, alternative="greater")
    assert student_p(gain, error, 11) == pytest.approx(wanted.pvalue)
    assert student_p(gain, error, 11, sides=2) == pytest.approx(ttest_1samp(x - y, 0).pvalue)
    corrected = paired(x.tolist(), y.tolist(), True, 0.25)[1]
    assert corrected == pytest.approx(error * np.sqrt(1 + 12 / 4))


def test_what_the_data_cannot_carry_is_left_out() -> None:
    samples = encode_samples(planted("core", 40))
    pool = np.arange(30)
    found = candidates(samples, pool, {"layers": 3})
    assert [one.title for one in found[:2]] == ["base alone", "trivial edges"]
    reasons = {one.title: one.refused for one in found if one.refused}
    assert reasons["core-degree edges"] == "the same parts as core"
    assert reasons["triangle edges"] == "the same parts as trivial"
    assert "fewer than 5 graphs" in reasons["ego-2 edges"] or "the same" in reasons["ego-2 edges"]
    carried = {one.title for one in found if not one.refused}
    assert {"core cross", "core edges", "core pairs", "core edges d=3 distances"} <= carried
    fixed = candidates(samples, pool, {"layers": 3, "interactions": "cross", "d": 2})
    assert {one.options.get("interactions", "cross") for one in fixed} == {"cross"}
    assert {one.options.get("d", 2) for one in fixed} == {2}


def choose(samples: Samples, folder: Path, **more: Any) -> Chosen:
    config = TrainConfig(epochs=6, batch_size=16, halve_every=3, device="cpu")
    return choose_scheme(samples, np.arange(len(samples)), SMALL, config, folder, **more)


def test_the_planted_scheme_is_found_and_the_choice_resumes(tmp_path: Path) -> None:
    samples = encode_samples(planted("core", 60))
    tried: list[tuple[str, int]] = []
    found = choose(samples, tmp_path, finished=lambda one, t: tried.append((one.title, t.rung)))
    assert found.candidate.options["scheme"] == "core"
    assert found.complete
    gain = found.standing.gain
    assert gain is not None and gain > 0.1
    assert {("base alone", rung) for rung in (1, 2, 3)} <= set(tried)
    assert {("trivial cross", rung) for rung in (1, 2, 3)} <= set(tried)
    again = choose(samples, tmp_path, finished=lambda *_: pytest.fail("trained again"))
    assert again.standings == found.standings
    with pytest.raises(InputError, match="holds another search"):
        choose(encode_samples(planted("core", 60, seed=1)), tmp_path)


def test_two_processes_choose_what_one_does(tmp_path: Path) -> None:
    samples = encode_samples(planted("core", 60))
    shares: list[float] = []
    one = choose(samples, tmp_path / "one")
    two = choose(samples, tmp_path / "two", jobs=2, progress=lambda *told: shares.append(told[2]))
    assert two.standings == one.standings
    assert (two.candidate, two.reason) == (one.candidate, one.reason)
    assert shares.count(1.0) == 3, "every rung is told to its end"
    assert not (tmp_path / "two" / "work").exists() or not list((tmp_path / "two/work").iterdir())
    late = choose(samples, tmp_path / "late", jobs=2, minutes=1e-9)
    assert (late.rung, late.complete) == (0, False)


def test_random_labels_keep_the_base(tmp_path: Path) -> None:
    found = choose(encode_samples(planted("none", 40)), tmp_path)
    assert found.candidate.title == "base alone"
    assert "no gain over the base is established" in found.reason


def test_inner_folds_cover_the_pool_and_nothing_else() -> None:
    samples = encode_samples(planted("core", 40))
    pool = np.arange(5, 35)
    folds = inner_folds(samples, pool, 5, seed=2)
    assert np.array_equal(np.sort(np.concatenate([one.valid for one in folds])), pool)
    for one in folds:
        assert np.array_equal(np.sort(np.concatenate([one.train, one.valid])), pool)
        assert not len(one.test)
    with pytest.raises(InputError, match="too few to choose"):
        inner_folds(samples, np.arange(9), 5)


def test_estimators_choose_too(tmp_path: Path) -> None:
    raw = planted("core", 40)
    y = raw.targets["class"].astype(int)
    graphs = [raw.graphs[k] for k in range(40)]
    model = GPNNClassifier(
        "auto", "cross", d=2, layers=1, hidden=8, epochs=6, batch_size=16, random_state=0,
        device="cpu",
    )  # fmt: skip
    model.fit(graphs, y)
    assert model.choice_.candidate.options["scheme"] == "core"
    model.save(tmp_path / "model")
    again = GPNNClassifier.load(tmp_path / "model")
    assert again.scheme == "core"
    assert again.model_.about["choice"]["chosen"] == model.choice_.candidate.title
    assert np.array_equal(again.predict(graphs), model.predict(graphs))
    for wrong in ({"folds": 3}, {"gpnn": False}, {"model": "gin"}):
        with pytest.raises(InputError, match="chooses on all graphs of fit"):
            GPNNClassifier("auto", **wrong).fit(graphs, y)  # type: ignore[arg-type]


def test_test_graphs_do_not_change_the_candidates() -> None:
    """Trees have one core shell; of complete graphs in the test part nothing may be seen."""
    trees = [nx.random_labeled_tree(12, seed=k) for k in range(40)]
    shown = []
    for others in ([nx.path_graph(8)] * 6, [nx.complete_graph(30)] * 6):
        samples, _ = GPNNClassifier().prepare([*trees, *others], [0, 1] * 23)
        shown.append(candidates(samples, np.arange(40), SMALL))
    assert shown[0] == shown[1]
