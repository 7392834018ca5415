"""Molecules read from RDKit's bytes are those that its objects describe."""

from __future__ import annotations

import csv
import gzip
import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

from gpnn.data import molecules

pytest.importorskip("rdkit", reason="molecules need RDKit")
UNUSUAL = [
    *("C", "[13CH4]", "[CH3]", "[H][H]", "C[C@H](N)O", "C[C@@H](N)O", "C/C=C/C", "C~C", "C->[Fe]"),
    *("C*", "[CH3:7]C", "C$C", "[nH]1cccc1", "CCO |^1:0|", "[2H]C", "C" * 255, "C" * 256),
    *(f"C1{'C' * 240}1", "[Fe+7]", "[U-9]", "FS(F)(F)(F)(F)F", "C[P@](=O)(O)N", "[Cl-].[NH4+]"),
    *("C1CC2CC12", "O=[N+]([O-])c1ccccc1", "F/C=C\\F", "C12C3C4C1C5C4C3C25", "[BH4-]", "C#N"),
]


def check(texts: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = [one for one in molecules.parse(texts) if one is not None]
    graphs, atoms = molecules.build_molecules(parsed)
    with monkeypatch.context() as patch:
        patch.setattr(molecules, "_HEAD", b"another version")
        slow_graphs, slow_atoms = molecules.build_molecules(parsed)
    np.testing.assert_array_equal(atoms, slow_atoms)
    for name in ("ptr", "indptr", "indices", "edge_labels"):
        np.testing.assert_array_equal(getattr(graphs, name), getattr(slow_graphs, name))


def test_unusual_molecules(monkeypatch: pytest.MonkeyPatch) -> None:
    check(UNUSUAL, monkeypatch)
    for text in UNUSUAL:
        check([text], monkeypatch)


def test_molecules_of_a_dataset(monkeypatch: pytest.MonkeyPatch, data_dir: Path) -> None:
    with zipfile.ZipFile(data_dir / "OGB" / "ogbg_moltox21.zip") as archive:
        text = gzip.decompress(archive.read("ogbg_moltox21/mapping/mol.csv.gz")).decode()
    check([row["smiles"] for row in csv.DictReader(io.StringIO(text))][::4], monkeypatch)


def test_other_bytes_are_not_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the first molecule differs, all are read from objects."""
    from gpnn.data.kernels import molecule_bytes

    def wrong(*arrays: np.ndarray) -> None:
        arrays[4][:] = 1
        arrays[6][:] = True

    parsed = molecules.parse(["CCO", "c1ccccc1"])
    _, wanted = molecules.build_molecules(parsed)
    monkeypatch.setattr(molecule_bytes, "read_molecules", wrong)
    np.testing.assert_array_equal(molecules.build_molecules(parsed)[1], wanted)
