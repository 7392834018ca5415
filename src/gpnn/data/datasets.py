"""Datasets by name: searched in the data folder, the package and the cache, else downloaded."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

from ..errors import InputError, OutputError
from ..files import user_path
from ..graph.graphs import Graphs
from .catalogue import DATASETS, Dataset, get
from .download import Progress

__all__ = ["DATASETS", "Dataset", "data_folder", "find", "get", "load_graphs", "locate"]

_DEPTH = 3


def data_folder(data: str | Path | None = None) -> Path | None:
    """The given folder, else ``$GPNN_DATA``, else None."""
    given = data if data is not None else os.environ.get("GPNN_DATA")
    if not given:
        return None
    folder = user_path(given)
    if not folder.is_dir():
        origin = "the data folder" if data is not None else "GPNN_DATA,"
        raise InputError(f"There is no folder {folder} ({origin} you named). Check the path.")
    return folder


def load_graphs(
    name: str, data: str | Path | None = None, progress: Progress | None = None
) -> Graphs:
    """The graphs of a dataset, with vertex and edge labels if its structure files contain them."""
    entry = get(name)
    return entry.read(find(name, data, progress) if entry.markers else Path())


def find(name: str, data: str | Path | None = None, progress: Progress | None = None) -> Path:
    """The marker file of a dataset; a zip is unpacked into the cache.

    The file is searched in ``data`` (else ``$GPNN_DATA``) and up to three levels below, then in the
    package, then in the cache; otherwise it is downloaded into the cache, if it is public.
    """
    from ..graph.readers.archive import cache_root

    entry = get(name)
    if not entry.markers:
        raise InputError(f"{entry.name} is generated, not read from a file.")
    given = data_folder(data)
    if given is not None and (marker := _search(entry, given)):
        return marker
    if entry.embedded is not None:
        with resources.as_file(resources.files("gpnn.embedded") / entry.embedded) as archive:
            return _open(entry, archive)
    cache = cache_root() / "downloads"
    if marker := _search(entry, cache):
        return marker
    return _download(entry, cache, given, progress)


def locate(name: str, data: str | Path | None = None) -> str | None:
    """Location of a dataset, without unpacking or downloading anything; None if it is absent."""
    from ..graph.readers.archive import cache_root

    entry = get(name)
    if entry.own is not None:
        return "registered"
    if not entry.markers:
        return "generated"
    for root in (data_folder(data), cache_root() / "downloads"):
        for folder in _folders(root, _DEPTH) if root is not None else ():
            for file in (*entry.markers, *entry.archives):
                if (folder / file).is_file():
                    return str(folder / file)
    return "embedded" if entry.embedded else None


def _download(entry: Dataset, cache: Path, given: Path | None, progress: Progress | None) -> Path:
    from .download import download

    looked = [str(folder) for folder in (given, cache) if folder is not None]
    absent = f"{entry.name} was not found in {' or '.join(looked)}"
    put = f"Put {_either((*entry.archives, *entry.markers[:1]))} into a folder and name it with "
    put += "--data or GPNN_DATA."
    if not entry.downloads:
        advice = entry.help or "It has no public address that could be downloaded."
        raise InputError(f"{absent}. {advice} {put}")
    for one in entry.downloads:
        try:
            download(one.address, cache / one.file, progress, one.sha256)
        except OutputError:
            raise
        except InputError as error:
            raise InputError(f"{absent}, and {error} {put}") from None
    marker = _search(entry, cache)
    if marker is None:
        raise InputError(
            f"The file from {entry.downloads[0].address} does not contain {entry.name}. {put}"
        )
    return marker


def _either(names: tuple[str, ...]) -> str:
    return " or ".join(dict.fromkeys(names))


def _search(entry: Dataset, root: Path) -> Path | None:
    """The marker as a file, else from an archive, in the folder or below."""
    folders = list(_folders(root, _DEPTH))
    for folder in (root.absolute().parent, *folders):
        for marker in entry.markers:
            inside = folder != root.absolute().parent or marker.startswith(f"{root.name}/")
            if inside and (folder / marker).is_file():
                return folder / marker
    for folder in folders:
        for archive in entry.archives:
            if (folder / archive).is_file():
                return _open(entry, folder / archive)
    return None


def _folders(root: Path, depth: int) -> Iterator[Path]:
    """The folder and its subfolders, level by level."""
    level = [root] if root.is_dir() else []
    for _ in range(depth + 1):
        yield from level
        level = [
            Path(item.path)
            for folder in level
            for item in _entries(folder)
            if item.is_dir() and not item.name.startswith(".")
        ]


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as items:
            return sorted(items, key=lambda item: item.name)
    except PermissionError:
        return []


def _open(entry: Dataset, archive: Path) -> Path:
    from ..graph.readers.archive import unpack

    folder = unpack(archive)
    for marker in entry.markers:
        if (folder / marker).is_file():
            return folder / marker
    raise InputError(f"{archive} does not hold {entry.name}: it lacks {_either(entry.markers)}.")
