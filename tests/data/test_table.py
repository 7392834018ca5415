"""Tables of molecules: rows keep the numbers that a spreadsheet shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpnn.data.samples import load_samples
from gpnn.data.table import read_columns, read_table
from gpnn.errors import InputError

pytest.importorskip("rdkit", reason="molecules need RDKit")


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_blank_line_is_a_row_that_is_skipped(tmp_path: Path, end: str) -> None:
    path = tmp_path / "table.csv"
    lines = ["", "smiles,y,split", "CCO,1,train", "", "CCC,2,test", "CCN", "CCCl,3,train", "", ""]
    path.write_bytes(end.join(lines).encode())
    raw = read_table(path, targets=["y"])
    assert raw.ids == ("CCO", "CCC", "CCCl")
    assert raw.rows.tolist() == [0, 2, 4]
    assert [(one.row, one.reason) for one in raw.skipped] == [
        (1, "blank line"),
        (3, "1 of 3 columns"),
    ]
    assert raw.split is not None
    assert raw.split["test"].tolist() == [1] and raw.split["train"].tolist() == [0, 2]


def test_a_blank_line_of_a_smi_file_too(tmp_path: Path) -> None:
    path = tmp_path / "molecules.smi"
    path.write_text("# a comment\n\nCCO ethanol\n\nCCC propane\n\n")
    raw = read_table(path)
    assert raw.rows.tolist() == [0, 2]
    assert [(one.row, one.reason) for one in raw.skipped] == [(1, "no SMILES")]


def test_a_table_of_blank_lines(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    for text, said in (("\n\n\n", "no header and no rows"), ("smiles\n\n", "a header and no rows")):
        path.write_text(text)
        with pytest.raises(InputError, match=said):
            read_columns(path)


def test_blank_lines_change_neither_delimiter_nor_target(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("\n\nsmiles,label of row,value\nCCO,a,1.5\n\nCCC,b,2.5\n\nCCN,c,3.5\n")
    assert read_columns(path)[0] == ["smiles", "label of row", "value"]
    assert list(read_table(path).targets) == ["value"]


def test_rows_with_too_many_fields_are_not_read_askew(tmp_path: Path) -> None:
    """An unquoted comma would move the label of its row into another column."""
    path = tmp_path / "a.csv"
    path.write_text("smiles,target\nC,1\nCC,0\nCCC,x,1\nCO,0,\nCN,1\n")
    with pytest.warns(UserWarning, match="row 3: 3 of 2 columns"):
        found = load_samples(str(path))
    assert found.rows.tolist() == [0, 1, 3, 4]


def test_large_and_odd_names_of_classes_stay_apart(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    rows = "".join(f"{'C' * k},{9007199254740992 + k % 2}\n" for k in range(1, 9))
    path.write_text(f"smiles,target\n{rows}")
    assert load_samples(str(path)).class_names == ("9007199254740992", "9007199254740993")
    rows = "".join(f"{'C' * k},{'1_0' if k % 2 else '10'}\n" for k in range(1, 9))
    path.write_text(f"smiles,target\n{rows}")
    assert load_samples(str(path)).class_names == ("10", "1_0")
