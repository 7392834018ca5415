"""A prepared folder holds what the table at once gives, and training from it is the same."""

from __future__ import annotations

import errno
import os
import random
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from gpnn import files
from gpnn.data.prepare_table import prepare_table
from gpnn.data.prepared_folder import PreparedSamples, load_prepared
from gpnn.data.samples import Samples, load_samples
from gpnn.data.shards import ShardMaker
from gpnn.data.split import make_split
from gpnn.errors import InputError, OutputError
from gpnn.graph.structure import Structure
from gpnn.train.fit import fit
from gpnn.train.loop import train_replicas
from gpnn.train.replica import Replica, Schedule
from gpnn.train.train_config import TrainConfig

pytest.importorskip("rdkit", reason="molecules need RDKit")
pytestmark = [
    pytest.mark.usefixtures("one_thread"),
    pytest.mark.filterwarnings("ignore:.*(rows of|not seen|altered).*"),
]
RINGS = ("c1ccccc1", "C1CCCC1", "c1ccncc1", "C1CCNCC1", "c1ccoc1", "C1CC1", "", "[N+](=O)[O-]")
STRUCTURE = Structure("core-degree", d=2, layers=2, distances=True, labels=True)
ROWS, GRAPHS = 60, 54


def write_table(path: Path, extra: bool = True) -> Path:
    """60 molecules sorted by target; some rows are blank, unreadable or without a label."""
    rng = random.Random(1)
    rows = []
    for k in range(ROWS):
        text = f"{rng.choice('CNOS')}{'C' * rng.randint(1, 6)}{rng.choice(RINGS)}"
        rows.append((f"{text}{'F' * (k > 40)}", round(len(text) + rng.random(), 3)))
    rows.sort(key=lambda row: row[1])
    lines = [f"{text},{value},{k}" for k, (text, value) in enumerate(rows)]
    if extra:
        lines[7], lines[15], lines[16], lines[44] = "Xx,3,1", "", "CCO,,2", "CCN,inf,3"
    path.write_text("smiles,y,name\n" + "\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_table(tmp_path_factory.mktemp("tables") / "t.csv")


@pytest.fixture(scope="module")
def folder(table: Path) -> Path:
    out = table.parent / "prepared"
    prepare(table, out)
    return out


def prepare(table: Path, out: Path, **options: Any) -> dict[str, Any]:
    return prepare_table(
        str(table), out, target="y", structure=STRUCTURE, **{"shards": 5, **options}
    )


def test_samples_are_those_of_the_table(table: Path, folder: Path) -> None:
    found, wanted = load_samples(str(folder)), load_samples(str(table), "y")
    assert isinstance(found, PreparedSamples) and len(found) == len(wanted) == GRAPHS
    assert found.encoder == wanted.encoder and found.ids == wanted.ids
    assert [(s.row, s.id, s.reason) for s in found.skipped] == [
        (s.row, s.id, s.reason) for s in wanted.skipped
    ]
    assert found.y is not None and wanted.y is not None
    assert found.x is not None and wanted.x is not None
    assert found.edge_labels is not None and wanted.edge_labels is not None
    assert torch.equal(found.y, wanted.y) and torch.equal(found.x.long(), wanted.x)
    np.testing.assert_array_equal(found.edge_labels[:], wanted.edge_labels)
    for name in ("ptr", "indptr", "indices"):
        np.testing.assert_array_equal(getattr(found.graphs, name), getattr(wanted.graphs, name))
    assert make_split(found, 3).digest() == make_split(wanted, 3).digest()


def curves(samples: Samples) -> Any:
    split = make_split(samples, 0)
    replicas = [
        Replica(split.train, split.valid, split.test, seed, dropout=0.3) for seed in range(2)
    ]
    schedule = Schedule(epochs=3, batch_size=16, halve_every=None)
    options = {"structure": STRUCTURE, "hidden": 8}
    return train_replicas(samples, options, replicas, schedule, device="cpu", dtype=torch.float64)


def test_training_equals_training_from_the_table(table: Path, folder: Path) -> None:
    """In float64, dropout included: classes that are numbered by shard change nothing."""
    found, wanted = curves(load_prepared(folder)), curves(load_samples(str(table), "y"))
    np.testing.assert_allclose(found.loss, wanted.loss, rtol=1e-9)
    np.testing.assert_allclose(found.valid, wanted.valid, rtol=1e-9)


def test_models_are_the_same(table: Path, folder: Path, tmp_path: Path) -> None:
    """Parts that no training graph has are dropped, labels forgotten, metrics measured."""
    results = []
    for samples in (load_prepared(folder), load_samples(str(table), "y")):
        prepared = isinstance(samples, PreparedSamples)
        options = {"hidden": 8} if prepared else {"structure": STRUCTURE, "hidden": 8}
        results.append(
            fit(samples, options, TrainConfig(epochs=2), folder=tmp_path / str(id(samples)))
        )
    one, other = (result.loaded for result in results)
    assert one.members[0].vocabulary.to_dict() == other.members[0].vocabulary.to_dict()
    fresh = load_samples(str(table), like=one.encoder, labelled=False)
    torch.testing.assert_close(one.predict(fresh), other.predict(fresh), rtol=1e-3, atol=1e-3)
    assert results[0].metrics["test"]["mae"] == pytest.approx(
        results[1].metrics["test"]["mae"], rel=1e-3
    )


def test_batches_mix_all_shards(folder: Path) -> None:
    """The table is sorted by target; every batch holds rows of most of its shards."""
    samples = load_prepared(folder)
    replica = Replica(np.arange(len(samples)), [], [])  # type: ignore[arg-type]
    for batch in Schedule(epochs=1, batch_size=14).batches(replica, 0, 4):
        assert len(set((samples.rows[batch] // 12).tolist())) >= 4


def test_other_options_are_refused(folder: Path) -> None:
    samples = load_prepared(folder)
    with pytest.raises(InputError, match=r"prepared for .*d=2.*2 layers, and the model reads"):
        fit(samples, {"hidden": 8, "d": 1}, TrainConfig(epochs=1))
    with pytest.raises(InputError, match="its targets, columns and split are decided"):
        load_samples(str(folder), "y")


@pytest.mark.parametrize("harm", ["missing", "truncated", "altered", "manifest", "unfinished"])
def test_damage_is_refused(folder: Path, tmp_path: Path, harm: str) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    victim = copy / "entry_tuple.1.npy"
    content = victim.read_bytes()
    if harm == "missing":
        victim.unlink()
    elif harm == "truncated":
        victim.write_bytes(content[:-8])
    elif harm == "altered":
        victim.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    elif harm == "manifest":
        text = (copy / "prepared.json").read_text()
        (copy / "prepared.json").write_text(text.replace(f'"graphs": {GRAPHS}', '"graphs": 57'))
    else:
        (copy / "prepared.json").unlink()
        (copy / "shards").mkdir()
    said = {
        "missing": r"entry_tuple.1.npy is missing\. Copy the folder again",
        "truncated": r"is truncated or altered: it has [\d,]+ bytes where",
        "altered": r"is altered: its checksum does not match",
        "manifest": r"prepared.json is altered",
        "unfinished": r"has not finished\. Run the same 'gpnn prepare' again",
    }
    with pytest.raises(InputError, match=said[harm]):
        load_samples(str(copy))


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("*.*") if path.is_file()}


class Killed(BaseException):
    pass


def test_an_interrupted_preparation_goes_on(
    table: Path, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, made = tmp_path / "p", []
    real = ShardMaker.__call__

    def stops(self: ShardMaker, task: Any) -> int:
        if len(made) == 3 and -1 not in made:
            raise Killed
        made.append(task.number)
        return real(self, task)

    monkeypatch.setattr(ShardMaker, "__call__", stops)
    with pytest.raises(Killed):
        prepare(table, out)
    damaged = out / "shards" / "1" / "indices.npy"
    damaged.write_bytes(damaged.read_bytes()[:-1])
    made[:] = [-1]
    with pytest.warns(UserWarning, match=r"indices.npy is truncated .* It is prepared again"):
        prepare(table, out)
    assert made == [-1, 1, 3, 4]
    made.clear()
    assert contents(out) == contents(folder)
    assert prepare(table, out)["graphs"] == GRAPHS and not made  # it is finished
    with pytest.raises(InputError, match=r"another preparation \(other rows\)"):
        prepare(table, out, shards=2)
    prepare(table, out, shards=2, fresh=True)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").touch()
    with pytest.raises(InputError, match="is not empty"):
        prepare(table, tmp_path / "full")


def test_a_full_disk_ends_in_a_message_and_the_same_call_goes_on(
    table: Path, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the middle of a shard, and while shards are joined."""
    real, left = files.to_disk, [0]

    def fills(path: Path) -> None:
        left[0] -= 1
        if left[0] == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(path)

    monkeypatch.setattr(files, "to_disk", fills)
    for room in (200, 330):
        left[0] = room
        with pytest.raises(OutputError, match=r"Cannot write .*No space left on device"):
            prepare(table, tmp_path / "p")
    assert (tmp_path / "p" / "shards" / "4" / "shard.json").is_file()
    assert not (tmp_path / "p" / "prepared.json").exists()
    left[0] = 0
    prepare(table, tmp_path / "p")
    assert contents(tmp_path / "p") == contents(folder)


def test_a_shard_without_molecules(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("smiles,y\n" + "Xx,1\n" * 4 + "CCO,1.5\nCCN,2.5\nCC,3.5\nCCCC,4.5\n" * 3)
    about = prepare_table(str(path), tmp_path / "p", structure=STRUCTURE, shards=4)
    assert about["graphs"] == 12 and len(load_prepared(tmp_path / "p").ids) == 12


def test_two_processes_and_a_split_column(folder: Path, table: Path, tmp_path: Path) -> None:
    lines = table.read_text().splitlines()
    parts = ["split", *(("train", "train", "valid", "test")[k % 4] for k in range(ROWS))]
    split = tmp_path / "split.csv"
    split.write_text(
        "".join(f"{a},{b}\n" if a else "\n" for a, b in zip(lines, parts, strict=True))
    )
    prepare(split, tmp_path / "p", jobs=2)
    found, wanted = load_samples(str(tmp_path / "p")), load_samples(str(split), "y")
    assert found.split is not None and wanted.split is not None
    for name, ids in wanted.split.items():
        np.testing.assert_array_equal(found.split[name], ids)
    same = contents(tmp_path / "p")
    for name, content in contents(folder).items():
        if name.endswith(".npy"):
            assert same[name] == content


def test_refusals(tmp_path: Path, table: Path) -> None:
    with pytest.raises(InputError, match="is not a table of molecules"):
        prepare_table("MUTAG", tmp_path / "p")
    with pytest.raises(InputError, match=r"6 of 60 rows of .* cannot be used"):
        prepare(table, tmp_path / "p", strict=True)
    with pytest.raises(InputError, match="shards must be a whole number"):
        prepare(table, tmp_path / "q", shards=0)


def test_a_fresh_start_spares_what_is_not_its_own(table: Path, tmp_path: Path) -> None:
    (tmp_path / "shards").mkdir()
    kept = (tmp_path / "precious.npy", tmp_path / "shards" / "old.txt")
    for path in kept:
        path.write_text("mine")
    with pytest.raises(InputError, match="is not empty"):
        prepare_table(str(table), tmp_path, target="y", structure=STRUCTURE, fresh=True)
    assert [path.read_text() for path in kept] == ["mine", "mine"]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"structure": Structure("auto")}, "no scheme 'auto'"),
        ({"task": "regression", "target": "kind"}, "needs numbers"),
    ],
)
def test_what_cannot_be_is_said_before_anything_is_written(
    table: Path, tmp_path: Path, wrong: dict[str, Any], said: str
) -> None:
    named = tmp_path / "named.csv"
    lines = table.read_text().splitlines()
    kinds = ["kind", *("ab"[k % 2] for k in range(len(lines)))]
    named.write_text("\n".join(f"{line},{kind}" for line, kind in zip(lines, kinds, strict=False)))
    out = tmp_path / "out"
    with pytest.raises(InputError, match=said):
        prepare_table(str(named), out, **{"target": "y", **wrong})
    assert not out.exists()
    prepare_table(str(named), out, target="kind", structure=STRUCTURE)


def test_a_table_without_labels(tmp_path: Path) -> None:
    bare = tmp_path / "bare.smi"
    bare.write_text("CC\nCCO\n")
    with pytest.raises(InputError, match="no labels to learn from"):
        prepare_table(str(bare), tmp_path / "out")
    with pytest.raises(InputError, match=r"There is no file .*bare\.sni.*Did you mean"):
        prepare_table(str(tmp_path / "bare.sni"), tmp_path / "out")


def test_a_sorted_table_trains_as_well_as_a_shuffled_one(tmp_path: Path) -> None:
    """The target is the number of atoms; both tables have the same rows to validate with."""
    rng = random.Random(2)
    rows = []
    for k in range(160):
        text = f"{'CNOS'[k % 4]}{'C' * rng.randint(1, 12)}{rng.choice(RINGS[:6])}"
        count = sum(map(str.isalpha, text)) + k / 1_000
        rows.append((text, count, "valid" if k % 5 == 0 else "train"))
    errors = {}
    for name in ("sorted", "shuffled"):
        rows.sort(key=lambda row: row[1])
        if name == "shuffled":
            rng.shuffle(rows)
        path = tmp_path / f"{name}.csv"
        path.write_text("smiles,y,split\n" + "".join(f"{a},{b},{c}\n" for a, b, c in rows))
        prepare(path, tmp_path / name, shards=8)
        samples = load_prepared(tmp_path / name)
        assert samples.y is not None
        split = make_split(samples)
        fitted = fit(samples, {"hidden": 8}, TrainConfig(epochs=12, batch_size=16), split)
        constant = float((samples.y[split.valid] - samples.y[split.train].mean()).abs().mean())
        errors[name] = fitted.metrics["valid"]["mae"] / constant
    assert errors["sorted"] < 0.5 and errors["shuffled"] < 0.5
    assert errors["sorted"] < 2 * errors["shuffled"] + 0.05
