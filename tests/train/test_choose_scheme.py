from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
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
from gpnn.train.choose_scheme import FIRST, _rung_splits, _shorter, choose_scheme
from gpnn.train.halving import Bracket, Ended, OutOfTime, run_rungs
from gpnn.train.paired import paired, student_p
from gpnn.train.replica import Schedule
from gpnn.train.scheme_candidates import Candidate, candidates, same_question
from gpnn.train.scheme_decision import Chosen, decide, is_ahead
from gpnn.train.search_log import Trial, TrialLog
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
    ended = Ended(last, last == 3)
    return decide(FOUND, trials(values, max(last, 1)), metric, [0.25] * 3, ended)


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
    found = decide(FOUND, trials(level, 1), "accuracy", [0.25] * 3, Ended(1, False))
    assert found.candidate is FOUND[0]
    assert "time was too short" in found.reason
    assert decide(FOUND, [], "accuracy", [0.25] * 3, Ended(0, False)).candidate is FOUND[0]


def test_a_base_that_cannot_be_trained_is_named() -> None:
    failed = Trial(1, 1, 9, {}, reason="too large for the memory")
    found = decide(FOUND, [failed], "accuracy", [0.25] * 3, Ended(1, True))
    assert found.reason == "the base alone could not be trained: too large for the memory"


@pytest.mark.parametrize("cosine", [False, True])
def test_trials_have_the_schedule_of_the_training_in_fewer_epochs(cosine: bool) -> None:
    train = TrainConfig(epochs=40, halve_every=20, cosine=cosine, patience=7, batch_size=16)
    assert _shorter(train, 0.25) == Schedule(10, 16, None if cosine else 5, cosine=cosine)


def test_training_on_blocks_is_refused(tmp_path: Path) -> None:
    samples = encode_samples(planted("core", 12))
    with pytest.raises(InputError, match="does not train on blocks: leave out fanout"):
        choose_scheme(samples, np.arange(12), {}, TrainConfig(fanout=(5, 5)), tmp_path)


def test_three_networks_decide_only_a_large_gain() -> None:
    """As in the second rung of a large set, when the time is up: t has two degrees of freedom."""
    noise = np.array([[0.50, 0.52, 0.51], [0.51, 0.52, 0.50]])
    large = choice(np.vstack([noise, [0.70, 0.73, 0.71]]), last=2)
    assert large.candidate.options["scheme"] == "core" and not large.complete
    small = choice(np.vstack([noise, [0.53, 0.54, 0.57]]), last=2)
    assert not small.candidate.options["gpnn"]
    assert not choice(np.vstack([noise[:, :2], [0.70, 0.73]]), last=2).candidate.options["gpnn"]


def test_the_last_rung_is_for_candidates_ahead_of_the_base() -> None:
    """Two standard errors ahead: tried again; behind, level or half an error ahead: not."""
    folds = np.array([0.5, 0.6, 0.7, 0.8, 0.9])
    noise = np.array([-0.02, 0.02, 0.0, -0.02, 0.02])
    error = 0.02 * np.sqrt(1 / 5 + 0.25)
    rows = [folds, *(folds + noise + c * error for c in (0, 2, -2, 0.5))]
    made = trials(np.array(rows), 2)
    assert [is_ahead(one, made[0], "accuracy", 0.25) for one in made] == [False, False, True, False,
                                                                        False]  # fmt: skip
    few = [replace(one, models=one.models[:3]) for one in made if one.number != 3]
    ended = decide(FOUND, few, "accuracy", [0.25] * 3, Ended(2, True))
    assert ended.complete and ended.rung == 2 and ended.candidate is FOUND[0]
    assert "no gain over the base is established" in ended.reason
    late = decide(FOUND, few, "accuracy", [0.25] * 3, Ended(2, False))
    assert not late.complete and "time was too short for all rungs" in late.reason


@pytest.mark.parametrize("signal", [True, False])
def test_a_search_ends_when_nothing_is_ahead(tmp_path: Path, signal: bool) -> None:
    tried: list[tuple[int, int]] = []

    def train(numbers: list[int], rung: int, _: Any) -> list[Trial]:
        (number,) = numbers
        tried.append((number, rung))
        values = 0.5 + 0.1 * np.arange(5) + (0.3 if signal and number in (3, 4) else 0)
        return [replace(trials(values[None], rung)[0], number=number)]

    bracket = Bracket(
        6, "accuracy", lambda alive, _: [[n] for n in alive], train, 2, (1.0, 1.0),
        partial(is_ahead, metric="accuracy", ratio=0.25),
    )  # fmt: skip
    ended = run_rungs(bracket, TrialLog(tmp_path, {}), None)
    third = [number for number, rung in tried if rung == 3]
    assert (ended.rung, third) == ((3, [1, 3, 4, 2]) if signal else (2, []))
    assert ended.complete


def test_a_noisy_lead_does_not_keep_a_sure_one_out_of_the_last_rung(tmp_path: Path) -> None:
    """Candidate 4 has the largest mean but is within one error of the base; 3 is ahead."""
    folds = 0.5 + 0.1 * np.arange(5)
    rows = [folds, folds, folds + 0.02, folds + np.array([0.5, -0.4, 0.4, -0.3, 0.0])]
    tried: list[tuple[int, int]] = []

    def train(numbers: list[int], rung: int, _: Any) -> list[Trial]:
        (number,) = numbers
        tried.append((number, rung))
        return [replace(trials(rows[number - 1][None], rung)[0], number=number)]

    bracket = Bracket(
        4, "accuracy", lambda alive, _: [[n] for n in alive], train, 2, (1.0, 0.4),
        partial(is_ahead, metric="accuracy", ratio=0.25),
    )  # fmt: skip
    assert run_rungs(bracket, TrialLog(tmp_path, {}), None) == Ended(3, True)
    assert [number for number, rung in tried if rung == 3] == [1, 3, 2]


class Clock:
    """A clock that only trainings advance, each by its rung."""

    now = 0.0

    def time(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("minutes", "tried", "ended"),
    [
        (3.5, [1], Ended(0, False)),  # no candidate beside the base
        (6.0, [2, 1], Ended(1, False)),  # nothing beside the base in rung 2
        (10.5, [4, 2], Ended(2, False)),  # the base and the best of rung 1
        (16.0, [6, 3, 1], Ended(2, False)),  # nothing beside the base in rung 3
        (18.5, [6, 3, 2], Ended(3, False)),
        (100.0, [6, 3, 3], Ended(3, True)),
    ],
)
def test_short_time_compares_the_best_candidates(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    minutes: float,
    tried: list[int],
    ended: Ended,
) -> None:
    """Rung 1 leaves time for the others, which begin with the base and the best candidate."""
    clock, done = Clock(), [list[int](), list[int](), list[int]()]
    monkeypatch.setattr("gpnn.train.halving.time", clock)

    def train(numbers: list[int], rung: int, tell: Any) -> list[Trial]:
        (number,) = numbers
        clock.now += rung
        if not tell(1, 1):
            raise OutOfTime
        done[rung - 1].append(number)
        values = 0.5 + 0.1 * np.arange(5) + 0.01 * number
        return [replace(trials(values[None], rung)[0], number=number)]

    bracket = Bracket(
        6, "accuracy", lambda alive, _: [[n] for n in alive], train, 2, (0.25, 1.0),
        partial(is_ahead, metric="accuracy", ratio=0.25), FIRST,
    )  # fmt: skip
    assert run_rungs(bracket, TrialLog(tmp_path, {}), minutes) == ended
    assert [len(own) for own in done if own] == tried
    for own in done[1:]:
        assert own[:2] == [1, max(done[0])][: len(own)]


def test_a_search_whose_trials_all_fail_is_complete(tmp_path: Path) -> None:
    bracket = Bracket(
        2, "accuracy", lambda alive, _: [[n] for n in alive],
        lambda numbers, rung, _: [Trial(numbers[0], rung, 9, {}, reason="too large")],
    )  # fmt: skip
    assert run_rungs(bracket, TrialLog(tmp_path, {}), None) == Ended(1, True)


def test_equal_differences_get_the_sign_test() -> None:
    gain, error = paired([0.8, 0.9, 0.7], [0.7, 0.8, 0.6], True)
    assert error is not None
    assert student_p(gain, error, 2) == 0.125 and student_p(gain, error, 2, sides=2) == 0.25
    assert student_p(-gain, error, 2) == 1.0 and student_p(0.0, 0.0, 2, sides=2) == 1.0


def test_values_that_are_equal_up_to_rounding_do_not_differ() -> None:
    """The same network trained beside others differs in the last bits."""
    values = np.array([2.1, 2.4, 2.2, 3.0, 2.8])
    gain, error = paired((values + 6e-8).tolist(), values.tolist(), False)
    assert (gain, error) == (0.0, 0.0)
    assert student_p(gain, error or 0.0, 4, sides=2) == 1.0


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
    alias = candidates(samples, pool, {"layers": 3, "interactions": "star", "d": 2})
    assert alias == fixed and [one.complexity for one in alias]
    assert same_question(alias, {"interactions": "star", "d": 2})


def test_counting_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Candidates that are too large to count are refused; finer ones than a refused one are not
    counted."""
    samples = encode_samples(planted("core", 20))
    monkeypatch.setattr("gpnn.train.scheme_candidates.WORK", 10)
    found = candidates(samples, np.arange(20), {"layers": 3})
    reasons = {one.title: one.refused for one in found}
    assert "before equal ones are merged, above 10" in reasons["core pairs d=3 distances"]
    assert not reasons["core edges"] and not reasons["core cross"]
    monkeypatch.undo()
    monkeypatch.setattr("gpnn.train.scheme_candidates.AFFORDABLE", 1)
    reasons = {one.title: one.refused for one in candidates(samples, np.arange(20), {"layers": 3})}
    assert reasons["core edges"].startswith("at least") and not reasons["trivial edges"]


def choose(samples: Samples, folder: Path, **more: Any) -> Chosen:
    config = TrainConfig(epochs=6, batch_size=16, halve_every=3, device="cpu")
    return choose_scheme(samples, np.arange(len(samples)), SMALL, config, folder, **more)


def test_the_planted_scheme_is_found_and_the_choice_resumes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    monkeypatch.setattr("gpnn.train.search_log.RESULTS", "0.0.1")
    with pytest.raises(InputError, match="holds another search"):
        choose(samples, tmp_path)


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


def test_a_large_pool_has_fewer_folds() -> None:
    samples = encode_samples(planted("core", 2_100))
    counts = [
        [len(own) for own in _rung_splits(samples, np.arange(size), 0, None)]
        for size in (2_000, 2_001)
    ]
    assert counts == [[2, 5, 10], [1, 3, 5]]


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
    assert again.choice_.candidate == model.choice_.candidate and again.choice_.complete
    assert "standings" not in repr(again.choice_)
    assert np.array_equal(again.predict(graphs), model.predict(graphs))
    refused: tuple[tuple[dict[str, Any], str], ...] = (
        ({"folds": 3}, "folds would measure on them"),
        ({"ensemble": 3, "calibrate": True}, "calibrate would measure on them"),
        ({"gpnn": False}, "leave out gpnn=False"),
        ({"model": "gin"}, "leave out model='gin'"),
    )
    for wrong, message in refused:
        with pytest.raises(InputError, match=message):
            GPNNClassifier("auto", **wrong).fit(graphs, y)
    with pytest.warns(UserWarning, match=r"too short.*stopped after 1e-06 minutes"):
        model.set_params(minutes=1e-6).fit(graphs, y)
    assert not model.choice_.candidate.options["gpnn"]
    assert not hasattr(model.set_params(scheme="core").fit(graphs, y), "choice_")


def test_test_graphs_do_not_change_the_candidates() -> None:
    """Trees have one core shell; of complete graphs in the test part nothing may be seen."""
    trees = [nx.random_labeled_tree(12, seed=k) for k in range(40)]
    shown = []
    for others in ([nx.path_graph(8)] * 6, [nx.complete_graph(30)] * 6):
        samples, _ = GPNNClassifier().prepare([*trees, *others], [0, 1] * 23)
        shown.append(candidates(samples, np.arange(40), SMALL))
    assert shown[0] == shown[1]
