"""Samples written by ``gpnn prepare``: arrays on disk that are memory-mapped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..errors import InputError
from ..files import user_path
from ..graph.class_tables import InteractionClasses, RoundTable
from ..graph.graphs import Graphs
from ..graph.partition import Partition
from ..graph.schemes import get_scheme
from ..graph.structure import Structure
from ..graph.vocabulary import Vocabulary
from ..nn.prepare import Prepared
from .encoder import Encoder
from .npy_files import check_npy, map_npy
from .prepared_manifest import MANIFEST, PARTS, RUN, TABLE, array_names, read_manifest
from .raw import Skipped
from .samples import Samples

__all__ = ["PreparedSamples", "is_prepared", "load_prepared"]

IntArray = NDArray[np.int64]
FIX = "Copy the folder again, or run the same 'gpnn prepare' with --fresh."


def is_prepared(source: str | Path) -> bool:
    """Whether a source is a folder of ``gpnn prepare``, finished or not."""
    folder = user_path(source)
    try:
        begun = (folder / RUN).is_file() and (folder / "shards").is_dir()
        return begun or (folder / MANIFEST).is_file()
    except (OSError, ValueError):
        return False


@dataclass(frozen=True, repr=False)
class MappedGraphs(Prepared):
    """Prepared graphs with arrays on disk; ``pair_begin`` holds the start of the pairs of every
    vertex."""

    pair_begin: IntArray | None = None

    @property
    def pair_first(self) -> IntArray:
        assert self.pair_begin is not None
        return self.pair_begin


@dataclass(frozen=True, eq=False)
class PreparedSamples(Samples):
    """Samples with a precomputed partition and precomputed classes of pairs.

    Attributes:
        structure: the structure they were prepared for; networks with another structure cannot read
            them.
        cut: the partition.
        known: a hash of all arrays.
        arrays: memory-mapped arrays by name.
    """

    structure: Structure = field(default_factory=Structure)
    cut: Partition | None = None
    known: str = ""
    arrays: Mapping[str, NDArray[Any]] | None = None

    def digest(self) -> str:
        return self.known

    def prepared(
        self, structure: Structure, vocabulary: Vocabulary | None, y: Tensor | None
    ) -> Prepared:
        """The graphs for batches, with the parts of a vocabulary."""
        assert self.cut is not None and self.arrays is not None
        self.check(structure)
        arrays, graphs, rounds = self.arrays, self.graphs, range(structure.layers)
        vocabulary = vocabulary or Vocabulary.fit(self.cut)
        index = vocabulary._look_up(self.cut.parts)
        components, part = arrays["components"], self.cut.part
        if not np.array_equal(index, np.arange(vocabulary.size)):
            part = index.astype(np.int32)[part]
            components = np.zeros((len(graphs), vocabulary.size + 1), np.int32)
            np.add.at(components.T, index, arrays["components"].T[:-1])
            components[:, -1] = 0
        classes = InteractionClasses(
            structure=structure,
            merged=True,
            ptr=graphs.ptr,
            pair_ptr=arrays["pair_first"][graphs.ptr],
            pair_centre=np.zeros(0, np.int64),
            pair_other=arrays["pair_other"],
            pair_class=tuple(arrays[f"pair_class.{r}"] for r in rounds),  # type: ignore[arg-type]
            start=arrays["start"],
            start_entry=None,
            tables=tuple(_table(arrays, r) for r in rounds),
            class_ptr=tuple(arrays[f"class_ptr.{r}"] for r in rounds),
            class_id=tuple(arrays[f"class_id.{r}"] for r in rounds),
            class_count=tuple(arrays[f"class_count.{r}"] for r in rounds),
            start_ptr=arrays["start_ptr"],
            start_id=arrays["start_id"],
        )
        assert self.x is not None
        return MappedGraphs(
            structure=structure,
            graphs=graphs,
            vocabulary=vocabulary,
            classes=classes,
            part=part,  # type: ignore[arg-type]
            part_of_colour=index,
            x=self.x,
            edge_label=arrays["edge_label"],
            edge_features=None,
            codes=self.encoder.codes,
            edge_labels=len(self.encoder.edges),
            components=components,
            labels=y,
            node_level=False,
            pair_begin=arrays["pair_first"],
        )

    def check(self, structure: Structure) -> None:
        """Raise for a network with another structure."""
        if structure != self.structure:
            raise InputError(
                f"The folder was prepared for {self.structure}, {self.structure.layers} layers, "
                f"and the model reads {structure}, {structure.layers} layers. Prepare it with the "
                "options of the model, or leave them out."
            )


def _table(arrays: Mapping[str, NDArray[Any]], r: int) -> RoundTable:
    own = {name: arrays[f"{name}.{r}"] for name in TABLE}
    return RoundTable(size=len(own["previous"]), **own)


def load_prepared(source: str | Path) -> PreparedSamples:
    """The samples of a folder; missing, truncated or altered files raise."""
    folder = user_path(source)
    if not (folder / MANIFEST).is_file():
        raise InputError(
            f"The preparation of {folder} has not finished. Run the same 'gpnn prepare' again: it "
            "resumes where it stopped."
        )
    about = read_manifest(folder)
    structure, encoder = Structure(**about["structure"]), Encoder.from_dict(about["encoder"])
    if absent := sorted(array_names(structure) - set(about["files"])):
        raise InputError(f"{folder / MANIFEST} does not name {absent[0]}. {FIX}")
    check_npy(folder, about["files"], FIX)
    arrays = {name.removesuffix(".npy"): map_npy(folder / name) for name in about["files"]}
    ends, text = arrays["ids_ptr"].tolist(), arrays["ids"].tobytes()
    ids = tuple(text[a:b].decode() for a, b in pairwise(ends))
    graphs = Graphs(arrays["ptr"], arrays["indptr"], arrays["indices"])
    parts, part = np.array(about["colours"], np.int64), arrays["part"]
    scheme = get_scheme(structure.scheme)
    split = None
    if "split" in arrays:
        split = {name: np.flatnonzero(arrays["split"] == k) for k, name in enumerate(PARTS)}
    return PreparedSamples(
        graphs=graphs,
        encoder=encoder,
        x=torch.from_numpy(arrays["x"]),
        edge_labels=_Shifted(arrays["edge_label"]),  # type: ignore[arg-type]
        y=torch.from_numpy(arrays["y"]),
        ids=ids,
        rows=arrays["rows"],
        skipped=tuple(Skipped(*one) for one in about["skipped"]),
        split=split,
        from_smiles=True,
        groups=arrays["groups"],
        structure=structure,
        cut=Partition(graphs, scheme, np.zeros((0, parts.shape[1]), np.int64), parts, part),
        known=about["data"],
        arrays=arrays,
    )


class _Shifted:
    """Edge labels, one less than the stored values that networks read, computed on access."""

    def __init__(self, stored: NDArray[Any]) -> None:
        self.stored = stored

    def __len__(self) -> int:
        return len(self.stored)

    def __getitem__(self, which: Any) -> NDArray[np.int64]:
        return self.stored[which].astype(np.int64) - 1
