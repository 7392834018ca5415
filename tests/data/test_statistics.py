from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from gpnn.data import statistics as module
from gpnn.data.datasets import DATASETS
from gpnn.data.statistics import PAPER, DatasetStatistics, dataset_statistics


@pytest.fixture(autouse=True)
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GPNN_DATA", raising=False)
    monkeypatch.setenv("GPNN_CACHE", str(tmp_path / "cache"))


def write_set(path: Path, label: int) -> None:
    """Three graphs called BZR: two edges, one edge, a triangle."""
    path.parent.mkdir(exist_ok=True)
    edges = "1, 2\n2, 1\n2, 3\n3, 2\n4, 5\n5, 4\n6, 7\n7, 6\n7, 8\n8, 7\n6, 8\n8, 6\n"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("BZR/BZR_A.txt", edges)
        archive.writestr("BZR/BZR_graph_indicator.txt", "1\n1\n1\n2\n2\n3\n3\n3\n")
        archive.writestr("BZR/BZR_graph_labels.txt", f"1\n-1\n{label}\n")
        archive.writestr("BZR/BZR_node_labels.txt", "0\n0\n1\n4\n0\n1\n1\n1\n")


def forbid(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("it was counted again")

    monkeypatch.setattr(module, "_count", refuse)


def test_every_benchmark_of_the_paper_is_a_dataset() -> None:
    assert set(PAPER) <= set(DATASETS)
    assert len(PAPER) == 15


def test_counted_by_hand(tmp_path: Path) -> None:
    write_set(tmp_path / "data" / "BZR.zip", 1)
    found = dataset_statistics("BZR", tmp_path / "data")
    assert found == DatasetStatistics(3, 8 / 3, 2.0, 2, 1, "labels", 3, 0, 0)
    assert PAPER["BZR"].differences(found) == ["graphs", "nodes", "edges"]


def test_mutag_is_at_hand_and_equals_the_paper() -> None:
    found = dataset_statistics("MUTAG")
    assert found is not None
    assert (found.graphs, found.classes, found.features, found.edge_labels) == (188, 2, 7, 4)
    assert PAPER["MUTAG"].differences(found) == []


def test_absent_is_none_and_nothing_is_downloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a download")

    monkeypatch.setattr("gpnn.data.download.download", refuse)
    assert dataset_statistics("PTC_MR") is None


def test_remembered_by_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_set(tmp_path / "data" / "BZR.zip", 1)
    first = dataset_statistics("BZR", tmp_path / "data")
    for kept in (tmp_path / "cache" / "statistics").iterdir():
        assert kept.name.startswith("BZR-")
    with monkeypatch.context() as patch:
        forbid(patch)
        assert dataset_statistics("BZR", tmp_path / "data") == first
    write_set(tmp_path / "data" / "BZR.zip", 7)
    second = dataset_statistics("BZR", tmp_path / "data")
    assert second is not None
    assert second.classes == 3


def test_damaged_memory_is_counted_again(tmp_path: Path) -> None:
    first = dataset_statistics("MUTAG")
    (kept,) = (tmp_path / "cache" / "statistics").iterdir()
    for text in ("{", "[]", '{"graphs": 3}', ""):
        kept.write_text(text)
        assert dataset_statistics("MUTAG") == first


@pytest.mark.data
@pytest.mark.parametrize("name", [name for name in PAPER if name != "ogbg-molhiv"])
def test_the_benchmarks_equal_the_paper(name: str, data_dir: Path) -> None:
    found = dataset_statistics(name, data_dir)
    assert found is not None
    assert PAPER[name].differences(found) == []
