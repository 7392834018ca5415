"""Predictions of a table in pieces equal those of the table at once."""

from __future__ import annotations

import csv
import gzip
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpnn.data.samples import load_samples
from gpnn.errors import InputError
from gpnn.journal import names
from gpnn.pool import ordered_map
from gpnn.train import stream
from gpnn.train.answers import answer_header, answer_rows
from gpnn.train.fit import fit
from gpnn.train.model_file import Loaded, load_model
from gpnn.train.stream import StreamedTable, predict_table
from gpnn.train.train_config import TrainConfig

Chem = pytest.importorskip("rdkit.Chem", reason="molecules need RDKit")
pytestmark = [
    pytest.mark.usefixtures("one_thread"),
    pytest.mark.filterwarnings("ignore:.*(rows of|not seen|decimal commas).*"),
]
RINGS = ("c1ccccc1", "C1CCCC1", "c1ccncc1", "C1CCNCC1", "c1ccoc1", "C1CC1", "")
SMILES = [f"{'C' * (1 + k // 7)}N{RINGS[k % 7]}" for k in range(35)]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    table = folder / "train.csv"
    table.write_text("smiles,y\n" + "".join(f"{s},{len(s)}.5\n" for s in SMILES))
    options = {"hidden": 8, "layers": 2, "d": 2}
    fit(load_samples(str(table)), options, TrainConfig(epochs=2), ensemble=2, folder=folder / "m")
    return folder / "m"


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "PIECE", 8)


def write_table(path: Path) -> Path:
    """60 rows, some blank, unreadable, ragged, with elements the model has not seen, in quotes."""
    rng = random.Random(0)
    rows = (f'"n,{k}",{rng.choice(SMILES)},"{k},5"\n' for k in range(60))
    lines = ["\n", "name,smiles,dose\n", *rows]
    lines[5], lines[12], lines[13], lines[20] = "\n", "a,Xx,1\n", "b,CCO\n", "c,CC[Se]C,2\n"
    path.write_text("".join([*lines, "\n\n"]))
    return path


def at_once(loaded: Loaded, path: Path) -> list[list[Any]]:
    """Header and rows as the whole table gives them, without pieces."""
    samples = load_samples(str(path), like=loaded.encoder, labelled=False)
    scores = loaded.predict_members(samples)
    rows = answer_rows(loaded, 0.9, samples.rows.tolist(), samples.ids, scores, samples.skipped)
    return [answer_header(loaded, 0.9), *rows]


def read(path: Path) -> list[list[str]]:
    with path.open(newline="") as file:
        return list(csv.reader(file))


def check_equal(found: list[list[str]], wanted: list[list[Any]]) -> None:
    """Texts are equal, numbers up to the rounding of another batch."""
    assert len(found) == len(wanted)
    for own, other in zip(found, wanted, strict=True):
        for cell, value in zip(own, other, strict=True):
            if isinstance(value, float):
                assert float(cell) == pytest.approx(value, rel=1e-4, abs=1e-6)
            else:
                assert cell == ("" if value is None else str(value))


def test_pieces_give_what_the_whole_table_gives(model: Path, tmp_path: Path) -> None:
    path, out = write_table(tmp_path / "t.csv"), tmp_path / "o.csv"
    wanted = at_once(load_model(model), path)
    assert predict_table(model, str(path), out, device="cpu") == 60
    check_equal(read(out), wanted)
    assert [row[0] for row in read(out)[1:]] == [str(k + 1) for k in range(60)]
    assert read(out)[4][-1] == "blank line" and read(out)[12][-1] == "2 of 3 columns"
    packed = tmp_path / "t.csv.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    again = tmp_path / "again.csv"
    predict_table(model, str(packed), again, device="cpu")
    assert again.read_bytes() == out.read_bytes()
    kept = tmp_path / "kept.csv"
    predict_table(model, str(path), kept, keep=["dose", "name"], device="cpu")
    assert read(kept)[0][2:4] == ["dose", "name"]
    assert read(kept)[1][2:4] == ["0.5", "n,0"]  # a column of decimal commas
    assert not any(one.exists() for one in names(kept))


def test_lists_and_sdf(model: Path, tmp_path: Path) -> None:
    texts = [*SMILES[:20], "", *SMILES[20:]]
    (tmp_path / "t.smi").write_text("# comment\n\n" + "\n".join(f"{s} name" for s in texts) + "\n")
    lines = (tmp_path / "t.smi").read_text().replace("\n name\n", "\n\n")
    (tmp_path / "t.smi").write_text(lines)
    records = []
    for k, text in enumerate(SMILES):
        block = Chem.MolToMolBlock(Chem.MolFromSmiles(text))
        records.append(f"{block}>  <DOSE>\n{k}\n\n$$$$\n")
    (tmp_path / "t.sdf").write_text("".join(records))
    for name, count in (("t.smi", 36), ("t.sdf", 35)):
        out = tmp_path / f"{name}.csv"
        assert predict_table(model, str(tmp_path / name), out, device="cpu") == count
        check_equal(read(out), at_once(load_model(model), tmp_path / name))
    out = tmp_path / "kept.csv"
    predict_table(model, str(tmp_path / "t.sdf"), out, keep=["DOSE"], device="cpu")
    assert [row[2] for row in read(out)[1:]] == [str(k) for k in range(35)]
    with pytest.raises(InputError, match="no column 'dose'; its columns are smiles, name, DOSE"):
        predict_table(model, str(tmp_path / "t.sdf"), out, keep=["dose"], device="cpu")


def test_notes_are_told_once_for_the_whole_table(model: Path, tmp_path: Path) -> None:
    path = write_table(tmp_path / "t.csv")
    with pytest.warns(UserWarning) as told:
        predict_table(model, str(path), tmp_path / "o.csv", device="cpu")
    texts = [str(one.message) for one in told]
    with pytest.warns(UserWarning) as whole:
        at_once(load_model(model), path)
    assert sorted(texts) == sorted(str(one.message) for one in whole)


def test_a_failure_that_no_row_causes_keeps_what_is_done(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, out = tmp_path / "t.csv", tmp_path / "o.csv"
    path.write_text("smiles\n" + "CCO\n" * 8)
    monkeypatch.setattr(stream, "PIECE", 4)

    def killed(*words: Any) -> Iterator[Any]:
        yield next(ordered_map(*words))
        raise InputError("A worker process was killed.")

    with monkeypatch.context() as broken:
        broken.setattr(stream, "ordered_map", killed)
        with pytest.raises(InputError, match="was killed"):
            predict_table(model, str(path), out, smiles="smiles", strict=True, device="cpu")
    assert all(one.exists() for one in names(out))
    predict_table(model, str(path), out, smiles="smiles", strict=True, device="cpu")
    assert len(read(out)) == 8 + 1
    with pytest.raises(InputError, match="kept twice"):
        predict_table(model, str(path), out, keep=["smiles", "smiles"], device="cpu")


def test_refusals(model: Path, tmp_path: Path) -> None:
    path, out = write_table(tmp_path / "t.csv"), tmp_path / "o.csv"
    with pytest.raises(InputError, match=r"1 of 8 rows of .* cannot be used \(row 4: blank line\)"):
        predict_table(model, str(path), out, strict=True, device="cpu")
    bad = tmp_path / "bad.csv"
    bad.write_text("smiles,k\n" + "Xx,1\n" * 20)
    with pytest.raises(InputError, match=r"No row of .*bad.csv can be used .* and 17 more"):
        predict_table(model, str(bad), out, smiles="smiles", device="cpu")
    assert not out.exists() and not any(one.exists() for one in names(out))


class Killed(BaseException):
    pass


def interrupt(asked: StreamedTable, out: Path, pieces: int) -> None:
    with pytest.raises(Killed):
        for number, _ in enumerate(asked.write(out)):
            if number + 1 == pieces:
                raise Killed


def asked_of(model: Path, path: Path) -> StreamedTable:
    return StreamedTable(model, load_model(model), str(path))


@pytest.mark.parametrize("harm", ["none", "torn", "altered", "journal"])
def test_a_killed_run_goes_on(model: Path, tmp_path: Path, harm: str) -> None:
    path, out = write_table(tmp_path / "t.csv"), tmp_path / "o.csv"
    predict_table(model, str(path), tmp_path / "whole.csv", device="cpu")
    interrupt(asked_of(model, path), out, 4)
    part, journal = names(out)
    assert part.exists() and not out.exists()
    kept = 32
    if harm == "torn":  # killed in the middle of a line, in both files
        part.write_bytes(part.read_bytes() + b"33,CC")
        journal.write_bytes(journal.read_bytes()[:-5])
        kept = 24
    elif harm == "altered":
        content = part.read_bytes()
        part.write_bytes(content[:-30] + b"9" + content[-29:])
        kept = 24
    elif harm == "journal":
        lines = journal.read_text().splitlines()
        line = json.loads(lines[3])
        line["state"]["skipped"] = 0
        journal.write_text("\n".join([*lines[:3], json.dumps(line), *lines[4:]]) + "\n")
        kept = 8
    done: list[tuple[int, int]] = []
    asked = asked_of(model, path)
    answered = list(asked.write(out, started=lambda *rows: done.append(rows)))
    assert done == [(kept, 60)] and [one.first for one in answered] == list(range(kept, 60, 8))
    assert out.read_bytes() == (tmp_path / "whole.csv").read_bytes()
    assert asked.skipped == 3 and not part.exists() and not journal.exists()


def test_another_run_is_not_gone_on_with(model: Path, tmp_path: Path) -> None:
    path, out = write_table(tmp_path / "t.csv"), tmp_path / "o.csv"
    interrupt(asked_of(model, path), out, 2)
    path.write_text(path.read_text().replace("n,50", "n,five"))
    with pytest.raises(InputError, match=r"beginning of another run \(other source\).*--fresh"):
        predict_table(model, str(path), out, device="cpu")
    assert predict_table(model, str(path), out, device="cpu", fresh=True) == 60


def test_two_processes_write_the_same(model: Path, tmp_path: Path) -> None:
    path = write_table(tmp_path / "t.csv")
    for jobs in (1, 2):
        predict_table(model, str(path), tmp_path / f"{jobs}.csv", device="cpu", jobs=jobs)
    assert (tmp_path / "1.csv").read_bytes() == (tmp_path / "2.csv").read_bytes()
    with pytest.raises(InputError, match=r"jobs must be a whole number"):
        predict_table(model, str(path), tmp_path / "o.csv", device="cpu", jobs=0)
