"""Tables, cells and jobs; the paper's figures."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpnn.errors import InputError
from gpnn.reproduce.jobs import Row, key_of
from gpnn.reproduce.paper import Figure, cells, figure, published
from gpnn.reproduce.recipe import list_recipes
from gpnn.reproduce.tables import (
    ALL,
    PAPER,
    columns,
    jobs_of,
    make_job,
    named,
    selected,
)  # fmt: skip


def test_every_column_has_a_recipe_and_every_gpnn_its_baselines() -> None:
    for table in (*PAPER, "seeds"):
        for column in columns(table):
            assert column.dataset in list_recipes()
            for row in column.rows:
                if row.gpnn:
                    assert {row.plain, row.widened} <= set(column.rows)


def test_every_cell_of_the_paper_is_trained_or_quoted() -> None:
    for cell in cells():
        column = next(c for c in columns(cell.table) if c.dataset == cell.dataset)
        row = Row(cell.base or "GIN", cell.scheme, cell.interactions)
        if cell.method != "GPNN":
            row = Row(cell.method)
        assert row in column.rows or cell.method in column.quoted


def test_regression_has_one_part_with_the_same_radius_as_a_control() -> None:
    for column in columns("regression"):
        jobs = [
            make_job(column.dataset, row, "zinc", quick=False) for row in column.rows if row.gpnn
        ]
        reach = {(job.spec["model"]["d"], job.spec["model"].get("distances")) for job in jobs}
        assert {job.row.scheme for job in jobs} == {"trivial", "core-degree"} and reach == {
            (3, True)
        }


def test_figures_come_from_the_table_first() -> None:
    core_degree = ("GPNN", "", "core-degree", "edges")
    assert figure("schemes", "", "ogbg-moltox21", *core_degree) == Figure(75.98, 0.4)
    assert figure("graph-classification", "", "ogbg-moltox21", *core_degree) == Figure(75.89, 0.3)
    assert figure("interactions", "1", "MUTAG", "GIN") == Figure(89.4, 5.6)
    assert figure("interactions", "1", "DHFR", "GIN") is None
    assert len(cells()) == 211 and len(published("partitions")) == 15


def test_jobs_are_shared_between_tables() -> None:
    both = jobs_of(["graph-classification", "interactions"])
    each = [jobs_of([table]) for table in ("graph-classification", "interactions")]
    assert len(both) < sum(map(len, each))
    assert len({job.key for job in both}) == len(both)
    assert {job.family for job in both} == {"tu", "tu-nested", "ogb"}


def test_a_field_that_came_later_changes_no_key_at_its_old_value() -> None:
    """Keys of records that were made before there was ``head``; other values have other keys."""
    job = make_job("MUTAG", Row("GIN", "core-degree", wide=True), "tu", quick=False)
    told = job.spec
    assert "head" not in {*told["model"], *told["rival"], *told["recipe"]}
    other = replace(job, recipe=replace(job.recipe, head="linear"))
    assert other.spec["model"]["head"] == other.spec["rival"]["head"] == "linear"
    assert other.key != job.key == key_of(told)


def test_only_takes_patterns_and_the_baselines_with_them() -> None:
    found = jobs_of(["interactions"], ["mutag/gpnn/core-degree/pairs"])
    titles = {job.row.title for job in found}
    assert titles == {"GIN", "GIN (wide: core-degree)", "GPNN core-degree pairs on GIN"}
    assert {job.recipe.name for job in found} == {"MUTAG"}
    assert {job.row.title for job in jobs_of(["interactions"], ["*/GIN"])} == {"GIN"}
    assert {job.row.scheme for job in jobs_of(["schemes"], ["//core*"])} >= {"core", "core-onion"}
    assert len(selected(columns("regression")[0], ["*/GCN", "*/GIN"])) == 2
    two = jobs_of(["interactions"], ["DHFR/GIN", "COX2/GIN"])
    assert {job.recipe.name for job in two} == {"COX2", "DHFR"}


def test_names_that_mean_nothing_are_refused() -> None:
    with pytest.raises(InputError, match=r"Nothing matches MUTAGG.*Datasets are MUTAG"):
        jobs_of(["interactions"], ["MUTAGG"])
    with pytest.raises(InputError, match="more than four parts"):
        jobs_of(["interactions"], ["a/b/c/d/e"])
    with pytest.raises(InputError, match=r"no table 'x'. Choose one of graph-classification"):
        named("x")
    assert named("all") == ALL


def test_edge_labels_choose_the_base() -> None:
    by_name = {job.name: job for job in jobs_of(["regression"])}
    assert by_name["ZINC-edge-features/GIN/zinc"].options["base"] == "gine"
    assert by_name["ZINC-no-edge-features/GIN/zinc"].options["base"] == "gin"
    assert "ZINC-edge-features/GCN/zinc" not in by_name


def test_peers_have_rows_where_the_paper_quotes_them_and_recipes_of_their_own() -> None:
    from gpnn.nn.peers import PEERS as NETWORKS
    from gpnn.nn.peers import peer_of
    from gpnn.reproduce.jobs import PEERS

    assert {peer.title: name for name, peer in NETWORKS.items()} == PEERS
    for cell in cells():
        if cell.method in PEERS:
            column = next(c for c in columns(cell.table) if c.dataset == cell.dataset)
            assert Row(cell.method) in column.rows
    everywhere = [c for c in columns("peers") if c.dataset in ("MUTAG", "IMDB-BINARY")]
    assert all({Row(name) for name in PEERS} < set(column.rows) for column in everywhere)
    for job in jobs_of(["peers"]):
        if job.row.peer:
            spec = peer_of(job.options["base"])
            assert spec is not None and not job.options["gpnn"]
    found = jobs_of(["graph-classification"], ["*/cin"], protocols=["tu-1"])
    assert {(job.row.method, job.family) for job in found} == {("CIN", "tu")} and len(found) == 4
    job = make_job("ZINC-edge-features", Row("CIN"), "zinc", quick=False)
    assert job.options["base"] == "cin:rings=18" and job.options["hidden"] == 128
