"""Tables of molecules in the formats and with the habits that people have."""

from __future__ import annotations

import gzip
import io
import sys
import types
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
import torch

from gpnn.data.descriptors import rdkit_descriptors, rdkit_names
from gpnn.data.molecules import FULL, OGB, build_molecules, count_molecules, parse
from gpnn.data.samples import load_samples
from gpnn.data.table import TableChoice, read_columns, read_table
from gpnn.data.tasks import Task
from gpnn.errors import InputError
from gpnn.graph.readers.files import InputNote

Chem = pytest.importorskip("rdkit.Chem", reason="molecules need RDKit")

ROWS = [("CCO", "1.5"), ("CCC", "2.25"), ("c1ccccc1", "0.5"), ("CC(=O)O", "-3")]
TEXT = "smiles,y\n" + "".join(f"{s},{y}\n" for s, y in ROWS)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("plain.csv", TEXT.encode()),
        ("mark.csv", b"\xef\xbb\xbf" + TEXT.encode()),
        ("windows.csv", TEXT.replace("\n", "\r\n").encode()),
        ("tabs.tsv", TEXT.replace(",", "\t").encode()),
        ("packed.csv.gz", gzip.compress(TEXT.encode(), mtime=0)),
        ("semicolons.csv", TEXT.replace(",", ";").encode()),
        ("commas.csv", TEXT.replace(",", ";").replace(".", ",").encode()),
        ("text.txt", TEXT.encode()),
    ],
)
def test_one_table_in_many_spellings(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    if name == "commas.csv":
        with pytest.warns(InputNote, match=r"decimal commas were read as points in y"):
            raw = read_table(path)
    else:
        raw = read_table(path)
    assert raw.ids == tuple(smiles for smiles, _ in ROWS)
    assert raw.targets["y"].tolist() == [1.5, 2.25, 0.5, -3.0]


def test_commas_that_can_mean_two_things_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("smiles;y\nCCO;1,234\nCCC;2,500\n")
    with pytest.raises(InputError, match=r"'1,234', which can mean 1234 or 1\.234"):
        read_table(path)
    path.write_text("smiles;y\nCCO;1,234\nCCC;0,500\n")
    with pytest.warns(InputNote):
        assert read_table(path).targets["y"].tolist() == [1.234, 0.5]


def test_more_fields_than_headings(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("smiles,y\nCCO,1,5\nCCC,2,5\nCCN,1\n")
    with pytest.raises(InputError, match=r"line 2: 3 fields under 2 headings, in 2 of 3 rows"):
        read_table(path)
    path.write_text("smiles,y\nCCO,1,5\nCCC,2\nCCN,1,\n")
    raw = read_table(path)
    assert [one.reason for one in raw.skipped] == ["3 of 2 columns"]
    assert raw.ids == ("CCC", "CCN")


def test_lists_of_smiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "list.txt"
    path.write_text("CCO ethanol\n\nnonsense(\nCCC\n")
    raw = read_table(path, targets=[])
    assert raw.ids == ("CCO", "CCC") and raw.rows.tolist() == [0, 3]
    for text in ("CCO\nCCC\n", "smiles,y\nCCO,1\nCCC,2\n"):
        fake = types.SimpleNamespace(buffer=io.BytesIO(text.encode()))
        monkeypatch.setattr(sys, "stdin", fake)
        assert read_table(Path("-"), targets=[]).ids == ("CCO", "CCC")


def test_sdf_with_properties(tmp_path: Path) -> None:
    path = tmp_path / "molecules.sdf"
    writer = Chem.SDWriter(str(path))
    for smiles, y in ROWS:
        molecule = Chem.AddHs(Chem.MolFromSmiles(smiles))
        molecule.SetProp("_Name", f"name of {smiles}")
        molecule.SetProp("y", y)
        molecule.SetProp("smiles", "wrong")
        writer.write(molecule)
    writer.close()
    content = path.read_text()
    path.write_text(content + "broken\n\n\n  x\nM  END\n$$$$\n")
    raw = read_table(path, ["y"])
    expected = [Chem.CanonSmiles(smiles) for smiles, _ in ROWS]
    assert list(raw.ids) == expected, "hydrogens with coordinates are no atoms"
    assert raw.targets["y"].tolist() == [1.5, 2.25, 0.5, -3.0]
    assert [one.row for one in raw.skipped] == [4]
    assert read_columns(path)[0] == ["smiles", "name", "y", "smiles (property)"]


def test_parquet_needs_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "table.parquet"
    path.write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InputError, match=r"needs pyarrow: pip install pyarrow"):
        read_table(path)


def test_parquet(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow reads Parquet")
    from pyarrow import parquet

    path = tmp_path / "table.parquet"
    columns = {"smiles": ["CCO", "CCC", None], "y": [1.5, None, 2.0]}
    parquet.write_table(pyarrow.table(columns), path)
    raw = read_table(path, ["y"])
    assert raw.ids == ("CCO", "CCC") and np.isnan(raw.targets["y"][1])
    assert raw.skipped[0].reason == "no SMILES"


def test_kinds_of_parquet_columns(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow reads Parquet")
    from pyarrow import parquet

    columns = {
        "smiles": pyarrow.array([b"CCO", b"CCC", b"CCN"]),
        "whole": pyarrow.array([1, None, 3], pyarrow.int16()),
        "exact": pyarrow.array([Decimal("1.50"), None, Decimal(2)], pyarrow.decimal128(8, 2)),
        "single": pyarrow.array([0.5, float("nan"), 2.0], pyarrow.float32()),
        "kind": pyarrow.array(["a", "b", None]).dictionary_encode(),
        "flag": pyarrow.array([True, False, None]),
        "when": pyarrow.array([datetime(2020, 1, k) for k in (1, 2, 3)]),
        "long": pyarrow.array(["x", "y", "z"], pyarrow.large_string()),
        "__index_level_0__": pyarrow.array([5, 6, 7]),
    }
    path = tmp_path / "table.parquet"
    for packed in ("snappy", "gzip", "zstd"):
        parquet.write_table(pyarrow.table(columns), path, compression=packed)
        assert read_columns(path)[0] == list(columns)[:-1]
    raw = read_table(path, ["whole", "exact", "single", "kind", "flag"])
    assert raw.ids == ("CCO", "CCC", "CCN")
    for name, wanted in (("whole", [1, 3]), ("exact", [1.5, 2]), ("single", [0.5, 2])):
        own = raw.targets[name]
        assert own[[0, 2]].tolist() == wanted and np.isnan(own[1])
    assert raw.targets["kind"].tolist() == ["a", "b", ""]
    assert raw.targets["flag"].tolist() == ["True", "False", ""]
    whole = path.read_bytes()
    path.write_bytes(whole[:-50])
    with pytest.raises(InputError, match=r"table\.parquet cannot be read as Parquet"):
        read_table(path)
    both = pyarrow.Table.from_arrays(
        [columns["smiles"], *[columns["whole"]] * 2], ["smiles", "y", "y"]
    )
    parquet.write_table(both, path)
    with pytest.raises(InputError, match="two columns 'y'"):
        read_table(path)


def test_tables_to_validate_and_test_with(tmp_path: Path) -> None:
    names = ("train", "valid", "test")
    for name, rows in zip(names, (ROWS, ROWS[:2], ROWS[2:]), strict=True):
        lines = "".join(f"{s},{y}\n" for s, y in rows)
        (tmp_path / f"{name}.csv").write_text("smiles,y\n" + lines)
    choice = TableChoice(valid=tmp_path / "valid.csv", test=tmp_path / "test.csv")
    raw = read_table(tmp_path / "train.csv", ["y"], choice)
    assert raw.split is not None
    assert [raw.split[name].tolist() for name in names] == [[0, 1, 2, 3], [4, 5], [6, 7]]
    (tmp_path / "valid.csv").write_text("smiles,z\nCCO,1\n")
    with pytest.raises(InputError, match=r"valid\.csv has no column 'y'"):
        read_table(tmp_path / "train.csv", ["y"], choice)
    (tmp_path / "split.csv").write_text("smiles,y,split\nCCO,1,train\nCCC,2,valid\n")
    with pytest.raises(InputError, match=r"both split the rows"):
        read_table(tmp_path / "split.csv", ["y"], choice)
    with pytest.raises(InputError, match=r"no column 'set' that could split it"):
        read_table(tmp_path / "split.csv", ["y"], TableChoice(split="set"))


def test_columns_of_atoms_and_bonds_do_not_depend_on_the_spelling() -> None:
    molecule = Chem.MolFromSmiles("C[C@H](N)C(=O)O/C=C/c1ccc2[nH]ccc2c1")
    for seed in range(5):
        texts = [Chem.MolToRandomSmilesVect(molecule, 1, seed)[0], Chem.MolToSmiles(molecule)]
        found = []
        for text in texts:
            graphs, nodes = build_molecules(parse([text]))
            atoms = sorted(map(tuple, nodes[:, FULL].tolist()))
            found.append((atoms, sorted(graphs.edge_labels.tolist())))
        assert found[0] == found[1]


def test_values_of_atom_and_bond_columns() -> None:
    (graphs, nodes), (_, mirrored) = (
        build_molecules(parse([text])) for text in ("N[C@H](F)C1CC1", "N[C@@H](F)C1CC1")
    )
    assert nodes.shape[1] == 12
    assert nodes[:, 9].tolist() == [0, {"R": 1, "S": 2}[_cip("N[C@H](F)C1CC1")], 0, 0, 0, 0]
    assert sorted([nodes[1, 9], mirrored[1, 9]]) == [1, 2]
    assert nodes[:, 10].tolist() == [0, 0, 0, 3, 3, 3]
    assert (graphs.edge_labels % 2).sum() == 6, "three bonds of the ring, in both directions"


def _cip(text: str) -> str:
    return dict(Chem.FindMolChiralCenters(Chem.MolFromSmiles(text)))[1]


def test_what_is_counted_and_that_nothing_is_changed() -> None:
    texts = ["CC[NH3+].[Cl-]", "[2H]C", "C[C@H](N)O", "O", "[H]C([H])[H]"]
    graphs, nodes = build_molecules(parse(texts))
    assert np.diff(graphs.ptr).tolist() == [4, 2, 4, 1, 1]
    assert count_molecules(texts, graphs, nodes) == {
        "with charges": 1,
        "with stereo centres": 1,
        "with hydrogens as atoms": 1,
        "with isotopes": 1,
        "without carbon": 1,
        "of several fragments (salts)": 1,
        "with [H] in the text": 1,
    }


def test_a_model_of_ogb_columns_reads_smiles_as_before(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("smiles,y\nC[C@H](N)O,1\nc1ccccc1,0\nCC=C,1\nCCO,0\n")
    full = load_samples(str(path))
    raw = read_table(path)
    old = raw.nodes[:, OGB]
    from dataclasses import replace

    columns = tuple(tuple(np.unique(column).tolist()) for column in old.T)
    bonds = tuple(np.unique(raw.graphs.edge_labels // 2).tolist())
    encoder = replace(full.encoder, columns=columns, edges=bonds)
    again = load_samples(str(path), like=encoder)
    assert again.x is not None and again.x.shape[1] == 9
    for column, seen in enumerate(columns):
        assert np.array(seen)[again.x[:, column]].tolist() == old[:, column].tolist()
    assert again.edge_labels is not None
    assert np.array(bonds)[again.edge_labels].tolist() == (raw.graphs.edge_labels // 2).tolist()


def test_mixed_targets(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text(
        "smiles,logp,toxic,kind\n"
        "CCO,1.5,yes,a\nCCC,2.5,no,b\nCCN,,yes,c\nCCCl,0.5,,a\nCCF,3.5,no,\nCCBr,,,\n"
    )
    with pytest.warns(InputNote, match=r"1 of 6 rows .* no label in any of 3 targets"):
        found = load_samples(str(path), ["logp", "toxic", "kind"])
    assert found.task is Task.MIXED and found.y is not None
    assert found.encoder.outputs == ("logp", "toxic=yes", "kind=a", "kind=b", "kind=c")
    assert found.encoder.binary == (False, True, True, True, True)
    nan = float("nan")
    expected = [
        [1.5, 1, 1, 0, 0], [2.5, 0, 0, 1, 0], [nan, 1, 0, 0, 1], [0.5, nan, 1, 0, 0],
        [3.5, 0, nan, nan, nan],
    ]  # fmt: skip
    assert torch.equal(found.y.nan_to_num(-9), torch.tensor(expected).nan_to_num(-9))


def test_loss_of_mixed_targets_and_weights_of_classes() -> None:
    torch.manual_seed(0)
    outputs, nan = torch.randn(1, 4, 2, dtype=torch.float64), float("nan")
    y = torch.tensor([[[0.5, 1], [nan, 0], [2.0, nan], [1.0, 0]]], dtype=torch.float64)
    binary = torch.tensor([False, True])
    weights = torch.tensor([[[1.0, 0.75], [1.0, 1.5]]], dtype=torch.float64)
    p = outputs[0, :, 1].sigmoid()
    errors = [(outputs[0, k, 0] - y[0, k, 0]).abs() for k in (0, 2, 3)]
    plain = [*errors, -p[0].log(), -(1 - p[1]).log(), -(1 - p[3]).log()]
    found = Task.MIXED.loss(outputs, y, None, binary)
    assert torch.allclose(found[0], torch.stack(plain).mean())
    each = [1.0, 1.0, 1.0, 1.5, 0.75, 0.75]
    total = sum(w * e for w, e in zip(each, plain, strict=True)) / sum(each)
    assert torch.allclose(Task.MIXED.loss(outputs, y, None, binary, weights)[0], total)
    labels = torch.tensor([[0, 1, 1, -1]])
    own = torch.tensor([[1.5, 0.75]], dtype=torch.float64)
    log = torch.log_softmax(outputs[0], -1)
    wanted = -(1.5 * log[0, 0] + 0.75 * (log[1, 1] + log[2, 1])) / 3.0
    assert torch.allclose(Task.CLASSIFICATION.loss(outputs, labels, None, None, own)[0], wanted)


def test_a_number_that_is_read_as_a_name_is_named(tmp_path: Path) -> None:
    """1_0 is no 10, and a whole number that no float holds is a name too."""
    for odd in ("1_0", "9007199254740993"):
        path = tmp_path / "a.csv"
        path.write_text(f"smiles,y\nC,1.5\nCC,2.5\nCCC,{odd}\n")
        with pytest.raises(InputError, match=f"text in 1 of 3 rows, such as '{odd}' in row 3"):
            load_samples(str(path), "y", task="regression")


def test_a_target_is_read_from_the_rows_that_are_used(tmp_path: Path) -> None:
    """A word in a row without a molecule does not make the others text."""
    path = tmp_path / "a.csv"
    path.write_text("smiles,y\nC,1.5\nx),broken\nCC,2.5\n")
    with pytest.warns(InputNote, match="skipped"):
        found = load_samples(str(path), "y")
    assert found.task is Task.REGRESSION
    assert found.y is not None and found.y[:, 0].tolist() == [1.5, 2.5]


def test_descriptors_are_those_of_rdkit():
    """Each by its own function, of a molecule that nothing was computed of before."""
    from rdkit import Chem
    from rdkit.Chem import Descriptors

    names, texts = rdkit_names(), ["CC(=O)Oc1ccccc1C(=O)O", "C[N+](C)(C)CC([O-])=O", "[Na+].[Cl-]"]
    found = rdkit_descriptors(texts, names)
    for text, row in zip(texts, found, strict=True):
        for (name, function), value in zip(Descriptors.descList, row, strict=True):
            wanted = function(Chem.MolFromSmiles(text))
            assert value == wanted or (np.isnan(value) and not np.isfinite(wanted)), name
