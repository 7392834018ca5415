"""``gpnn prepare``: a table of molecules of any length as memory-mapped arrays on disk.

1. The targets of all rows are read, so that rows without a label are left out.
2. Shard by shard, in any number of processes, molecules are parsed, encoded and partitioned, and
   the classes of their pairs are numbered. Shards are independent; each is a folder of ``.npy``
   files with checksums, so that an interrupted run resumes with the missing shards.
3. The shards are joined: parts, labels and targets get the numbers of the whole set, and every
   array becomes one file. Classes of different shards stay different rows of the tables, even
   if they are equal: the network computes the same for both.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from ..errors import InputError
from ..files import exists, user_path, write_text
from ..graph.classes import interaction_classes
from ..graph.partition import partition, unique_rows
from ..graph.readers.files import InputNote
from ..graph.schemes import get_scheme
from ..graph.structure import Structure
from ..lock import locked
from ..options import Whole
from ..pool import ordered_map
from ..ray_engine import LOCAL, RemoteTask, cluster, run_tasks
from ..schema import Anything, ListOf, Maybe, Table, Text, read_json
from . import targets as labels
from .encoder import Encoder
from .molecules import FULL, select_columns
from .npy_files import check_npy, map_npy, write_npy
from .pieces import Piece, TableFile
from .raw import MOLECULE, Skipped
from .samples import SHOWN, tell_skipped
from .scaffolds import canonical
from .sources import no_source
from .table import TableChoice, choose_targets, is_table, read_piece, smiles_name, split_parts
from .targets import MISSING
from .tasks import Task, get_task

__all__ = ["MANIFEST", "PARTS", "RUN", "TABLE", "array_names", "prepare_table", "read_manifest"]

MANIFEST, RUN, SHARD = "prepared.json", "run.json", "shard.json"
VERSION = 1
ROWS = 8_192
"""Default number of rows of a shard."""
TABLE = ("previous", "first", "second", "entry_ptr", "entry_tuple", "entry_count", "part", "shared",
         "shared_ptr", "shared_tuple", "shared_count")  # fmt: skip
"""The arrays of a round's table."""
PARTS = ("train", "valid", "test")
LAST = "Run the same 'gpnn prepare' again, with --fresh."

_SHARD = Table({"files": Table(more=Anything()), "skipped": ListOf(Anything()), "rows": Whole(0)})


@dataclass(frozen=True)
class ShardTask:
    """A shard to write: its number, its rows, and the reasons why some rows are left out."""

    number: int
    piece: Piece
    reasons: Mapping[int, str]


class ShardMaker:
    """Writes the shards of a table."""

    def __init__(
        self, folder: Path, path: Path, names: list[str], smiles: str, structure: Structure
    ) -> None:
        self.folder, self.path, self.names, self.smiles = folder, path, names, smiles
        self.structure = structure

    def __call__(self, task: ShardTask) -> int:
        """Write a shard. Returns its number of input rows."""
        raw = read_piece(self.path, self.names, task.piece, self.smiles, (), TableChoice())
        place = {row: g for g, row in enumerate(raw.rows.tolist())}
        raw = raw.without({place[row]: why for row, why in task.reasons.items() if row in place})
        nodes, graphs = select_columns(raw.nodes, raw.graphs, len(FULL))
        cut = partition(graphs, self.structure.scheme)
        words = nodes[:, 0] if self.structure.labels else None
        found = interaction_classes(
            graphs, cut.part, self.structure, graphs.edge_labels, vertex_labels=words
        )
        begin = np.searchsorted(found.pair_centre, np.arange(graphs.num_nodes + 1))
        texts = [text.encode("utf-8", "backslashreplace") for text in raw.ids]
        arrays: dict[str, NDArray[Any]] = {
            "rows": raw.rows,
            "ids": np.frombuffer(b"".join(texts), np.uint8),
            "ids_ptr": _ends([len(text) for text in texts]),
            "groups": np.array([_hash(text) for text in canonical(raw.ids)], np.int64),
            "ptr": graphs.ptr,
            "indptr": graphs.indptr,
            "indices": graphs.indices,
            "nodes": nodes,
            "bonds": _labels_of(graphs.edge_labels),
            "parts": cut.parts,
            "part": cut.part,
            "components": cut.components(),
            "pair_first": begin,
            "pair_other": found.pair_other,
            "start": found.start,
            "start_ptr": found.start_ptr,
            "start_id": found.start_id,
        }
        for r, table in enumerate(found.tables):
            arrays |= {
                f"pair_class.{r}": found.pair_class[r],
                f"class_ptr.{r}": found.class_ptr[r],
                f"class_id.{r}": found.class_id[r],
                f"class_count.{r}": found.class_count[r],
            }
            arrays |= {
                f"{name}.{r}": getattr(table, name)
                for name in TABLE
            }  # fmt: skip
        inside = self.folder / str(task.number)
        files = {
            f"{name}.npy": write_npy(inside / f"{name}.npy", array.shape, array.dtype, [array])
            for name, array in ((name, _narrow(array)) for name, array in arrays.items())
        }
        skipped = [[one.row, one.id, one.reason] for one in raw.skipped]
        about = {"files": files, "skipped": skipped, "rows": len(task.piece)}
        write_text(inside / SHARD, json.dumps(about))
        return len(task.piece)


def _labels_of(bonds: NDArray[np.int64] | None) -> NDArray[np.int64]:
    return np.zeros(0, np.int64) if bonds is None else bonds


def _hash(text: str) -> int:
    return int.from_bytes(
        hashlib.blake2b(text.encode(), digest_size=8).digest(), "big", signed=True
    )


def _ends(lengths: Sequence[int] | NDArray[Any]) -> NDArray[np.int64]:
    return np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))


def _narrow(array: NDArray[Any]) -> NDArray[Any]:
    """Integers in the smallest type that holds them."""
    if array.dtype.kind not in "iu" or not array.size:
        return array
    return array.astype(
        np.result_type(np.min_scalar_type(array.min()), np.min_scalar_type(array.max()))
    )


@dataclass(frozen=True)
class Shard:
    """A shard on disk."""

    folder: Path
    about: Mapping[str, Any]

    def __getitem__(self, name: str) -> NDArray[Any]:
        return map_npy(self.folder / f"{name}.npy")

    @cached_property
    def sizes(self) -> dict[str, int]:
        """Number of rows of every array."""
        return {name.removesuffix(".npy"): map_npy(self.folder / name).shape[0]
                for name in self.about["files"]}  # fmt: skip


def prepare_table(
    source: str,
    out: str | Path,
    *,
    target: str | Sequence[str] | None = None,
    smiles: str | None = None,
    task: str | None = None,
    split_column: str | None = None,
    structure: Structure | None = None,
    shards: int | None = None,
    jobs: int | None = None,
    engine: str = LOCAL,
    strict: bool = False,
    fresh: bool = False,
    started: Callable[[int, int], None] | None = None,
    report: Callable[[int], None] | None = None,
) -> dict[str, Any]:
    """Write a table of molecules as arrays that :func:`~gpnn.train.fit.fit` trains from without
    loading them into memory. Returns the manifest. The same call resumes an interrupted run.

    Args:
        source: CSV, TSV, SDF (also as .gz) or Parquet, with SMILES and targets.
        out: a folder.
        target, smiles, task, split_column: as in :func:`~gpnn.data.samples.load_samples`.
        structure: the structure that networks will read.
        shards: number of shards, which are prepared separately; by default 8,192 rows each.
        jobs: number of shards prepared in parallel, each in a process; by default one, or as many
            as the cluster has capacity for.
        engine: ``local``, ``ray`` or ``ray://HOST:PORT``, see ``gpnn.ray_engine``.
        started: called with the number of rows done and in total.
        report: called with the number of rows done.
    """
    path, folder = user_path(source), Path(out)
    structure = structure or Structure(d=3, distances=True)
    jobs = Maybe(Whole(1)).read("jobs", jobs)
    if structure.walks:
        raise InputError("gpnn prepare stores no random walks. Leave out walks.")
    get_scheme(structure.scheme)
    if source != "-" and path.suffix and not exists(path):
        raise InputError(no_source(source, "Name a table."))
    if not (source == "-" or (path.is_file() and is_table(path))):
        raise InputError(
            f"{source} is no table of molecules. gpnn prepare takes CSV, SDF, Parquet."
        )
    if folder.is_file():
        raise InputError(f"{folder} is a file. Name a folder with --out.")
    table = TableFile(path)
    at = smiles_name(path, table.names, table.head, smiles)
    wanted = None if target is None else [target] if isinstance(target, str) else list(target)
    columns, ragged = _texts(table, at, wanted, split_column)
    split = split_parts(path, columns, ragged, split_column)
    names = choose_targets(path, table.names, columns, at, wanted)
    if not names:
        raise InputError(f"{source} has no labels to learn from: its one column is {at!r}.")
    columns = {name: columns[name] for name in names}
    reasons = _without_label(columns, ragged)
    labelled = [row for row in range(table.rows) if row not in reasons and row not in ragged]
    _encoded(columns, labelled, task, source)  # raises before any work is done
    count = Whole(1).read("shards", shards) if shards is not None else -(-table.rows // ROWS)
    size = -(-table.rows // count)
    run = {
        "version": VERSION, "source": table.digest, "smiles": at, "targets": names, "task": task,
        "split": split_column, "structure": structure.to_dict(), "rows": size, "strict": strict,
    }  # fmt: skip
    with cluster(engine), locked(folder / ".lock", wait=False) as mine:
        if not mine:
            raise InputError(f"Another process is preparing {folder}. Wait for it.")
        _check_run(folder, run, fresh)
        if (folder / MANIFEST).is_file():
            known = read_manifest(folder)
            check_npy(folder, known["files"], LAST)
            shutil.rmtree(folder / "shards", ignore_errors=True)
            if started is not None:
                started(table.rows, table.rows)
            return known
        inside = folder / "shards"
        numbers = range(-(-table.rows // size))
        done = {k for k in numbers if _is_whole(inside / str(k))}
        reached = sum(min(size, table.rows - k * size) for k in done)
        if started is not None:
            started(reached, table.rows)
        about = (path, table.names, at, structure)
        met: list[int] = []
        pending = _pending(table, size, done, reasons, met)
        if engine == LOCAL:
            made = ordered_map(ShardMaker, (inside, *about), pending, jobs or 1)
        else:
            made = _on_cluster(inside, about, pending, jobs)
        for rows in made:
            reached += rows
            if report is not None:
                report(reached)
        found = [Shard(inside / str(k), _about(inside / str(k))) for k in met]
        skipped = [Skipped(*one) for shard in found for one in shard.about["skipped"]]
        skipped.sort(key=lambda one: one.row)
        tell_skipped(skipped[:SHOWN], len(skipped), table.rows, strict, source)
        manifest = _join(
            folder, found, run, columns, split, task, at, structure, skipped, source, jobs or 1
        )
        shutil.rmtree(inside)
        return manifest


def _texts(
    table: TableFile, smiles: str, targets: Sequence[str] | None, split: str | None
) -> tuple[dict[str, list[str]], dict[int, int]]:
    """The columns that may be targets or the split, and the ragged rows."""
    columns: dict[str, list[str]] = {
        name: []
        for name in table.names
        if name != smiles
        and (targets is None or name in (*targets, split) or name.lower() == "split")
    }
    ragged: dict[int, int] = {}
    for piece in table.pieces(ROWS):
        for name, values in columns.items():
            values.extend(piece.columns[name])
        ragged |= piece.ragged
    return columns, ragged


def _without_label(columns: Mapping[str, list[str]], ragged: Mapping[int, int]) -> dict[int, str]:
    """Rows without any target, with the reason."""
    which = repr(next(iter(columns))) if len(columns) == 1 else f"any of {len(columns)} targets"
    rows = zip(*columns.values(), strict=True)
    return {
        row: f"no label in {which}"
        for row, words in enumerate(rows)
        if row not in ragged and all(map(_is_missing, words))
    }


def _is_missing(word: str) -> bool:
    if word.strip().lower() in MISSING:
        return True
    try:
        return not math.isfinite(float(word))
    except ValueError:
        return False


def _pending(
    table: TableFile, size: int, done: set[int], reasons: Mapping[int, str], met: list[int]
) -> Iterator[ShardTask]:
    """The shards still to be written; the numbers of all shards are appended to ``met``."""
    for number, piece in enumerate(table.pieces(size)):
        met.append(number)
        if number not in done:
            last = piece.first + len(piece)
            own = {row: reasons[row] for row in range(piece.first, last) if row in reasons}
            yield ShardTask(number, piece, own)


def _on_cluster(
    inside: Path, about: tuple[Any, ...], pending: Iterator[ShardTask], most: int | None
) -> Iterator[int]:
    """Write shards on the machines of a cluster: rows are sent there, arrays are sent back. Yields
    the number of rows of every finished shard."""

    def task(one: ShardTask) -> RemoteTask:
        call = partial(_make_away, about, one)
        return RemoteTask(call, inside / str(one.number), f"shards/{one.number}")

    for _, (number, rows) in run_tasks(map(task, pending), most):
        if not _is_whole(inside / str(number)):
            raise InputError(f"Shard {number} came back damaged. Run the same command again.")
        yield rows


def _make_away(
    about: tuple[Any, ...], task: ShardTask, folder: Path, _: Callable[[float], None]
) -> tuple[int, int]:
    return task.number, ShardMaker(folder.parent, *about)(task)


def _check_run(folder: Path, run: Mapping[str, Any], fresh: bool) -> None:
    """Raise if the folder holds another run; ``fresh`` deletes the run in the folder."""
    if fresh and ((folder / MANIFEST).is_file() or (folder / RUN).is_file()):
        for path in (folder / MANIFEST, *folder.glob("*.npy")):
            path.unlink(missing_ok=True)
        shutil.rmtree(folder / "shards", ignore_errors=True)
        (folder / RUN).unlink(missing_ok=True)  # last: it identifies the folder as ours until then
    here = json.loads(json.dumps(run))
    if (folder / RUN).is_file():
        there = read_json(folder / RUN, Table(more=Anything()), LAST)
        if there != here:
            other = ", ".join(sorted(k for k in here if there.get(k) != here[k]))
            raise InputError(
                f"{folder} holds another preparation (other {other}). Choose another folder with "
                "--out, or start over there with --fresh."
            )
    elif any(folder.glob("*")) and {one.name for one in folder.glob("*")} != {".lock"}:
        raise InputError(f"{folder} is not empty. Choose a new folder with --out.")
    write_text(folder / RUN, json.dumps(here))


def _about(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = read_json(folder / SHARD, _SHARD, LAST)
    return found


def _is_whole(folder: Path) -> bool:
    """Whether a shard exists and is intact; a damaged shard is written again."""
    if not (folder / SHARD).is_file():
        return False
    try:
        check_npy(folder, _about(folder)["files"], "")
    except InputError as error:
        warnings.warn(f"{error}It is prepared again.", InputNote, stacklevel=3)
        return False
    return True


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a prepared folder."""
    found: dict[str, Any] = read_json(folder / MANIFEST, _MANIFEST, LAST)
    text = {key: value for key, value in found.items() if key != "sha256"}
    if _digest(text) != found["sha256"]:
        raise InputError(f"{folder / MANIFEST} is altered: its checksum does not match. {LAST}")
    return found


def array_names(structure: Structure) -> set[str]:
    """The files of a prepared folder."""
    once = ("y", "rows", "ids", "groups", "ids_ptr", "ptr", "indptr", "pair_first", "start_ptr",
            "indices", "pair_other", "x", "edge_label", "part", "components", "start",
            "start_id")  # fmt: skip
    each = ("pair_class", "class_ptr", "class_id", "class_count", *TABLE)
    rounds = {f"{name}.{r}.npy" for name in each for r in range(structure.layers)}
    return {f"{name}.npy" for name in once} | rounds


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _encoded(
    columns: Mapping[str, list[str]], rows: Sequence[int], task: str | None, source: str
) -> tuple[Tensor, Task, tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Labels of some rows, the task, its classes, and the classes of a mixed task."""
    if len(rows) < 2:
        raise InputError(f"{source} holds {len(rows)} labelled graphs: too few to learn from.")
    own = {name: labels.column([values[k] for k in rows]) for name, values in columns.items()}
    kind = get_task(task) if task is not None else labels.infer_task(own)
    if kind.node_level or (kind.has_classes and len(own) > 1):
        raise InputError(f"The task {kind} does not fit the targets {', '.join(own)}.")
    classes = labels.class_names(next(iter(own.values()))) if kind.has_classes else ()
    mixed = labels.mixed_classes(own) if kind is Task.MIXED else ()
    y, bad = labels.encode(own, kind, classes, mixed)
    if bad:
        row, why = next(iter(bad.items()))
        raise InputError(f"Row {rows[row] + 1} of {source}: {why}. Fix or remove it.")
    labels.check_labels(y, kind, classes, ())
    return y, kind, classes, mixed


def _join(
    folder: Path,
    shards: Sequence[Shard],
    run: Mapping[str, Any],
    columns: Mapping[str, list[str]],
    split: Sequence[str] | None,
    task: str | None,
    smiles: str,
    structure: Structure,
    skipped: Sequence[Skipped],
    source: str,
    threads: int,
) -> dict[str, Any]:
    """Write the arrays of the whole set and, last, the manifest. Returns the manifest."""
    rows = np.concatenate([shard["rows"] for shard in shards]).astype(np.int64)
    y, kind, classes, mixed = _encoded(columns, rows.tolist(), task, source)
    width = shards[0]["nodes"].shape[1]
    values = [np.unique(np.concatenate([np.unique(s["nodes"][:, k]) for s in shards])) for k in
              range(width)]  # fmt: skip
    bonds = np.unique(np.concatenate([np.unique(s["bonds"]) for s in shards])).astype(np.int64)
    parts = unique_rows(np.concatenate([s["parts"] for s in shards]).astype(np.int64))[0]
    encoder = Encoder(
        MOLECULE, kind, tuple(tuple(own.tolist()) for own in values), tuple(bonds.tolist()),
        class_names=classes, target_names=tuple(columns), smiles=smiles, mixed=mixed,
    )  # fmt: skip
    joint = _Joint(folder, shards, structure, values, bonds, parts)
    joint.collect(y.numpy(), rows, None if split is None else np.array(split)[rows])
    files = joint.write(threads)
    digests = [[name, known["sha256"]] for name, known in sorted(files.items())]
    manifest: dict[str, Any] = {
        "format": "gpnn-prepared", "version": VERSION, "run": dict(run),
        "structure": structure.to_dict(), "encoder": encoder.to_dict(),
        "colours": parts.tolist(), "graphs": len(rows), "vertices": joint.totals["nodes"],
        "skipped": [[one.row, one.id, one.reason] for one in skipped], "data": _digest(digests),
        "files": files,
    }  # fmt: skip
    manifest = json.loads(json.dumps(manifest))
    manifest["sha256"] = _digest(manifest)
    write_text(folder / MANIFEST, json.dumps(manifest))
    return manifest


class _Joint:
    """Concatenated arrays of the shards, renumbered for the whole set."""

    def __init__(
        self,
        folder: Path,
        shards: Sequence[Shard],
        structure: Structure,
        values: Sequence[NDArray[np.int64]],
        bonds: NDArray[np.int64],
        parts: NDArray[np.int64],
    ) -> None:
        self.folder, self.shards, self.structure = folder, shards, structure
        self.values, self.bonds, self.parts = values, bonds, parts
        self.totals = {n: sum(s.sizes[n] for s in shards) for n in shards[0].sizes}
        self.before: list[dict[str, int]] = []
        running = dict.fromkeys(self.totals, 0)
        for number, shard in enumerate(shards):
            self.before.append({**running, "shards": number})
            running = {name: running[name] + shard.sizes[name] for name in running}
        self.arrays: dict[str, tuple[tuple[int, ...], Any, Any]] = {}

    def write(self, threads: int) -> dict[str, dict[str, Any]]:
        """Write all arrays, several at a time: copying, hashing and writing release the lock of
        the interpreter. Returns size and checksum of every file."""

        def one(name: str) -> dict[str, Any]:
            return write_npy(self.folder / f"{name}.npy", *self.arrays[name])

        with ThreadPoolExecutor(min(threads, os.cpu_count() or 1)) as pool:
            made = pool.map(one, self.arrays)
            return {f"{name}.npy": facts for name, facts in zip(self.arrays, made, strict=True)}

    def collect(self, y: NDArray[Any], rows: NDArray[np.int64], split: NDArray[Any] | None) -> None:
        """Collect shape, dtype and pieces of every array."""
        whole = {"y": y, "rows": rows}
        if split is not None:
            whole["split"] = np.searchsorted(PARTS, split, sorter=np.argsort(PARTS))
            whole["split"] = np.argsort(PARTS)[whole["split"]]
        for name, array in whole.items():
            self._one(name, array.shape, array.dtype, [array])
        self._each("ids", np.uint8, lambda s, _: s["ids"])
        self._each("groups", np.int64, lambda s, _: s["groups"])
        self._ptr("ids_ptr", "ids")
        self._ptr("ptr", "nodes")
        self._ptr("indptr", "indices")
        self._ptr("pair_first", "pair_other")
        self._ptr("start_ptr", "start_id")
        vertex = np.int32 if self.totals["nodes"] < 2**31 else np.int64
        self._each("indices", vertex, lambda s, b: s["indices"].astype(np.int64) + b["nodes"])
        self._each("pair_other", vertex, lambda s, b: s["pair_other"].astype(np.int64) + b["nodes"])
        self._each("x", np.int16, self._codes, "nodes")
        self._each("edge_label", np.int16, lambda s, _: self._bond(s["bonds"]) + 1, "bonds")
        self._each("part", np.int32, lambda s, _: self._parts_of(s)[s["part"]])
        self._each("components", np.int32, self._components)
        self._each("start", np.int64, self._start)
        self._each("start_id", np.int32, lambda s, b: s["start_id"] + np.int64(b["start"]))
        for r in range(self.structure.layers):
            self._round(r)

    def _round(self, r: int) -> None:
        own = f"previous.{r}"  # a row per class
        self._each(f"pair_class.{r}", np.int32, lambda s, b: self._row(s, b, f"pair_class.{r}", r))
        self._ptr(f"class_ptr.{r}", f"class_id.{r}")
        self._each(f"class_id.{r}", np.int32, lambda s, b: s[f"class_id.{r}"] + np.int64(b[own]))
        self._each(f"class_count.{r}", np.int32, lambda s, _: s[f"class_count.{r}"])
        for key in (own, f"first.{r}", f"second.{r}"):
            self._each(key, np.int32, partial(self._row, name=key, r=r - 1))
        self._ptr(f"entry_ptr.{r}", f"entry_tuple.{r}")
        tuples, first = f"entry_tuple.{r}", f"first.{r}"
        self._each(tuples, np.int32, lambda s, b: s[tuples] + np.int64(b[first]))
        self._each(f"entry_count.{r}", np.int32, lambda s, _: s[f"entry_count.{r}"])
        self._each(f"part.{r}", np.int32, lambda s, _: self._parts_of(s)[s[f"part.{r}"]])
        self._each(f"shared.{r}", np.int32, partial(self._shared, r=r))
        self._ptr(f"shared_ptr.{r}", f"shared_tuple.{r}")
        far = f"shared_tuple.{r}"
        self._each(far, np.int32, lambda s, b: s[far] + np.int64(b[first]))
        self._each(f"shared_count.{r}", np.int32, lambda s, _: s[f"shared_count.{r}"])

    def _shared(self, shard: Shard, before: Mapping[str, int], r: int) -> NDArray[np.int64]:
        """The shared sum of every class; ``shared_ptr`` of a shard has one more entry than sums."""
        own = shard[f"shared.{r}"].astype(np.int64)
        return np.where(own < 0, -1, own + before[f"shared_ptr.{r}"] - before["shards"])

    def _row(self, shard: Shard, before: Mapping[str, int], name: str, r: int) -> NDArray[np.int64]:
        """Rows of the α table of round r: learned classes, then start classes."""
        rows = shard[name].astype(np.int64)
        if r < 0:
            return rows + before["start"]
        own = f"previous.{r}"
        learned = shard.sizes[own]
        start = rows - learned + self.totals[own] + before["start"]
        return np.where(rows < learned, rows + before[own], start)

    def _parts_of(self, shard: Shard) -> NDArray[np.int64]:
        """The number in the whole set of every part of a shard."""
        own = shard["parts"].astype(np.int64)
        _, place = unique_rows(np.concatenate([self.parts, own]))
        return place[len(self.parts) :]

    def _bond(self, bonds: NDArray[Any]) -> NDArray[np.int64]:
        return np.searchsorted(self.bonds, bonds).astype(np.int64)

    def _codes(self, shard: Shard, _: Mapping[str, int]) -> NDArray[np.int64]:
        nodes = shard["nodes"]
        own = [np.searchsorted(seen, nodes[:, k]) for k, seen in enumerate(self.values)]
        return np.stack(own, 1)

    def _components(self, shard: Shard, _: Mapping[str, int]) -> NDArray[np.int64]:
        own = shard["components"]
        out = np.zeros((len(own), len(self.parts) + 1), np.int64)
        out[:, self._parts_of(shard)] = own
        return out

    def _start(self, shard: Shard, _: Mapping[str, int]) -> NDArray[np.int64]:
        out = shard["start"].astype(np.int64)
        parts = self._parts_of(shard)
        out[:, 0], out[:, 2] = parts[out[:, 0]], parts[out[:, 2]]
        out[:, 3] = np.where(out[:, 3] > 0, self._bond(out[:, 3] - 1) + 1, 0)
        if self.structure.labels:
            for k in (5, 6):
                out[:, k] = np.searchsorted(self.values[0], out[:, k])
        return out

    def _each(
        self,
        name: str,
        dtype: Any,
        piece: Callable[[Shard, Mapping[str, int]], NDArray[Any]],
        like: str | None = None,
    ) -> None:
        total = self.totals[like or name]
        pieces = (piece(s, b) for s, b in zip(self.shards, self.before, strict=True))
        first = piece(self.shards[0], self.before[0])
        self._one(name, (total, *first.shape[1:]), dtype, pieces)

    def _ptr(self, name: str, into: str) -> None:
        """Join the pointers ``name`` of the shards into the array ``into`` of the whole set."""
        total = self.totals[name] - len(self.shards) + 1

        def pieces() -> Iterator[NDArray[np.int64]]:
            yield np.zeros(1, np.int64)
            for shard, before in zip(self.shards, self.before, strict=True):
                yield shard[name][1:].astype(np.int64) + before[into]

        self._one(name, (total,), np.int64, pieces())

    def _one(self, name: str, shape: tuple[int, ...], dtype: Any, pieces: Any) -> None:
        self.arrays[name] = (shape, dtype, pieces)


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
