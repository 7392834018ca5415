"""Suites: what they hold and how they are counted."""

from __future__ import annotations

import pytest

from gpnn.errors import InputError
from gpnn.lab.methods import Method, comparison_methods, suite_methods
from gpnn.lab.suites import load_suite, run_suite


def test_the_atlas_falls_into_known_classes():
    suite = load_suite("atlas")
    result = run_suite(suite, [Method("1-wl"), Method("3-wl"), Method("isomorphism")])
    assert (result["suite"], result["graphs"]) == ("atlas", 1252)
    one, three, exact = (row["classes"] for row in result["results"])
    assert one < three == exact == 1252


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "size", "one", "three"),
    [
        ("brec", 400, 0, 270),
        ("csl", 150, 1, 10),
        ("sr", 507, 8, 8),
        ("exp", 600, 0, 600),
        ("cexp", 600, 300, 600),
    ],
)
def test_wl_on_the_suites(data_dir, name, size, one, three):
    suite = load_suite(name, str(data_dir))
    assert suite.size == size
    result = run_suite(suite, [Method("1-wl"), Method("3-wl")])
    count = "distinguished" if suite.paired else "classes"
    assert [row[count] for row in result["results"]] == [one, three]
    assert all(row[count] == sum(row["by_category"].values()) for row in result["results"])


@pytest.mark.data
def test_brec_by_category(data_dir):
    suite = load_suite("brec", str(data_dir))
    result = run_suite(suite, [Method("3-wl"), Method("lambda", "ego-1")])
    by_category = result["results"][0]["by_category"]
    assert sum(by_category.values()) == 270 and len(by_category) >= 6
    assert result["results"][1]["distinguished"] > 200


def test_selection_of_methods():
    assert len(suite_methods()) == 2 + 6 * 3
    chosen = suite_methods(["gpnn"], ["core"], ["pairs"], [1, 2], True)
    assert [str(method) for method in chosen] == [
        "core gpnn pairs +dist",
        "core gpnn pairs d=2 +dist",
    ]
    assert chosen[0].as_row() == {
        "test": "gpnn", "scheme": "core", "interactions": "pairs", "d": 1, "distances": True,
    }  # fmt: skip
    assert [str(m) for m in comparison_methods(["core"])][2:4] == [
        "core lambda",
        "core partition-isomorphism",
    ]


def test_an_unknown_suite_lists_the_choices():
    with pytest.raises(InputError, match="Choose one of: atlas, brec, csl, sr, exp, cexp, graph8c"):
        load_suite("qm9")
