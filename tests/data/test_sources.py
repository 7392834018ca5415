from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gpnn.data.read import read_source
from gpnn.data.samples import load_samples
from gpnn.data.sources import resolve
from gpnn.data.table import TableChoice
from gpnn.errors import InputError


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GPNN_DATA", raising=False)
    monkeypatch.setenv("GPNN_CACHE", str(tmp_path / "cache"))


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("MUTAG", (188, 3371, 3721)),
        ("mutag:5", (1, 28, 31)),
        ("atlas:0", (1, 0, 0)),
        ("g6:CC", (1, 4, 1)),
        ("D~{", (1, 5, 10)),
    ],
)
def test_what_can_be_named(text: str, shape: tuple[int, int, int]) -> None:
    graphs = resolve(text)
    assert (len(graphs), graphs.num_nodes, graphs.num_edges) == shape


def test_molecules() -> None:
    pytest.importorskip("rdkit", reason="SMILES need rdkit, extra [mol]")
    assert resolve("CCO").num_edges == 2
    assert resolve("smiles:CC").num_edges == 1
    assert resolve("CC(=O)Oc1ccccc1C(=O)O").num_nodes == 13
    with pytest.raises(
        InputError, match=r"'CC' is both graph6 and SMILES\. Write g6:CC or smiles:CC"
    ):
        resolve("CC")


def test_paths_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.edges").write_text("0 1\n")
    assert resolve("a.edges").num_edges == 1
    Path("b:1.edges").write_text("0 1\n1 2\n")
    assert resolve("b:1.edges").num_edges == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("MUTGA", r"no file or folder, no dataset, not graph6 and not SMILES.*Did you mean MUTAG"),
        ("MUTAG:188", "holds graphs 0 to 187, not '188'"),
        ("MUTAG:-1", "not '-1'"),
        ("MUTAG:", "not ''"),
        ("FOO:3", "no dataset 'FOO'"),
        ("", "'' is no file or folder"),
        ("g6:D~", "need 2 bytes"),
        ("a\0b", "is no file or folder"),
        ("x" * 5000, "is no file or folder"),
    ],
)
def test_refusals(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        resolve(text)


def test_smiles_without_rdkit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpnn.data.sources.find_spec", lambda _: None)
    with pytest.raises(InputError, match=r"may be SMILES, .*gpnn\[mol\]"):
        resolve("CCO")


def test_unknown_names_import_nothing_heavy() -> None:
    code = (
        "import sys\nfrom gpnn.data.sources import resolve\n"
        "try:\n    resolve('MUTGA')\nexcept ValueError:\n    pass\n"
        "print([m for m in ('numba', 'torch', 'networkx', 'rdkit', 'scipy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_mistyped_file_is_no_dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("molecules.csv").write_text("smiles,y\nCC,1\n")
    for read in (resolve, load_samples):
        with pytest.raises(InputError, match=r"no file molecule.csv. Did you mean molecules.csv"):
            read("molecule.csv")
        with pytest.raises(InputError, match=r"no file nowhere.x.csv. There is no folder nowhere"):
            read("nowhere/x.csv")
        with pytest.raises(InputError, match=r"There is no file ~nosuchuser.x.csv"):
            read("~nosuchuser/x.csv")


def test_a_molecule_itself_is_a_source_for_models_too() -> None:
    pytest.importorskip("rdkit", reason="SMILES need rdkit, extra [mol]")
    for text in ("CCO", "smiles:CCO"):
        raw = read_source(text, [], TableChoice(), None, False, None)
        assert raw.kind == "molecule" and raw.graphs.num_nodes == 3
    with pytest.raises(InputError, match="both graph6 and SMILES"):
        read_source("CC", [], TableChoice(), None, False, None)
    assert read_source("D~{", [], TableChoice(), None, False, None).graphs.num_edges == 10
