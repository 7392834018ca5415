from __future__ import annotations

import sys
from pathlib import Path

import pytest

from gpnn.errors import InputError
from gpnn.graph.readers import InputNote, read_graphs
from gpnn.graph.readers.smiles import parse_smiles

pytest.importorskip("rdkit", reason="SMILES need rdkit, extra [mol]")


def write(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text)
    return folder / name


def test_one_molecule() -> None:
    acid = parse_smiles("CC(=O)[O-]")
    assert acid.node_labels.tolist() == [6, 6, 8, 8]
    assert acid.edges().T.tolist() == [[0, 1], [1, 2], [1, 3]]
    assert acid.edge_labels.tolist() == [1, 1, 2, 1, 2, 1]
    assert set(parse_smiles("c1ccccc1").edge_labels.tolist()) == {12}
    assert parse_smiles("[Na+].[Cl-]").num_edges == 0


@pytest.mark.parametrize("text", ["C1CC", "CX", "", "C(C)(C)(C)(C)C"])
def test_what_is_no_molecule(text: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InputError, match="is not SMILES"):
        parse_smiles(text)
    assert capfd.readouterr().err == "", "RDKit keeps quiet"


def test_smi_files(tmp_path: Path) -> None:
    graphs = read_graphs(write(tmp_path, "a.smi", "CCO ethanol\nC methane\n"))
    assert (len(graphs), graphs.graph_names) == (2, ["ethanol", "methane"])
    with pytest.raises(InputError, match="no named columns"):
        read_graphs(tmp_path / "a.smi", column="x")


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("id,SMILES,y\n1,CCO,0\n2,C,1\n", None),
        ("id,m,y\n1,CCO,0\n2,C,1\n", "m"),
        ('y,smiles\n"0","CCO"\n1,C\n', None),
    ],
)
def test_csv_columns(tmp_path: Path, text: str, column: str | None) -> None:
    graphs = read_graphs(write(tmp_path, "a.csv", text), column=column)
    assert (len(graphs), graphs.num_nodes) == (2, 4)


def test_column_found_by_content(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", "id,structure\nx1,CCO\nx2,CC\n")
    assert read_graphs(path, format="smiles").num_nodes == 5
    path = write(tmp_path, "b.csv", "CCO\nCC\n")
    assert len(read_graphs(path, format="smiles")) == 2


def test_bad_rows(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", "smiles\nCCO\nC1CC\nC\n")
    with pytest.raises(InputError, match=r"a\.csv, line 3: 'C1CC' is not SMILES .*1 of 3 rows"):
        read_graphs(path)
    with pytest.warns(InputNote, match=r"1 of 3 rows skipped \(lines 3\)"):
        assert len(read_graphs(path, bad="skip")) == 2
    with pytest.raises(InputError, match="'raise' or 'skip', not 'hide'"):
        read_graphs(path, bad="hide")
    with pytest.raises(InputError, match="no column 'mol'; its columns are smiles"):
        read_graphs(path, column="mol")
    with pytest.raises(InputError, match="line 3: expected 2 columns, got 1"):
        read_graphs(write(tmp_path, "b.csv", "y,smiles\n1,C\n2\n"))
    with pytest.raises(InputError, match="no column of SMILES"):
        read_graphs(write(tmp_path, "c.csv", "a,b\n1,2\n"), format="smiles")


def test_without_rdkit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rdkit", None)
    with pytest.raises(InputError, match=r"pip install 'gpnn\[mol\]'"):
        parse_smiles("C")


@pytest.mark.data
def test_bonds_of_zinc(data_dir: Path) -> None:
    """The SMILES of ZINC-12k give the structure of its TU files."""
    import numpy as np

    from gpnn.data.datasets import find, load_graphs

    folder = find("ZINC12k", data_dir).parent.parent
    lines = (folder / "smiles.csv").read_text().splitlines()[1:301]
    tu = load_graphs("ZINC12k", data_dir)
    for g, line in enumerate(lines):
        molecule = parse_smiles(line.split(",")[1])
        assert np.array_equal(np.sort(molecule.degree), np.sort(tu[g].degree))
