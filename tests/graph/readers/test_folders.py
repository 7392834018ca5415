"""TU, OGB and the choice of a format."""

from __future__ import annotations

import gzip
import zipfile
from pathlib import Path

import numpy as np
import pytest

from gpnn.errors import InputError
from gpnn.graph.readers import read_graphs
from gpnn.graph.readers.graphsat import read_graphsat
from gpnn.graph.readers.ogb import read_ogb
from gpnn.graph.readers.tu import read_tu

TU = {
    "A": "1, 2\n2, 1\n2, 3\n3, 2\n2, 3\n5, 4\n4, 5\n",
    "graph_indicator": "1\n1\n1\n2\n2\n",
    "graph_labels": "-1\n1\n1\n",
    "node_labels": "0\n1\n2\n0\n1\n",
    "edge_labels": "7\n7\n8\n8\n8\n9\n9\n",
    "node_attributes": "0.5, 1\n1, 2\n2, 3\n3, 4\n4, nan\n",
}


def tu_folder(root: Path, **changed: str | None) -> Path:
    folder = root / "SET"
    (folder / "raw").mkdir(parents=True, exist_ok=True)
    for name, text in {**TU, **changed}.items():
        if text is not None:
            (folder / "raw" / f"SET_{name}.txt").write_text(text)
    return folder


def ogb_folder(root: Path, **changed: str) -> Path:
    folder = root / "ogbg_x"
    texts = {
        "raw/edge": "0,1\n1,2\n0,1\n",
        "raw/num-node-list": "3\n2\n1\n",
        "raw/num-edge-list": "2\n1\n0\n",
        "raw/node-feat": "5,0\n6,0\n5,1\n7,0\n5,0\n5,0\n",
        "raw/edge-feat": "0,1\n1,1\n2,1\n",
        "raw/graph-label": "0,nan\n,1\n1,0\n",
        "split/scaffold/train": "0\n",
        "split/scaffold/valid": "1\n",
        "split/scaffold/test": "2\n",
    }
    for name, text in {**texts, **{f"raw/{k}": v for k, v in changed.items()}}.items():
        path = folder / f"{name}.csv.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(text.encode()))
    return folder


def test_tu(tmp_path: Path) -> None:
    data = read_tu(tu_folder(tmp_path))
    graphs = data.graphs
    assert np.diff(graphs.ptr).tolist() == [3, 2, 0], "a graph without vertices has a label too"
    assert graphs.edges().T.tolist() == [[0, 1], [1, 2], [3, 4]]
    assert graphs.normalised.duplicates == 1
    assert data.y.tolist() == [-1, 1, 1]
    assert graphs.node_labels.tolist() == [0, 1, 2, 0, 1]
    assert graphs.edge_labels.tolist() == [7, 7, 8, 8, 9, 9]
    assert data.node_attributes.shape == (5, 2)
    assert data.graph_attributes is None


def test_tu_edges_in_any_order(tmp_path: Path) -> None:
    lines = list(zip(TU["A"].splitlines(), TU["edge_labels"].splitlines(), strict=True))[::-1]
    turned = tu_folder(
        tmp_path, A="\n".join(a for a, _ in lines), edge_labels="\n".join(b for _, b in lines)
    )
    graphs = read_graphs(turned)
    assert graphs.edges().T.tolist() == [[0, 1], [1, 2], [3, 4]]
    assert graphs.edge_labels.tolist() == [7, 7, 8, 8, 9, 9]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"A": "1, 2\n2, 9\n", "edge_labels": None}, r"SET_A.txt, line 2: the edge 2, 9 leaves"),
        ({"A": "1, 2\n0, 1\n", "edge_labels": None}, r"line 2: the edge 0, 1 leaves"),
        ({"A": "1, 2\n3, 4\n", "edge_labels": None}, "line 2: the edge joins graph 1 and graph 2"),
        ({"A": "1, 2\n2\n", "edge_labels": None}, "line 2: expected 2 numbers, got 1"),
        ({"A": "1, 2\n2, x\n", "edge_labels": None}, "line 2: expected a whole number, got 'x'"),
        ({"graph_indicator": "1\n2\n1\n2\n2\n"}, "line 3: graph 1 comes after a later one"),
        ({"graph_indicator": "0\n1\n1\n2\n2\n"}, "must rise from 1"),
        ({"graph_labels": "1\n"}, "has 1 labels for 2 graphs"),
        ({"node_labels": "1\n"}, "has 1 lines where 5 are needed: it is truncated"),
        ({"edge_labels": "1\n2\n3\n4\n5\n6\n7\n"}, "different labels"),
        ({"node_attributes": "1,2\n3\n"}, "line"),
    ],
)
def test_tu_refusals(tmp_path: Path, changed: dict[str, str | None], message: str) -> None:
    folder = tu_folder(tmp_path, **changed)
    if changed.get("edge_labels", "") is None:
        (folder / "raw" / "SET_edge_labels.txt").unlink(missing_ok=True)
    with pytest.raises(InputError, match=message):
        read_tu(folder)


def test_tu_without_indicator(tmp_path: Path) -> None:
    folder = tu_folder(tmp_path)
    (folder / "raw" / "SET_graph_indicator.txt").unlink()
    with pytest.raises(InputError, match=r"no file .*SET_graph_indicator\.txt"):
        read_tu(folder)


def test_ogb(tmp_path: Path) -> None:
    data = read_ogb(ogb_folder(tmp_path))
    assert np.diff(data.graphs.ptr).tolist() == [3, 2, 1]
    assert data.graphs.edges().T.tolist() == [[0, 1], [1, 2], [3, 4]]
    assert data.graphs.normalised.reversed_added == 0
    assert data.node_features[:, 0].tolist() == [5, 6, 5, 7, 5, 5]
    assert data.edge_features.shape == (3, 2)
    assert np.array_equal(data.labels, [[0, np.nan], [np.nan, 1], [1, 0]], equal_nan=True)
    assert {k: v.tolist() for k, v in data.split().items()} == {
        "train": [0],
        "valid": [1],
        "test": [2],
    }
    with pytest.raises(InputError, match="no split 'random'"):
        data.split("random")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"edge": "0,1\n"}, "has 1 lines where 3 are needed: it is truncated"),
        ({"edge": "0,1\n1,3\n0,1\n"}, "Edge 1 of graph 0 joins 1 and 3"),
        ({"num-node-list": "3\n2\n"}, "2 numbers of vertices, 3 of edges"),
    ],
)
def test_ogb_refusals(tmp_path: Path, changed: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_ogb(ogb_folder(tmp_path, **changed))


def test_ogb_truncated_gzip(tmp_path: Path) -> None:
    path = ogb_folder(tmp_path) / "raw" / "edge.csv.gz"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(InputError, match=r"edge\.csv\.gz is truncated or not gzip"):
        read_graphs(tmp_path / "ogbg_x")


def test_zips_of_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPNN_CACHE", str(tmp_path / "cache"))
    folder = tu_folder(tmp_path / "in")
    with zipfile.ZipFile(tmp_path / "s.zip", "w") as archive:
        for file in folder.rglob("*.txt"):
            archive.write(file, file.relative_to(tmp_path / "in"))
    assert len(read_graphs(tmp_path / "s.zip")) == 3


def test_npz(tmp_path: Path) -> None:
    import scipy.sparse as sp

    np.savez(tmp_path / "e.npz", edge_index=np.array([[0], [1]]), y=np.zeros(4))
    assert read_graphs(tmp_path / "e.npz").num_nodes == 4
    sp.save_npz(tmp_path / "m.npz", sp.csr_array(np.eye(3, k=1)))
    assert read_graphs(tmp_path / "m.npz").num_edges == 2
    np.savez(tmp_path / "o.npz", other=np.zeros(1))
    with pytest.raises(InputError, match=r"holds other\. It needs an array edge_index"):
        read_graphs(tmp_path / "o.npz")
    np.savez(tmp_path / "p.npz", edge_index=np.array([[{}], [{}]], dtype=object))
    with pytest.raises(InputError, match="pickled objects, which are never opened"):
        read_graphs(tmp_path / "p.npz")
    (tmp_path / "t.npz").write_bytes((tmp_path / "e.npz").read_bytes()[:50])
    with pytest.raises(InputError, match=r"t\.npz is truncated"):
        read_graphs(tmp_path / "t.npz")


def test_graphsat(tmp_path: Path) -> None:
    path = tmp_path / "GRAPHSAT.txt"
    path.write_text("2\n2 1\n0 1 1\n1 1 0\n1 0\n0 0\n")
    graphs, labels = read_graphsat(path)
    assert np.diff(graphs.ptr).tolist() == [2, 1]
    assert (labels.tolist(), graphs.node_labels.tolist()) == ([1, 0], [0, 1, 0])
    for text, message in (
        ("2\n2 1\n0 1 1\n1 1", "ends inside vertex 1"),
        ("2\n1 1\n0 0\n", "ends after 1 of 2 graphs"),
        ("1\n1 1\n0 0\n5\n", "line 4: more follows"),
        ("1\n1 1\n0 x\n", "line 3: expected a whole number"),
        ("1\n2 1\n0 1 5\n1 0\n", "joins 0 and 5"),
        ("", "expected a whole number"),
    ):
        path.write_text(text)
        with pytest.raises(InputError, match=message):
            read_graphsat(path)


def test_choice_of_format(tmp_path: Path) -> None:
    (tmp_path / "a.xyz").write_text("0 1\n")
    with pytest.raises(InputError, match=r"'\.xyz' is not known. Choose from \.edges, .*graph6"):
        read_graphs(tmp_path / "a.xyz")
    assert read_graphs(tmp_path / "a.xyz", format="edges").num_edges == 1
    with pytest.raises(
        InputError, match=r"no format 'gml'\. Did you mean graphml. Choose from edges, graphml"
    ):
        read_graphs(tmp_path / "a.xyz", format="gml")
    with pytest.raises(InputError, match=r"format edges .* does not take column"):
        read_graphs(tmp_path / "a.xyz", format="edges", column="x")
    for name in ("g.gpickle", "d.pt", "e.npy"):
        (tmp_path / name).write_bytes(b"")
        with pytest.raises(InputError, match="can run any code"):
            read_graphs(tmp_path / name)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="neither a TU collection"):
        read_graphs(tmp_path / "empty")
    with pytest.raises(InputError, match="no file or folder"):
        read_graphs(tmp_path / "none.csv")


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "graphs", "nodes", "edges"),
    [
        ("TU/IMDB-BINARY", 1000, 19773, 96531),
        ("TU/BZR", 405, 14479, 15535),
        ("OGB/ogbg_moltox21", 7831, 145459, 151095),
    ],
)
def test_published_counts(
    data_dir: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    graphs: int,
    nodes: int,
    edges: int,
) -> None:
    monkeypatch.setenv("GPNN_CACHE", str(tmp_path))
    read = read_graphs(data_dir / f"{name}.zip")
    assert (len(read), read.num_nodes, read.num_edges) == (graphs, nodes, edges)
