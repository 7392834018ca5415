from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GPNN_DATA", raising=False)
    monkeypatch.setenv("GPNN_CACHE", str(tmp_path / "cache"))


def test_the_list_shows_both_numbers_and_how_to_get_the_rest(gpnn: Callable[..., object]) -> None:
    done = gpnn("datasets")
    assert done.code == 0
    line = next(line for line in done.out.splitlines() if line.strip().startswith("MUTAG"))
    for said in ("188 (188)", "17.93 (17.93)", "19.79 (19.79)", "2 (2)", "7 labels", "embedded"):
        assert said in line
    line = next(line for line in done.out.splitlines() if line.strip().startswith("Texas"))
    assert "– (183)" in line
    assert "not found" in line
    flat = " ".join(done.out.split())
    assert "downloaded when first used: PTC_MR, BZR" in flat
    assert "Cora: put Cora.npz into the folder that --data or GPNN_DATA names" in flat


def test_json(gpnn: Callable[..., object]) -> None:
    done = gpnn("datasets", "mutag", "ZINC", "--json")
    document = json.loads(done.out)
    assert document["data"] is None
    mutag, zinc = document["datasets"]
    assert mutag["statistics"]["graphs"] == mutag["paper"]["graphs"] == 188
    assert mutag["differs"] == []
    assert (zinc["name"], zinc["found"], zinc["statistics"]) == ("ZINC12k", None, None)
    assert "both directions" in zinc["note"]


def test_a_damaged_dataset_spoils_its_own_row_only(
    gpnn: Callable[..., object], tmp_path: Path
) -> None:
    (tmp_path / "BZR.zip").write_bytes(b"not a zip")
    done = gpnn("datasets", "BZR", "MUTAG", "--data", tmp_path, "--json")
    assert done.code == 0
    bzr, mutag = json.loads(done.out)["datasets"]
    assert "truncated or not a readable zip" in bzr["problem"]
    assert mutag["statistics"] is not None
    assert "readable" in gpnn("datasets", "BZR", "--data", tmp_path).out


def test_other_names_are_refused(gpnn: Callable[..., object]) -> None:
    done = gpnn("datasets", "BREC")
    assert done.code == 2
    assert "BREC is neither one of the paper's benchmarks nor registered" in done.err
    assert "There is no dataset 'nope'" in gpnn("datasets", "nope").err
