"""From jobs to pages: what is written, what a page says, and that nothing is lost or doubled."""

from __future__ import annotations

import json
import math
import os
import re
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpnn.cli._pages import write_pages
from gpnn.errors import InputError
from gpnn.reproduce import run_job, workers
from gpnn.reproduce.jobs import Job
from gpnn.reproduce.peer_report import points
from gpnn.reproduce.reproduce import reproduce
from gpnn.reproduce.results import collect, gain
from gpnn.reproduce.runs import Runs
from gpnn.reproduce.tables import NOTHING, jobs_of
from gpnn.reproduce.workers import Watch

pytestmark = pytest.mark.usefixtures("one_thread")
TABLE = "graph-classification"
PAPER = {"tu-1": (91.02, 7.1), "tu-2": (97.89, 2.6)}
ONLY = ["MUTAG/GPNN/core-degree/cross"]
JOBS = 6  # base, widened base and GPNN, by two families
RECORDS = 9


class Counting(Watch):
    def __init__(self) -> None:
        self.begun: list[str] = []
        self.said: list[str] = []

    def started(self, job: Job) -> None:
        self.begun.append(job.name)

    def ended(self, job: Job, said: str, seconds: float) -> None:  # noqa: ARG002
        self.said.append(said)


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """MUTAG, one GPNN and its baselines, quickly."""
    folder = tmp_path_factory.mktemp("out")
    watch = Counting()
    done = reproduce([TABLE], folder, ONLY, quick=True, device="cpu", watch=watch)
    assert watch.said == ["done"] * JOBS
    assert (done.already, done.outcome.finished, done.outcome.left) == (0, JOBS, 0)
    files = write_pages([TABLE], folder, "gpnn reproduce X", True, None, {}, NOTHING)
    assert [path.name for path in files] == [f"{TABLE}.md", f"{TABLE}.png", "runs.jsonl"]
    assert not any((folder / "work").iterdir())
    return folder


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "runs.jsonl").read_text().splitlines()]


def test_a_line_says_everything(out: Path) -> None:
    records = lines(out)
    assert len(records) == len({record["key"] for record in records}) == RECORDS
    for record in records:
        assert record["quick"] is True and record["metric"] == "accuracy"
        assert record["model"]["layers"] == record["recipe"]["layers"] == 2
        assert set(record["versions"]) == {
            *("gpnn", "results", "torch", "torch_geometric", "numpy", "python")
        }
        assert record["commit"] and record["device"] and record["seconds"] > 0
        assert len(record["values"]) == record["folds"] * record["seeds"]
        assert (out / "curves" / f"{record['key'].partition(':')[0]}.npz").is_file()
    sizes = {record["method"]: record["parameters"] for record in records}
    gpnn, wide = sizes["GPNN core-degree cross on GIN"], sizes["GIN (wide: core-degree)"]
    assert wide == pytest.approx(gpnn, rel=0.1) and sizes["GIN"] < gpnn / 2


def test_finished_jobs_are_not_done_again(out: Path) -> None:
    before = (out / "runs.jsonl").read_bytes()
    watch = Counting()
    done = reproduce([TABLE], out, ONLY, quick=True, device="cpu", watch=watch)
    assert watch.begun == [] and done.already == JOBS
    assert (out / "runs.jsonl").read_bytes() == before


def test_records_lost_are_made_from_the_curves(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second protocol needs no second training."""
    monkeypatch.setattr(run_job, "train_staged", None)
    path = out / "runs.jsonl"
    before = path.read_text().splitlines()
    path.write_text("".join(f"{line}\n" for line in before if '"protocol": "tu-2"' not in line))
    done = reproduce([TABLE], out, ONLY, quick=True, device="cpu")
    assert done.outcome.finished == 3
    assert sorted(path.read_text().splitlines()) == sorted(before)


def test_outdated_records_are_trained_again(out: Path, tmp_path: Path) -> None:
    """Curves and records of a version with other results are replaced, one for one."""
    wanted: dict[str, Any] = {"only": ["MUTAG/GIN"], "quick": True, "device": "cpu"}
    ours = [r for r in lines(out) if r["method"] == "GIN"]
    keys = {record["key"].partition(":")[0] for record in ours}
    others = [r for r in lines(out) if r["method"] != "GIN"]
    (tmp_path / "curves").mkdir()
    for key in keys:
        with np.load(out / "curves" / f"{key}.npz") as file:
            arrays = dict(file)
        facts = json.loads(str(arrays["facts"]))
        arrays["facts"] = np.array(json.dumps({**facts, "versions": {"gpnn": "0.0.1"}}))
        np.savez(tmp_path / "curves" / f"{key}.npz", **arrays)
    old = [{**r, "mean": 0.0, "versions": {"gpnn": "0.0.1"}} for r in ours]
    text = "".join(f"{json.dumps(one)}\n" for one in [*old, *others])
    (tmp_path / "runs.jsonl").write_text(text, encoding="utf-8")
    plans = []
    done = reproduce(
        [TABLE], tmp_path, **wanted, minutes=1e-6, planned=lambda *plan: plans.append(plan)
    )
    assert done.outcome.left == 2 and lines(tmp_path) == [*old, *others]
    done = reproduce([TABLE], tmp_path, **wanted, planned=lambda *plan: plans.append(plan))
    assert done.outcome.finished == 2
    assert [(len(jobs), outdated, already) for jobs, outdated, already, _ in plans] == [
        (2, 2, 0)
    ] * 2
    again = {record["key"]: record for record in lines(tmp_path)}
    assert len(again) == len(lines(tmp_path)) == RECORDS
    for record in ours:
        new = again[record["key"]]
        assert (new["mean"], new["values"]) == (record["mean"], record["values"])
        assert new["versions"] == record["versions"]
    assert reproduce([TABLE], tmp_path, **wanted).already == 2


def test_the_page_holds_the_numbers_of_the_records(out: Path) -> None:
    """Recomputed here from the JSON lines with Python's own statistics."""
    page = (out / f"{TABLE}.md").read_text(encoding="utf-8")
    assert "QUICK" in page.splitlines()[0] and "Made by `gpnn reproduce" in page
    records = {(r["protocol"], r["method"]): r for r in lines(out)}
    for protocol in ("tu-1", "tu-2", "tu-nested"):
        row = _row(page, protocol, "GPNN core-degree cross on GIN")
        record = records[protocol, "GPNN core-degree cross on GIN"]
        mean, std = _summary(record)
        assert row["measured"] == f"{mean:.2f} ± {std:.2f}"
        assert row["parameters"] == f"{record['parameters']:,}"
        if protocol in PAPER:
            theirs, spread = PAPER[protocol]
            assert row["paper"] == f"{theirs:.2f} ± {spread:.2f}"
            away = (mean - theirs) / math.sqrt(std**2 + spread**2)
            assert row["difference"] == f"{away:+.2f}"
        else:
            assert row["paper"] == row["difference"] == "—"
        for column, name in (("base", "GIN"), ("wide base", "GIN (wide: core-degree)")):
            gain, error = _gain(record, records[protocol, name], OVERLAP[protocol])
            assert row[f"gain over {column}"] == f"{gain:+.2f} ± {error:.2f}"
    assert _row(page, "tu-1", "GPNN core-degree edges on GIN")["measured"] == "—"
    assert page.count("chooses the epoch on the test folds") >= 3
    assert _row(page, "tu-2", "KP-GIN (quoted)")["paper"] == "95.60 ± 4.40"


def _row(page: str, protocol: str, method: str) -> dict[str, str]:
    section = page.split("\n## MUTAG\n")[1].split("\n## ")[0]
    table = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in section.splitlines()
        if line.startswith("|")
    ]
    found = [row for row in table if row[:2] == [protocol, method]]
    assert len(found) == 1
    return dict(zip(table[0], found[0], strict=True))


def _by_seed(record: dict[str, Any]) -> dict[int, dict[int, float]]:
    found: dict[int, dict[int, float]] = {}
    for one in record["values"]:
        found.setdefault(one["seed"], {})[one["fold"]] = 100 * one["value"]
    return found


def _summary(record: dict[str, Any]) -> tuple[float, float]:
    seeds = [list(folds.values()) for folds in _by_seed(record).values()]
    return (
        statistics.mean(value for folds in seeds for value in folds),
        statistics.mean(statistics.stdev(folds) for folds in seeds),
    )


OVERLAP = {"tu-1": 1 / 9, "tu-2": 1 / 9, "tu-nested": 1 / 8}
"""Size of a test part over that of a training part."""


def _gain(
    record: dict[str, Any], other: dict[str, Any], overlap: float = 0.0
) -> tuple[float, float]:
    ours, theirs = _by_seed(record), _by_seed(other)
    folds = sorted(next(iter(ours.values())))
    per_fold = [statistics.mean(ours[s][f] - theirs[s][f] for s in ours) for f in folds]
    error = statistics.stdev(per_fold) * math.sqrt(1 / len(per_fold) + overlap)
    return statistics.mean(per_fold), error


def test_models_of_different_versions_are_not_compared(out: Path) -> None:
    records = {(r["protocol"], r["method"]): r for r in lines(out)}
    ours, theirs = (records["tu-1", name] for name in ("GPNN core-degree cross on GIN", "GIN"))
    assert gain(ours, theirs) is not None
    for versions in ({**theirs["versions"], "results": "0.0.1"}, {"gpnn": "0.0.1"}):
        assert gain(ours, {**theirs, "versions": versions}) is None
    assert gain(ours, {**theirs, "versions": {"gpnn": theirs["versions"]["results"]}}) is not None


def test_an_empty_store_gives_an_empty_table() -> None:
    parts = collect("regression", {})
    assert all(entry.measured is None for part in parts for entry in part.entries)
    assert all(part.title.startswith("ZINC-12k, resampled train") for part in parts)


def test_out_of_time_is_clean_and_goes_on(tmp_path: Path) -> None:
    wanted: dict[str, Any] = {"only": ["MUTAG/GIN"], "quick": True, "device": "cpu"}
    done = reproduce([TABLE], tmp_path, **wanted, minutes=1e-6)
    assert done.outcome.finished == 0 and done.outcome.left == 2
    write_pages([TABLE], tmp_path, "x", True, None, {}, NOTHING)
    assert "No run is finished yet" in (tmp_path / f"{TABLE}.md").read_text()
    again = reproduce([TABLE], tmp_path, **wanted)
    assert again.outcome.finished == 2 and again.outcome.left == 0
    assert reproduce([TABLE], tmp_path, **wanted, fresh=True).outcome.finished == 2
    assert len(lines(tmp_path)) == 3


def test_a_dataset_that_is_missing_does_not_stop_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run_job(job: Job, *_: Any) -> bool:
        if job.recipe.name == "COX2":
            raise InputError("COX2 was not found.")
        return True

    monkeypatch.setattr(workers, "run_job", run_job)
    jobs = jobs_of(["interactions"], ["*/GIN"])
    outcome = workers.run_all(jobs, workers.Settings(str(tmp_path)), 1, Watch())
    assert len(outcome.refused) == 2 and outcome.finished == len(jobs) - 2 and outcome.left == 0


def test_killed_and_resumed_nothing_is_lost_or_doubled(out: Path, tmp_path: Path) -> None:
    """kill -9 in the middle; the same command again, in two processes, ends with what an
    undisturbed run gives."""
    words = ["reproduce", TABLE, "--quick", "--device", "cpu", "--only", "MUTAG/GIN", "--only"]
    words += ["MUTAG/GIN-wide"]
    command = [sys.executable, "-m", "gpnn", *words, "--out", str(tmp_path)]
    path = tmp_path / "runs.jsonl"
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as first:
        deadline = time.time() + 120
        while time.time() < deadline and not (path.is_file() and path.read_bytes().count(b"\n")):
            time.sleep(0.02)
        os.kill(first.pid, signal.SIGKILL)
    kept = path.read_bytes()
    kept = kept[: kept.rfind(b"\n") + 1]
    assert 1 <= kept.count(b"\n") < 6
    again = subprocess.run(
        [*command, "--jobs", "2"], capture_output=True, text=True, timeout=200, check=False
    )
    assert again.returncode == 0, again.stderr
    assert re.search(r"\d+ trainings to do, \d+ done already", again.stderr)
    assert path.read_bytes().startswith(kept)
    ours, theirs = ({r["key"]: r for r in lines(folder)} for folder in (tmp_path, out))
    assert len(lines(tmp_path)) == len(ours) == 6 and set(ours) < set(theirs)
    for key, record in ours.items():
        assert record["values"] == theirs[key]["values"]
    assert Runs(tmp_path).read().keys() == ours.keys()


def test_the_page_of_the_peers(tmp_path: Path) -> None:
    wanted: dict[str, Any] = {"quick": True, "device": "cpu", "protocols": ["tu-1"]}
    done = reproduce(["peers"], tmp_path, ["MUTAG/CIN", "MUTAG/GIN"], **wanted)
    assert done.outcome.finished == 2
    row = {"test": "cin", "distinguished": 7, "untrained": 8, "exact": None, "unreliable": 0,
           "by_category": {"Basic": 7}, "refused": [3]}  # fmt: skip
    others = [
        {**row, "test": "ppgn", "published": 233, "exact": 270},
        {**row, "test": "gin", "exact": 0},
    ]
    brec = {"suite": "brec", "pairs": 400, "results": [row, *others]}
    (tmp_path / "brec.json").write_text(json.dumps(brec))
    write_pages(["peers", TABLE], tmp_path, "x", True, None, {}, NOTHING)
    assert "Not measured: `gpnn bench peers --json" in (tmp_path / "peers.md").read_text()
    cost = {"workload": "molecules", "seconds": 0.002, "seconds_ratio": 1.0, "memory": 3e6,
            "memory_ratio": 1.0, "prepare_seconds": 0.5, "parameters": 1234}  # fmt: skip
    steps = {"device": "a CPU", "layers": 4, "hidden": 8, "workloads": {"molecules": "8 of MUTAG"},
             "quick": False, "replicas": 1,
             "rows": [{**cost, "method": "gin", "model": "gine"},
                      {**cost, "method": "cin", "model": "cin", "seconds_ratio": 2.5}]}  # fmt: skip
    (tmp_path / "steps.json").write_text(json.dumps(steps))
    write_pages(["peers", TABLE], tmp_path, "x", True, None, {}, NOTHING)
    page = (tmp_path / "peers.md").read_text()
    record = next(r for r in lines(tmp_path) if r["method"] == "CIN" and r["protocol"] == "tu-1")
    assert f"| CIN | {100 * record['mean']:.2f} ± {100 * record['std']:.2f} (92.70 ± 6.10)" in page
    assert "| cin | 2.00 | 2.5 | 3.0 | 1.0 | 0.500 | 1,234 |" in page and "(a CPU)" in page
    shown = points(collect("peers", Runs(tmp_path).read(), True, {}, NOTHING), steps)
    assert [one[:2] for one in shown["MUTAG (tu-1: epoch chosen on test)"]] == [
        ("GIN", 1.0),
        ("CIN", 2.5),
    ]
    assert "Quoted and not measured: GraphSNN on MUTAG (tu-1), ESAN on MUTAG (tu-1)" in page
    assert "| cin | — | — | 8 | **7** | 7 | 0 | 1 |" in page
    assert "| ppgn | 233 | 270 | 8 |" in page and "| gin | — | 0 | 8 |" in page
    table = (tmp_path / f"{TABLE}.md").read_text()
    assert (
        "| CIN (quoted) |" not in table.split("## PTC_MR")[0].split("## MUTAG")[1].split("tu-2")[0]
    )
    assert "ESAN (quoted)" in table
    assert "all graphs of the workload" in page
    gin = steps["rows"][0]
    partly = {name: gin[name] for name in ("workload", "method", "model", "seconds", "memory")}
    for name, content, message in (
        ("brec.json", {"suite": "sr", "pairs": 400}, "results is missing"),
        ("brec.json", {**brec, "results": []}, "results must be a list of 1 or more"),
        ("brec.json", {**brec, "pairs": 60}, "has 60 pairs of BREC, not 400"),
        ("brec.json", {**brec, "results": [{**row, "refused": 3}]}, "refused must be a list"),
        ("brec.json", {**brec, "results": [{**row, "bound": "x"}]}, "bound must be a whole number"),
        ("steps.json", {"rows": []}, "workloads is missing"),
        ("steps.json", {**steps, "quick": True}, "was measured with --quick"),
        ("steps.json", {**steps, "replicas": 10}, "was measured with --quick"),
        ("steps.json", {**steps, "rows": [{**gin, "seconds": "x"}]}, "seconds must be 0 or more"),
        ("steps.json", {**steps, "rows": [{**gin, "memory": None}]}, "memory must be 0 or more"),
        ("steps.json", {**steps, "rows": [{"method": "a"}]}, "workload is missing"),
        ("steps.json", {**steps, "rows": [partly]}, "prepare_seconds is missing"),
    ):
        before = (tmp_path / name).read_text()
        (tmp_path / name).write_text(json.dumps(content))
        with pytest.raises(InputError, match=rf"{name}.*{message}"):
            write_pages(["peers"], tmp_path, "x", True, None, {}, NOTHING)
        (tmp_path / name).write_text(before)
