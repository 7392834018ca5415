"""The manifest of a prepared folder, ``prepared.json``: what its arrays hold, with checksums."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..files import write_text
from ..graph.structure import Structure
from ..options import Whole
from ..schema import Anything, ListOf, Table, Text, read_json

__all__ = ["AGAIN", "MANIFEST", "PARTS", "RUN", "TABLE", "VERSION", "array_names", "digest",
           "read_manifest", "write_manifest"]  # fmt: skip

MANIFEST = "prepared.json"
RUN = "run.json"
"""Settings of a preparation that is not finished."""
VERSION = 1
TABLE = ("previous", "first", "second", "entry_ptr", "entry_tuple", "entry_count", "part", "shared",
         "shared_ptr", "shared_tuple", "shared_count")  # fmt: skip
"""The arrays of a round's table."""
PARTS = ("train", "valid", "test")
AGAIN = "Run the same 'gpnn prepare' again, with --fresh."


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a prepared folder."""
    manifest: dict[str, Any] = read_json(folder / MANIFEST, _MANIFEST, AGAIN)
    text = {key: value for key, value in manifest.items() if key != "sha256"}
    if digest(text) != manifest["sha256"]:
        raise InputError(f"{folder / MANIFEST} is altered: its checksum does not match. {AGAIN}")
    return manifest


def write_manifest(folder: Path, content: dict[str, Any]) -> dict[str, Any]:
    """Write a manifest with its checksum. Returns it as it will be read."""
    manifest: dict[str, Any] = json.loads(json.dumps(content))
    manifest["sha256"] = digest(manifest)
    write_text(folder / MANIFEST, json.dumps(manifest))
    return manifest


def array_names(structure: Structure) -> set[str]:
    """The files of a prepared folder."""
    once = ("y", "rows", "ids", "groups", "ids_ptr", "ptr", "indptr", "pair_first", "start_ptr",
            "indices", "pair_other", "x", "edge_label", "part", "components", "start",
            "start_id")  # fmt: skip
    each = ("pair_class", "class_ptr", "class_id", "class_count", *TABLE)
    rounds = {f"{name}.{r}.npy" for name in each for r in range(structure.layers)}
    return {f"{name}.npy" for name in once} | rounds


def digest(content: Any) -> str:
    """SHA-256 of a JSON content."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


_MANIFEST = Table(
    {
        "format": Text(),
        "version": Whole(VERSION, VERSION),
        "run": Table(more=Anything()),
        "structure": Table(more=Anything()),
        "encoder": Table(more=Anything()),
        "colours": ListOf(Anything()),
        "graphs": Whole(0),
        "vertices": Whole(0),
        "skipped": ListOf(Anything()),
        "data": Text(64),
        "files": Table(more=Table({"bytes": Whole(0), "sha256": Text(64)})),
        "sha256": Text(64),
    }
)
"""Schema of ``prepared.json``."""
