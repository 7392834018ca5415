"""Files are read as far as they go: sizes that a file only names are not trusted."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from gpnn.errors import InputError
from gpnn.graph.readers import files
from gpnn.graph.readers.files import read_bytes
from gpnn.graph.readers.graph6 import parse_graph6


def test_memory_grows_with_what_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "edges.txt"
    path.write_bytes(b"0 1\n" * 100)
    assert read_bytes(path) == b"0 1\n" * 100
    asked: list[int] = []

    class Stream:
        def read(self, size: int) -> bytes:
            asked.append(size)
            return b""

    files._read(Stream(), 2**40)
    assert asked == [files.CHUNK]
    monkeypatch.setattr(files, "MAX_FILE_BYTES", 100)
    with pytest.raises(InputError, match="is larger than"):
        read_bytes(path)


def test_a_gzip_file_of_zeros_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "zeros.csv.gz"
    path.write_bytes(gzip.compress(bytes(10**6)))
    assert len(read_bytes(path)) == 10**6
    monkeypatch.setattr("gpnn.sizes.SMALL", 1000)
    with pytest.raises(InputError, match="unpacks to more than 200 times its size"):
        read_bytes(path)


def test_a_header_of_sparse6_alone_asks_for_nothing() -> None:
    with pytest.raises(InputError, match="vertices; sparse6 of up to 100,000 is read"):
        parse_graph6(":~~~~~~~~")
    assert parse_graph6(":Bc").num_nodes == 3
