from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gpnn.data.sources import resolve
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
        InputError, match=r"'CC' is both graph6 and SMILES\. Say which: g6:CC or smiles:CC"
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
