from __future__ import annotations

import stat
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from gpnn.errors import InputError
from gpnn.graph.readers import archive
from gpnn.graph.readers.archive import cache_root, unpack


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GPNN_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def zipped(folder: Path, members: dict[str, str], name: str = "a.zip") -> Path:
    folder.mkdir(exist_ok=True)
    with zipfile.ZipFile(folder / name, "w", zipfile.ZIP_DEFLATED) as file:
        for member, text in members.items():
            file.writestr(member, text)
    return folder / name


def test_unpacks_into_the_cache_once(tmp_path: Path, cache: Path) -> None:
    path = zipped(tmp_path / "in", {"d/a.txt": "one"})
    folder = unpack(path)
    assert folder.is_relative_to(cache)
    assert (folder / "d" / "a.txt").read_text() == "one"
    assert [p.name for p in (tmp_path / "in").iterdir()] == ["a.zip"]
    assert unpack(path) == folder
    changed = unpack(zipped(tmp_path / "in", {"d/a.txt": "two"}))
    assert changed != folder
    assert (changed / "d" / "a.txt").read_text() == "two"


@pytest.mark.parametrize(
    "name", ["../evil.txt", "a/../../evil.txt", "/evil.txt", "C:/evil.txt", "..\\evil.txt"]
)
def test_paths_outside_are_refused(tmp_path: Path, cache: Path, name: str) -> None:
    path = zipped(tmp_path / "in", {"fine.txt": "x", name: "x"})
    with pytest.raises(InputError, match="outside its folder"):
        unpack(path)
    assert not list(tmp_path.rglob("*evil*"))
    assert not list((cache / "unpacked").iterdir()), "nothing half-done is left"


def test_links_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "l.zip"
    with zipfile.ZipFile(path, "w") as file:
        link = zipfile.ZipInfo("link")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        file.writestr(link, "/etc/passwd")
    with pytest.raises(InputError, match="holds the link 'link'"):
        unpack(path)


def test_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = zipped(tmp_path / "in", {"a": "x" * 5000, "b": "y"})
    monkeypatch.setattr(archive, "MAX_BYTES", 1000)
    with pytest.raises(InputError, match="unpacks to more than"):
        unpack(path)
    monkeypatch.setattr(archive, "MAX_FILES", 1)
    with pytest.raises(InputError, match="holds 2 files; at most 1"):
        unpack(path)


@pytest.mark.parametrize("keep", [0, 10, -30])
def test_truncated_archives(tmp_path: Path, cache: Path, keep: int) -> None:
    path = zipped(tmp_path / "in", {"a": "x" * 5000})
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(InputError, match="truncated or not a readable zip"):
        unpack(path)
    assert not list((cache / "unpacked").iterdir())


def test_damaged_content(tmp_path: Path) -> None:
    path = zipped(tmp_path / "in", {"a": "x" * 50_000})
    raw = bytearray(path.read_bytes())
    raw[40:50] = b"\xff" * 10
    path.write_bytes(raw)
    with pytest.raises(InputError, match="truncated or not a readable zip"):
        unpack(path)


def test_two_at_once(tmp_path: Path) -> None:
    path = zipped(tmp_path / "in", {f"{i}.txt": "x" * 1000 for i in range(200)})
    with ThreadPoolExecutor(4) as pool:
        folders = set(pool.map(unpack, [path] * 8))
    assert len(folders) == 1
    assert len(list(folders.pop().iterdir())) == 200


def test_unwritable_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("GPNN_CACHE", str(tmp_path / "file"))
    with pytest.raises(InputError, match="Set GPNN_CACHE"):
        unpack(zipped(tmp_path / "in", {"a": "x"}))


def test_where_the_cache_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cache_root() == tmp_path / "cache"
    monkeypatch.delenv("GPNN_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_root() == tmp_path / "xdg" / "gpnn"
