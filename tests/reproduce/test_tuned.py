"""The fair comparison: searches for all models alike, tuned recipes, tested gains."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_rel

from gpnn.errors import InputError
from gpnn.reproduce import tuned as module
from gpnn.reproduce.gains import gains_of, holm
from gpnn.reproduce.jobs import Job, Row
from gpnn.reproduce.protocols import get_protocol
from gpnn.reproduce.recipe import Recipe, load_recipe
from gpnn.reproduce.report import to_markdown
from gpnn.reproduce.results import collect
from gpnn.reproduce.run_job import record_key
from gpnn.reproduce.search import Search, Searched
from gpnn.reproduce.search_space import SearchSpace
from gpnn.reproduce.tables import columns, jobs_of, make_job
from gpnn.reproduce.tuned import TUNED, compared_rows, run_searches, tuned_recipe
from gpnn.reproduce.width import count_parameters, sized_options
from gpnn.train.search_log import Trial
from train.cycles import samples

LOGS = Path(__file__).parents[2] / "docs" / "results" / "searches"
GPNN = Row("GIN", "core-degree", "cross")
RECIPE = Recipe("toy", "toy", epochs=4, hidden=8, layers=2)


def test_every_tuned_recipe_is_the_best_trial_of_its_log() -> None:
    spaces: dict[str, Any] = {}
    seen = 0
    for dataset in TUNED:
        for name, row in compared_rows(GPNN).items():
            recipe = tuned_recipe(dataset, row)
            if recipe is None:
                continue
            seen += 1
            log = (LOGS / dataset / name / "trials.jsonl").read_text("utf-8").splitlines()
            about, *trials = map(json.loads, log)
            assert len({trial["number"] for trial in trials}) >= 12
            plan = about["search"]
            shared = {k: plan[k] for k in ("space", "search")}
            assert spaces.setdefault(dataset, shared) == shared
            last = [trial for trial in trials if trial["rung"] == 3]
            sign = 1 if dataset.startswith("ZINC") else -1
            best = min(last, key=lambda trial: (sign * trial["value"], trial["number"]))
            start = {**plan["recipe"], **best["values"]}
            assert {k: v for k, v in recipe.to_dict().items() if k != "bases"} == {
                k: v for k, v in start.items() if k != "bases"
            }
    assert seen >= 8


def test_a_recipe_may_say_how_many_parameters(one_thread: None) -> None:  # noqa: ARG001
    data = samples()
    for row in (Row("GIN"), GPNN):
        job = Job(replace(RECIPE, parameters=9_000), row, "tu")
        options = sized_options(data, job)
        made = count_parameters(data, options)
        near = [
            count_parameters(data, {**options, "hidden": options["hidden"] + step})
            for step in (-1, 1)
        ]
        assert all(abs(made - 9_000) <= abs(other - 9_000) for other in near)
        assert job.key != Job(RECIPE, row, "tu").key
    wide = Job(replace(RECIPE, parameters=9_000), GPNN.widened, "tu")
    assert wide.rival is None


def test_all_models_are_searched_alike(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The same space, trials and seed; the widened base gets the parameters that GPNN was found
    with; what means nothing to a base is left out."""
    seen: list[tuple[Search, Path]] = []

    def pretend(search: Search, out: Path, minutes: float | None, **_: Any) -> Searched:
        assert minutes is None
        seen.append((search, out))
        best = Trial(1, 3, 4, {}, value=0.5, parameters=1_234)
        return Searched("accuracy", (best,), best, out / "best.toml", True)

    monkeypatch.setattr(module, "run_search", pretend)
    space = SearchSpace.parse({"lr": [0.1, 0.01], "d": [1, 2]}, RECIPE)
    search = Search(RECIPE, GPNN, space, trials=2, models=3, share=0.5)
    found = run_searches(search, tmp_path)
    assert list(found) == ["GPNN", "GPNN-trivial", "GIN", "GIN-wide"]
    assert [out.name for _, out in seen] == list(found)
    plans = {out.name: own for own, out in seen}
    assert {(p.trials, p.models, p.share, p.seed) for p in plans.values()} == {(2, 3, 0.5, 0)}
    assert set(plans["GIN"].space.dimensions) == {"lr"} != set(plans["GPNN"].space.dimensions)
    assert plans["GIN-wide"].recipe.parameters == 1_234
    assert plans["GIN"].recipe.parameters == plans["GPNN"].recipe.parameters == 0


def test_share_shortens_every_rung() -> None:
    from gpnn.reproduce.search_trial import rung_recipe

    recipe = replace(RECIPE, epochs=400, halve_every=0, cosine=True, warmup=20)
    space = SearchSpace.parse({"lr": [0.1, 0.01]}, recipe)
    search = Search(recipe, GPNN, space, share=0.25)
    assert [rung_recipe(search, {"lr": 0.1}, rung).epochs for rung in (1, 2, 3)] == [25, 50, 100]
    assert rung_recipe(search, {"lr": 0.1}, 3).warmup == 5
    with pytest.raises(InputError, match="share must be above 0"):
        replace(search, share=0.0)


def test_seeds_takes_thirty_of_the_recipes_own_configuration() -> None:
    for column in columns("seeds"):
        for row in column.rows:
            nested = make_job(column.dataset, row, "tu-nested", False, table="seeds").recipe.nested
            assert (nested.trials, nested.seeds) == (1, 30)
    one = next(job for job in jobs_of(["seeds"], ["MUTAG/GIN"]))
    assert one.recipe.lr == load_recipe("MUTAG").lr


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_is_the_step_down_rule(values: list[float]) -> None:
    """By its definition: the k-th smallest is rejected at a level if it and all smaller ones are
    below level / (m - k + 1)."""
    corrected = holm(values)
    order = np.argsort(values, kind="stable")
    for level in (0.01, 0.05, 0.3, 0.9):
        rejected = np.zeros(len(values), bool)
        for rank, place in enumerate(order):
            if values[place] * (len(values) - rank) >= level:
                break
            rejected[place] = True
        assert [one < level for one in corrected] == rejected.tolist()


def record(dataset: str, row: Row, values: list[float]) -> dict[str, Any]:
    rule = get_protocol("ogb")
    key = record_key(make_job(dataset, row, rule.family, False, table="tuned"), rule)
    return {
        "key": key, "metric": "roc_auc", "mean": float(np.mean(values)), "std": 0.01,
        "error": 0.01, "folds": 1, "seeds": len(values), "parameters": 1, "commit": "c",
        "device": "d", "versions": {}, "seconds": 1.0, "data": "x",
        "values": [
            {"fold": 0, "seed": k, "value": v, "epoch": 1} for k, v in enumerate(values)
        ],
    }  # fmt: skip


def test_gains_are_tested_in_pairs_and_the_page_begins_with_the_verdict() -> None:
    rng = np.random.default_rng(0)
    noise = rng.normal(0, 0.01, 10)
    wide = (0.75 + noise).tolist()
    better = (0.78 + noise + rng.normal(0, 0.002, 10)).tolist()
    rows = compared_rows(GPNN)

    def page(dataset: str, gpnn: list[float]) -> tuple[list[Any], str]:
        held = {"GPNN": gpnn, "GPNN-trivial": wide, "GIN": wide, "GIN-wide": wide}
        made = [record(dataset, rows[name], values) for name, values in held.items()]
        parts = collect("tuned", {one["key"]: one for one in made})
        own = [part for part in parts if part.column.dataset == dataset]
        return gains_of(own), to_markdown("tuned", own, "gpnn reproduce tuned")

    gains, text = page("ogbg-moltox21", better)
    first = next(one for one in gains if one.entry.row == GPNN and one.rival == "over_wide")
    assert first.p == pytest.approx(ttest_rel(better, wide).pvalue)
    assert first.established and first.corrected is not None and first.corrected > (first.p or 0)
    assert text.splitlines()[2] == "The partition pays on ogbg-moltox21."
    _, same = page("ogbg-moltox21", (np.array(wide) + rng.normal(0, 0.01, 10)).tolist())
    assert same.splitlines()[2].endswith("the partition adds nothing that is established.")
    _, worse = page("ogbg-moltox21", (np.array(wide) - 0.03 + rng.normal(0, 0.002, 10)).tolist())
    assert worse.splitlines()[2].endswith("it is worse than a model without it, significantly.")
    few, _ = page("ogbg-moltox21", better[:4])  # the rivals have ten seeds
    first = next(one for one in few if one.entry.row == GPNN and one.rival == "over_wide")
    assert first.p == pytest.approx(ttest_rel(better[:4], wide[:4]).pvalue)


def test_a_verdict_names_the_model_where_there_are_several() -> None:
    """One GPNN that beats its rivals does not make up for another that loses to them."""
    rng = np.random.default_rng(0)
    rule = get_protocol("tu-nested")
    column = next(one for one in columns("seeds") if one.dataset == "MUTAG")
    level = {"cross": -0.04, "edges": 0.04, "": 0.0}
    noise = rng.normal(0, 0.01, 10)
    records = {}
    for row in column.rows:
        job = make_job("MUTAG", row, rule.family, False, table="seeds")
        values = 0.8 + noise + level[row.interactions] + rng.normal(0, 0.002, 10)
        records[record_key(job, rule)] = {
            **record("ogbg-moltox21", row, values.tolist()), "metric": "accuracy",
            "key": record_key(job, rule), "folds": 10, "seeds": 1,
            "values": [{"fold": k, "seed": 0, "value": v, "epoch": 1}
                       for k, v in enumerate(values.tolist())],
        }  # fmt: skip
    parts = [part for part in collect("seeds", records) if part.column.dataset == "MUTAG"]
    assert to_markdown("seeds", parts, "gpnn reproduce seeds").splitlines()[2] == (
        "The partition pays on MUTAG (GPNN core-degree edges on GIN). On MUTAG (GPNN core-degree "
        "cross on GIN) it is worse than a model without it, significantly."
    )
