from __future__ import annotations

import hashlib
import io
import urllib.error
import urllib.request
import zipfile
from dataclasses import replace
from email.message import Message
from importlib import resources
from pathlib import Path

import networkx as nx
import pytest

from gpnn.data import datasets
from gpnn.data.datasets import DATASETS, find, get, load_graphs
from gpnn.data.download import _OnlyHttps, download
from gpnn.errors import InputError
from gpnn.graph.convert import as_graphs


@pytest.fixture(autouse=True)
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No data folder, an empty cache, no network."""
    monkeypatch.delenv("GPNN_DATA", raising=False)
    monkeypatch.setenv("GPNN_CACHE", str(tmp_path / "cache"))

    def offline(*_: object, **__: object) -> object:
        raise urllib.error.URLError("no route to host")

    monkeypatch.setattr("gpnn.data.download.open_https", offline)


def serve(monkeypatch: pytest.MonkeyPatch, content: bytes, claimed: int | None = None) -> list[str]:
    asked: list[str] = []

    class Answer(io.BytesIO):
        headers = Message()

    def answer(request: urllib.request.Request, timeout: float) -> Answer:
        assert timeout > 0
        asked.append(request.full_url)
        reply = Answer(content)
        reply.headers = Message()
        reply.headers["Content-Length"] = str(len(content) if claimed is None else claimed)
        return reply

    monkeypatch.setattr("gpnn.data.download.open_https", answer)
    return asked


def tu_zip(name: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(f"{name}/{name}_A.txt", "1, 2\n2, 1\n")
        archive.writestr(f"{name}/{name}_graph_indicator.txt", "1\n1\n")
    return buffer.getvalue()


def test_embedded_mutag() -> None:
    graphs = load_graphs("mutag")
    assert (len(graphs), graphs.num_nodes, graphs.num_edges) == (188, 3371, 3721)
    assert set(graphs.node_labels.tolist()) == set(range(7))
    assert set(graphs.edge_labels.tolist()) == set(range(4))


def test_embedded_data_come_with_their_citation() -> None:
    text = (resources.files("gpnn.embedded") / "README.md").read_text(encoding="utf-8")
    assert "Debnath" in text
    assert "BSD" in text


def test_atlas_equals_networkx() -> None:
    graphs = load_graphs("atlas")
    theirs = nx.graph_atlas_g()
    assert len(graphs) == 1253
    assert graphs[0].num_nodes == 0
    for g in (0, 1, 7, 200, 1252):
        assert graphs[g].edges().T.tolist() == as_graphs(theirs[g]).edges().T.tolist()


def test_names() -> None:
    assert get("imdb-b").name == "IMDB-BINARY"
    assert get("MolHIV").name == "ogbg-molhiv"
    assert get("ptc").name == "PTC_MR"
    with pytest.raises(
        InputError, match=r"no dataset 'MUTGA'. Did you mean MUTAG\? Choose one of: MUTAG, PTC"
    ):
        get("MUTGA")
    with pytest.raises(InputError, match=r"no dataset '!'. Choose one of"):
        get("!")
    aliases = [word.lower() for d in DATASETS.values() for word in {d.name, *d.aliases}]
    assert len(aliases) == len(set(aliases))


def test_absent_and_offline(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        load_graphs("PROTEINS", tmp_path)
    said = str(caught.value)
    for part in ("PROTEINS", str(tmp_path), "chrsmrrs.com", "no route to host", "PROTEINS.zip"):
        assert part in said
    assert not [p for p in (tmp_path / "cache").rglob("*") if p.is_file()], "nothing half-written"


def test_absent_without_address() -> None:
    with pytest.raises(InputError, match=r"BREC was not found in .*no public address.*BREC\.zip"):
        load_graphs("BREC")
    with pytest.raises(InputError, match=r"kimiyoung/planetoid.*pickles.*Cora\.npz"):
        load_graphs("Cora")


def test_missing_data_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="no folder /no/such"):
        load_graphs("BZR", "/no/such")
    monkeypatch.setenv("GPNN_DATA", "/no/such")
    with pytest.raises(InputError, match=r"GPNN_DATA"):
        load_graphs("BZR")


def test_generated_sets_have_no_file() -> None:
    with pytest.raises(InputError, match="generated"):
        find("atlas")


def test_download_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = serve(monkeypatch, tu_zip("BZR"))
    seen: list[tuple[int, int | None]] = []
    assert len(load_graphs("BZR", progress=lambda done, total: seen.append((done, total)))) == 1
    assert len(load_graphs("BZR")) == 1
    assert asked == ["https://www.chrsmrrs.com/graphkerneldatasets/BZR.zip"]
    assert seen[-1][0] == seen[-1][1]
    assert (tmp_path / "cache" / "downloads" / "BZR.zip").is_file()


def test_broken_downloads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    serve(monkeypatch, tu_zip("BZR")[:100], claimed=500)
    with pytest.raises(InputError, match="ended after 100 of 500 bytes"):
        load_graphs("BZR")
    assert not list((tmp_path / "cache" / "downloads").iterdir())
    serve(monkeypatch, tu_zip("OTHER"))
    with pytest.raises(InputError, match="does not hold BZR"):
        load_graphs("BZR")


def test_webkb_needs_both_files(monkeypatch: pytest.MonkeyPatch) -> None:
    content = b"node_id\tnode_id\n0\t1\n1\t0\n"
    asked = serve(monkeypatch, content)
    with pytest.raises(InputError, match="gave another file than expected"):
        load_graphs("Texas")
    asked.clear()
    digest = hashlib.sha256(content).hexdigest()
    known = get("Texas").downloads
    entry = replace(get("Texas"), downloads=tuple(replace(o, sha256=digest) for o in known))
    monkeypatch.setattr("gpnn.data.datasets.get", lambda _: entry)
    graphs = load_graphs("Texas")
    assert [url.rpartition("/")[2] for url in asked] == [
        "out1_node_feature_label.txt",
        "out1_graph_edges.txt",
    ]
    assert (graphs.num_nodes, graphs.num_edges) == (2, 1)


@pytest.mark.parametrize("place", ["", "TU", "a/b/TU"])
@pytest.mark.parametrize("packed", [True, False])
def test_search(tmp_path: Path, place: str, packed: bool) -> None:
    folder = tmp_path / "data" / place
    folder.mkdir(parents=True)
    if packed:
        (folder / "BZR.zip").write_bytes(tu_zip("BZR"))
    else:
        with zipfile.ZipFile(io.BytesIO(tu_zip("BZR"))) as archive:
            archive.extractall(folder)
    before = sorted(p for p in (tmp_path / "data").rglob("*"))
    assert len(load_graphs("BZR", tmp_path / "data")) == 1
    assert sorted(p for p in (tmp_path / "data").rglob("*")) == before
    if not packed:
        assert len(load_graphs("BZR", folder / "BZR")) == 1


def test_zip_of_something_else(tmp_path: Path) -> None:
    (tmp_path / "BZR.zip").write_bytes(tu_zip("COX2"))
    with pytest.raises(
        InputError, match=r"BZR\.zip does not hold BZR: it lacks BZR/raw/BZR_A\.txt"
    ):
        load_graphs("BZR", tmp_path)


PUBLISHED = {
    "PTC_MR": (344, 4915, 5054),
    "BZR": (405, 14479, 15535),
    "COX2": (467, 19252, 20289),
    "DHFR": (756, 32075, 33676),
    "IMDB-BINARY": (1000, 19773, 96531),
    "PROTEINS": (1113, 43471, 81044),
    "ZINC12k": (12000, 277554, 298512),
    "ogbg-molhiv": (41127, 1049163, 1129688),
    "ogbg-moltox21": (7831, 145459, 151095),
    "ogbg-moltoxcast": (8576, 161088, 165178),
    "Cora": (1, 2708, 5278),
    "CiteSeer": (1, 3327, 4552),
    "Wisconsin": (1, 251, 450),
    "Texas": (1, 183, 279),
    "EXP": (1200, 58442, 72530),
    "CEXP": (1200, 66938, 83736),
    "CSL": (150, 6150, 12300),
    "sr351899": (227, 7945, 71505),
}


@pytest.mark.data
@pytest.mark.parametrize("name", PUBLISHED)
def test_published_counts(name: str, data_dir: Path) -> None:
    graphs = load_graphs(name, data_dir)
    assert (len(graphs), graphs.num_nodes, graphs.num_edges) == PUBLISHED[name]


@pytest.mark.data
def test_embedded_bytes_are_those_of_the_collection(data_dir: Path) -> None:
    ours = (resources.files("gpnn.embedded") / "MUTAG.zip").read_bytes()
    theirs = (data_dir / "TU" / "MUTAG.zip").read_bytes()
    assert hashlib.sha256(ours).digest() == hashlib.sha256(theirs).digest()


@pytest.mark.data
def test_brec_is_made_of_pairs(data_dir: Path) -> None:
    graphs = load_graphs("BREC", data_dir)
    sizes = graphs.ptr[1:] - graphs.ptr[:-1]
    assert len(graphs) == 800
    assert (sizes[::2] == sizes[1::2]).all()


def test_data_folder_argument_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPNN_DATA", "/no/such")
    assert datasets.data_folder(tmp_path) == tmp_path


def test_only_https_is_fetched(tmp_path: Path) -> None:
    for entry in DATASETS.values():
        assert all(one.address.startswith("https://") for one in entry.downloads)
    with pytest.raises(InputError, match="only https addresses are"):
        download("http://example.org/a.zip", tmp_path / "a.zip")
    with pytest.raises(InputError, match="only https addresses are"):
        _OnlyHttps().redirect_request(None, None, 302, "", {}, "http://example.org/a.zip")


def test_a_file_without_a_published_checksum_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    content = tu_zip("BZR")
    serve(monkeypatch, content)
    with pytest.warns(UserWarning, match=hashlib.sha256(content).hexdigest()):
        load_graphs("BZR")
