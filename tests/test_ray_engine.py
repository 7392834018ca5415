"""Trainings, trials and shards on a Ray cluster: machines pretended by processes, some of which are
lost."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gpnn.data.prepare_table import prepare_table
from gpnn.errors import InputError
from gpnn.graph.structure import Structure
from gpnn.ray_engine import RemoteTask, cluster, run_tasks, write_folder
from gpnn.reproduce.jobs import Job, Row
from gpnn.reproduce.recipe import load_recipe
from gpnn.reproduce.runs import Runs
from gpnn.reproduce.search import Search, run_search
from gpnn.reproduce.search_space import SearchSpace
from gpnn.reproduce.workers import Settings, Watch, run_all
from gpnn.train.search_log import LOG
from train.cycles import samples

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


def add_machine(machines: Any) -> Any:
    return machines.add_node(num_cpus=1, object_store_memory=10**8)


@pytest.fixture
def machine(machines: Any) -> Any:
    """The cluster with a machine at least."""
    if not machines.worker_nodes:
        add_machine(machines)
    return machines


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

    lost = add_machine(machines)
    shares = []

    def tell(number: int, what: str, value: Any) -> None:
        assert number == 0
        if what == "share":
            shares.append(value)
            if len(shares) == 3:
                add_machine(machines)
                machines.remove_node(lost, allow_graceful=False)

    write_folder(tmp_path / "own", {"deep/steps": b"5"})
    task = RemoteTask(count, tmp_path / "own", "work/own", every=0.2)
    ((number, (first, steps)),) = run_tasks([task], tell=tell)
    assert (number, steps) == (0, 60)
    assert 5 < first < 60  # what the lost machine had sent
    assert (tmp_path / "own" / "deep" / "steps").read_text() == "60"


@pytest.mark.data
@pytest.mark.usefixtures("machine")
def test_records_equal_those_of_the_local_engine(tmp_path: Path) -> None:
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


@pytest.mark.usefixtures("machine", "one_thread")
@pytest.mark.parametrize("named", [True, False])
def test_trials_equal_those_of_the_local_engine(named: bool, tmp_path: Path) -> None:
    """Of a dataset that every machine reads itself, and of samples that travel."""
    recipe = replace(load_recipe("MUTAG"), epochs=4, hidden=4, batch_size=64)
    space = {"layers": [1, 2], "lr": [0.1, 0.01]}
    search = Search(recipe, Row("GIN", "core", "cross"), SearchSpace.parse(space, recipe),
                    trials=4, models=1, quick=True)  # fmt: skip
    found, given = [], None if named else samples()
    for engine in ("ray", "local"):
        shares: list[float] = []
        done = run_search(
            search, tmp_path / engine, device="cpu", samples=given, engine=engine,
            progress=lambda *words, shares=shares: shares.append(words[-1]),
        )  # fmt: skip
        assert done.complete and not list((tmp_path / engine / "work").glob("*"))
        lines = (tmp_path / engine / LOG).read_text().splitlines()
        trials = [json.loads(line) for line in lines]
        assert all(trial.pop("seconds") > 0 for trial in trials[1:])
        found.append([trials, (tmp_path / engine / "best.toml").read_text()])
    assert found[0] == found[1] and len(found[0][0]) == 1 + 4 + 2 + 1


@pytest.mark.usefixtures("machine")
def test_a_search_that_is_out_of_time_goes_on(tmp_path: Path) -> None:
    recipe = replace(load_recipe("MUTAG"), epochs=4, hidden=4, layers=1, batch_size=64)
    space = SearchSpace.parse({"lr": [0.1, 0.01]}, recipe)
    search = Search(recipe, Row("GIN"), space, trials=2, models=1, quick=True)
    first = run_search(search, tmp_path, minutes=1e-9, device="cpu", engine="ray")
    assert (first.complete, first.trials) == (False, ())
    assert run_search(search, tmp_path, device="cpu", engine="ray").complete


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tables") / "t.csv"
    rows = [f"{'C' * (1 + k % 7)}{'NOS'[k % 3]}C{'c1ccccc1' * (k % 2)},{k}" for k in range(24)]
    rows[5] = "unreadable,5"
    path.write_text("smiles,y\n" + "\n".join(rows) + "\n")
    return path


@pytest.mark.filterwarnings("ignore:1 of 24 rows")
def test_prepared_folders_equal_those_of_the_local_engine(
    machine: Any, table: Path, tmp_path: Path
) -> None:
    """Although the only machine is lost after the first shard."""
    pytest.importorskip("rdkit", reason="molecules need RDKit")
    reached: list[int] = []

    def lose(rows: int) -> None:
        reached.append(rows)
        if len(reached) == 1:
            (lost,) = machine.worker_nodes
            add_machine(machine)
            machine.remove_node(lost, allow_graceful=False)

    options: dict[str, Any] = {"structure": Structure("core", d=1, layers=1), "shards": 4}
    found = []
    for engine, report in (("ray", lose), ("local", None)):
        out = tmp_path / engine
        found.append(prepare_table(str(table), out, engine=engine, report=report, **options))
        assert json.loads((out / "prepared.json").read_text()) == found[-1]
    assert found[0] == found[1] and found[0]["graphs"] == 23
    assert sorted(reached) == reached and reached[-1] == 24 and len(reached) == 4


def test_engines_that_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = pytest.importorskip("ray", reason="Ray is not installed: the extra ray")
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    for engine, answer in (
        ("dask", "Choose local, ray"),
        ("ray://", "Choose local, ray"),
        ("ray://127.0.0.1:1", "No Ray cluster answers at 127.0.0.1:1"),
        ("ray://127.0.0.1", "No Ray cluster answers at 127.0.0.1"),
    ):
        with pytest.raises(InputError, match=answer), cluster(engine):
            pass
    monkeypatch.setattr(ray, "__version__", "2.9.3")
    with pytest.raises(InputError, match=r"Ray 2\.50 or later; here is 2\.9\.3"), cluster("ray"):
        pass
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match="Install gpnn with the extra ray"), cluster("ray"):
        pass


@pytest.mark.parametrize("name", ["../x", "/x", "a/../../x"])
def test_no_file_is_written_outside_the_folder(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="outside its folder"):
        write_folder(tmp_path / "own", {name: b""})
    assert not (tmp_path / "x").exists()
