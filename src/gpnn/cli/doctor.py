"""``gpnn doctor``: what is installed, which data is available, and what is missing."""

from __future__ import annotations

import platform
import sys
from importlib import metadata, util
from pathlib import Path
from typing import Any

from ..errors import InputError
from ._shared import Data, Json, emit, show, styled

__all__ = ["doctor"]

REQUIRED = (
    "numpy", "numba", "scipy", "networkx", "torch", "torch_geometric", "typer", "rich",
    "matplotlib",
)  # fmt: skip
OPTIONAL = {
    "rdkit": ("SMILES input", "pip install 'gpnn[mol]'"),
    "igraph": ("benchmarks, optional canonical labelling", "pip install 'gpnn[bench]'"),
    "networkit": ("benchmarks", "pip install 'gpnn[bench]'"),
    "rustworkx": ("benchmarks", "pip install 'gpnn[bench]'"),
    "scikit-network": ("benchmarks", "pip install 'gpnn[bench]'"),
    "psutil": ("peak memory in benchmarks", "pip install 'gpnn[bench]'"),
}


def doctor(data: Data = None, json: Json = False) -> None:
    """Show versions, device, available data and cache, and how to install what is missing."""
    report = _report(data)
    if json:
        emit(report)
        return
    from rich.table import Table

    table = Table("", "", "", show_header=False)
    for section in ("system", "packages", "extras", "data", "cache"):
        for name, row in report[section].items():
            mark = styled("✓", "green") if row["ok"] else styled("–", "yellow")
            table.add_row(mark, name, row["text"])
        table.add_section()
    show(table)


def _report(data: str | None) -> dict[str, Any]:
    return {
        "system": _system(),
        "packages": {name: _package(name) for name in REQUIRED},
        "extras": {name: _extra(name, *about) for name, about in OPTIONAL.items()},
        "data": _datasets(data),
        "cache": _cache(),
    }


def _row(ok: bool, text: str) -> dict[str, Any]:
    return {"ok": ok, "text": text}


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _system() -> dict[str, Any]:
    from .. import __version__

    return {
        "gpnn": _row(True, __version__),
        "python": _row(
            sys.version_info >= (3, 11), f"{platform.python_version()} on {platform.system()}"
        ),
        "device": _row(True, _device()),
    }


def _device() -> str:
    if util.find_spec("torch") is None:
        return "unknown: torch is not installed"
    import torch

    if torch.cuda.is_available():
        return f"{torch.cuda.get_device_name()}, CUDA {torch.version.cuda}"
    return f"CPU, {torch.get_num_threads()} threads"


def _package(name: str) -> dict[str, Any]:
    version = _version(name)
    return _row(version is not None, version or f"missing: pip install {name}")


def _extra(name: str, purpose: str, fix: str) -> dict[str, Any]:
    version = _version(name)
    return _row(
        version is not None, f"{version} ({purpose})" if version else f"missing ({purpose}): {fix}"
    )


def _datasets(data: str | None) -> dict[str, Any]:
    from ..data.datasets import DATASETS, data_folder, locate

    where = "not set: name a folder with --data or GPNN_DATA"
    try:
        folder = data_folder(data)
    except InputError as error:
        folder, where, data = None, str(error), ""
    where = str(folder) if folder else where
    rows = {"data folder": _row(folder is not None, where)}
    for name, entry in DATASETS.items():
        place = locate(name, data)
        fix = entry.downloads[0].address if entry.downloads else "put its file into the data folder"
        rows[name] = _row(place is not None, place or f"absent: {fix}")
    return rows


def _cache() -> dict[str, Any]:
    from ..data.cache import LIMIT, folder, usage
    from ..graph.readers.archive import cache_root

    root = cache_root()
    files, kept = usage()
    size = sum(f.stat().st_size for f in root.rglob("*") if f.is_file()) if root.is_dir() else 0
    computed = (
        f"{_shorten(folder())}, {files:,} files, {kept / 2**20:.1f} MiB of at most "
        f"{LIMIT / 2**30:.0f} GiB (interactions of large datasets)"
    )
    return {
        "cache": _row(True, f"{_shorten(root)}, {size / 2**20:.1f} MiB"),
        "computed": _row(True, computed),
    }


def _shorten(path: Path) -> str:
    try:
        return f"~/{path.relative_to(Path.home())}"
    except (ValueError, RuntimeError):
        return str(path)
