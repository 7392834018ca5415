"""Sizes that an input states, and arrays in files that lie about theirs."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
import torch
from torch_geometric.data import Data

from gpnn.array_files import DamagedArrays, read_arrays, write_arrays
from gpnn.errors import InputError
from gpnn.graph.convert import as_graphs
from gpnn.graph.graphs import Graphs
from gpnn.graph.readers import read_graphs

EDGES = np.array([[0, 1], [1, 2]])


@pytest.mark.parametrize("name", ["num_nodes", "x_shape"])
def test_a_number_of_vertices_that_nothing_bears_out(name: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", edge_index=EDGES, **{name: np.array([10**9])})
    with pytest.raises(InputError, match="names 1,000,000,000 vertices"):
        read_graphs(tmp_path / "a.npz")


def test_objects_that_name_billions() -> None:
    edges = torch.tensor(EDGES)
    with pytest.raises(InputError, match="names 1,000,000,000 vertices"):
        as_graphs(Data(edge_index=edges, num_nodes=10**9))
    with pytest.raises(InputError, match="names graph 1,099,511,627,776"):
        as_graphs(Data(edge_index=edges, batch=torch.tensor([0, 0, 2**40])))
    with pytest.raises(InputError, match="names 1,000,000,000,000 vertices"):
        as_graphs(scipy.sparse.coo_array((10**12, 10**12)))
    with pytest.raises(InputError, match="the id 4,611,686,018,427,387,904"):
        as_graphs(np.array([[0, 2**62], [1, 2]]))
    with pytest.raises(InputError, match="GiB of memory"):
        Graphs.from_edges([0], [1], 10**12)


def test_files_that_name_billions(tmp_path: Path) -> None:
    (tmp_path / "X_A.txt").write_text("1, 2\n")
    (tmp_path / "X_graph_indicator.txt").write_text("1\n100000000000000000\n")
    with pytest.raises(InputError, match="names graph 99,999,999,999,999,999"):
        read_graphs(tmp_path)


def test_an_archive_of_zeros_is_not_unpacked(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "a.npz", edge_index=np.zeros((2, 10**7), np.int64))
    with pytest.raises(InputError, match="unpacks to more than 200 times its size"):
        read_graphs(tmp_path / "a.npz")


def header(shape: str, kind: str, body: bytes) -> bytes:
    text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
    text = text.ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode() + body


@pytest.mark.parametrize(
    ("shape", "kind", "body"),
    [("(10**12,)", "<i8", b"x" * 8), ("(1000000000,)", "<i8", b"x" * 8), ("(1,)", "|O", b"x" * 8),
     ("(-1,)", "<i8", b""), ("(2,)", "<i8", b"x" * 24)],
)  # fmt: skip
def test_an_array_that_lies_about_its_size(
    shape: str, kind: str, body: bytes, tmp_path: Path
) -> None:
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as file:
        file.writestr("edge_index.npy", header(shape, kind, body))
    with pytest.raises(DamagedArrays):
        read_arrays(tmp_path / "a.npz")["edge_index"]


def test_arrays_come_back_as_they_were(tmp_path: Path) -> None:
    arrays = {
        "a": np.arange(6).reshape(2, 3).T, "b": np.array("text"), "c": np.zeros((0, 4)),
        "d": np.array([1.5, np.nan], ">f4"),
    }  # fmt: skip
    write_arrays(tmp_path / "a.npz", arrays)
    found = read_arrays(tmp_path / "a.npz")
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype.isnative
    with np.load(tmp_path / "a.npz") as other:
        np.testing.assert_array_equal(other["a"], arrays["a"])
    first = (tmp_path / "a.npz").read_bytes()
    write_arrays(tmp_path / "a.npz", arrays)
    assert (tmp_path / "a.npz").read_bytes() == first


def test_every_flipped_bit_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    write_arrays(path, {"a": np.arange(20)}, packed=False)
    sound = path.read_bytes()
    start = sound.index(b"\x93NUMPY")
    for place in range(start, start + 288, 7):
        path.write_bytes(sound[:place] + bytes([sound[place] ^ 4]) + sound[place + 1 :])
        with pytest.raises(InputError):
            read_arrays(path)["a"]
    path.write_bytes(io.BytesIO(sound).getvalue())
    assert read_arrays(path)["a"].tolist() == list(range(20))
