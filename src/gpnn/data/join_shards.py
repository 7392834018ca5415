"""Join shards into the arrays of the whole set.

Parts, labels and targets get the numbers of the whole set, and every array becomes one file.
Classes of different shards stay different rows of the tables, even if they are equal: the network
computes the same for both.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..graph.partition import unique_rows
from ..graph.structure import Structure
from .npy_files import write_npy
from .prepared_manifest import PARTS
from .shards import Shard

__all__ = ["JoinedShards"]


class JoinedShards:
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
