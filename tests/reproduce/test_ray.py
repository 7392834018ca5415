"""Jobs on a Ray cluster: two machines, pretended by processes, one of which is lost."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gpnn.errors import InputError
from gpnn.reproduce.jobs import Job, Row
from gpnn.reproduce.ray_engine import Task, cluster, run_tasks, write_folder
from gpnn.reproduce.recipe import load_recipe
from gpnn.reproduce.runs import Runs
from gpnn.reproduce.workers import Settings, Watch, run_all

TIMED = ("seconds", "about")


@pytest.fixture(scope="module")
def machines() -> Iterator[Any]:
    """A head without cores, to which machines can be added."""
    pytest.importorskip("ray", reason="Ray is not installed: the extra ray")
    import ray
    from ray.cluster_utils import Cluster

    many = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 0, "object_store_memory": 10**8, "include_dashboard": False},
    )
    ray.init(address=many.address, log_to_driver=False, logging_level=40)
    try:
        yield many
    finally:
        ray.shutdown()
        many.shutdown()


def test_a_lost_machine_loses_no_work(machines: Any, tmp_path: Path) -> None:
    """Steps are counted in the folder: the second machine goes on from the last copy."""

    def count(folder: Path, tell: Callable[[float], None]) -> tuple[int, int]:
        path = folder / "deep" / "steps"
        path.parent.mkdir(parents=True, exist_ok=True)
        first = int(path.read_text()) if path.is_file() else 0
        for step in range(first, 60):
            path.write_text(str(step + 1))
            time.sleep(0.1)
            tell((step + 1) / 60)
        return first, int(path.read_text())

    lost = machines.add_node(num_cpus=1, object_store_memory=10**8)
    shares = []

    def tell(number: int, what: str, value: Any) -> None:
        assert number == 0
        if what == "share":
            shares.append(value)
            if len(shares) == 3:
                machines.add_node(num_cpus=1, object_store_memory=10**8)
                machines.remove_node(lost, allow_graceful=False)

    write_folder(tmp_path / "own", {"deep/steps": b"5"})
    task = Task(count, tmp_path / "own", "work/own", every=0.2)
    ((number, (first, steps)),) = run_tasks([task], tell=tell)
    assert (number, steps) == (0, 60)
    assert 5 < first < 60  # what the lost machine had sent
    assert (tmp_path / "own" / "deep" / "steps").read_text() == "60"


@pytest.mark.data
def test_records_equal_those_of_the_local_engine(machines: Any, tmp_path: Path) -> None:
    if not machines.worker_nodes:
        machines.add_node(num_cpus=1, object_store_memory=10**8)
    recipe = replace(load_recipe("MUTAG"), epochs=2, hidden=4, layers=1, seeds=1, batch_size=64)
    jobs = [
        Job(recipe, Row("GIN"), "tu", True),
        Job(recipe, Row("GIN", "core", "cross"), "tu", True),
    ]
    refused = Job(replace(recipe, dataset="nothing"), Row("GIN"), "tu", True)
    ended = []

    class Seen(Watch):
        def ended(self, job: Job, ending: str, seconds: float) -> None:  # noqa: ARG002
            ended.append(ending.partition(":")[0])

    found = []
    for engine in ("ray", "local"):
        out = tmp_path / engine
        outcome = run_all([*jobs, refused], Settings(str(out), device="cpu"), None, Seen(), engine)
        assert (outcome.finished, list(outcome.refused), outcome.left) == (2, [refused.name], 0)
        records = Runs(out).read()
        found.append(
            {
                key: {name: value for name, value in record.items() if name not in TIMED}
                for key, record in records.items()
            }
        )
        assert not list((out / "work").glob("*/*"))
    assert found[0] == found[1] and len(found[0]) == 4
    assert sorted(ended) == ["done"] * 4 + ["refused"] * 2


def test_engines_that_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for engine, answer in (
        ("dask", "Choose local, ray"),
        ("ray://", "Choose local, ray"),
        ("ray://127.0.0.1:1", "Nobody answers at 127.0.0.1:1"),
        ("ray://127.0.0.1", "Nobody answers at 127.0.0.1"),
    ):
        pytest.importorskip("ray", reason="Ray is not installed: the extra ray")
        monkeypatch.setattr("ray.is_initialized", lambda: False)
        with pytest.raises(InputError, match=answer), cluster(engine):
            pass


@pytest.mark.parametrize("name", ["../x", "/x", "a/../../x"])
def test_no_file_is_written_outside_the_folder(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="outside its folder"):
        write_folder(tmp_path / "own", {name: b""})
    assert not (tmp_path / "x").exists()
