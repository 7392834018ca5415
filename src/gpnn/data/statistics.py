"""The paper's benchmarks: statistics of the available data, and those printed in the paper.

Statistics are cached by the content of the dataset files, so that a listing reads no dataset twice.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from dataclasses import asdict, dataclass, fields
from importlib import resources
from pathlib import Path

import numpy as np

from ..errors import InputError
from ..files import exists, write_text
from ..graph.readers.archive import cache_root
from ..options import Number, Whole
from ..schema import Table, Text, read_json
from .cache import code
from .datasets import get, locate
from .targets import infer_task, missing
from .tasks import Task

__all__ = ["PAPER", "UNPUBLISHED", "DatasetStatistics", "PaperStatistics", "dataset_statistics"]

FORMAT = 1


@dataclass(frozen=True)
class DatasetStatistics:
    """Statistics of a dataset.

    Attributes:
        graphs: number of graphs.
        nodes, edges: averages over the graphs; every edge counts once, loops do not count.
        classes: number of classes of a label; 0 for a regression.
        tasks: number of labels of a graph or vertex.
        kind: kind of vertex data: ``labels``, ``molecule`` (columns), ``degree`` or ``features``
            (numbers).
        features: number of distinct labels or degrees, of columns, or of numbers per vertex.
        edge_labels: number of distinct edge labels, or 0.
        loops: number of self-loops in the files.
    """

    graphs: int
    nodes: float
    edges: float
    classes: int
    tasks: int
    kind: str
    features: int
    edge_labels: int
    loops: int


@dataclass(frozen=True)
class PaperStatistics:
    """A row of the paper's tables of datasets; ``note`` explains a different way of counting."""

    task: str
    graphs: int | None = None
    nodes: float | None = None
    edges: float | None = None
    classes: int | None = None
    features: int | None = None
    note: str = ""

    def differences(self, found: DatasetStatistics) -> list[str]:
        """The columns in which the paper prints a different number."""
        edges = found.edges * (2 if self.note == BOTH_WAYS else 1)
        edges += found.loops if self.note == LOOPS else 0
        pairs = {
            "graphs": (found.graphs, self.graphs),
            "nodes": (found.nodes, self.nodes),
            "edges": (edges, self.edges),
            "classes": (found.classes or found.tasks, self.classes),
            "features": (found.features, self.features),
        }
        return [name for name, (ours, theirs) in pairs.items() if not _equal(ours, theirs)]


BOTH_WAYS = "the paper counts every edge in both directions here"
LOOPS = "the paper counts self-loops here"
_CLASSES, _NODES = "graph classification", "node classification"

UNPUBLISHED = PaperStatistics("registered")
"""Entry for a dataset that a user registered."""

PAPER: dict[str, PaperStatistics] = {
    "MUTAG": PaperStatistics(_CLASSES, 188, 17.93, 19.79, 2),
    "PTC_MR": PaperStatistics(_CLASSES, 344, 14.29, 14.69, 2),
    "BZR": PaperStatistics(_CLASSES, 405, 35.75, 38.36, 2),
    "COX2": PaperStatistics(_CLASSES, 467, 41.22, 43.45, 2),
    "DHFR": PaperStatistics(_CLASSES, 756, 42.43, 44.54, 2),
    "IMDB-BINARY": PaperStatistics(_CLASSES, 1_000, 19.77, 96.53, 2),
    "PROTEINS": PaperStatistics(_CLASSES, 1_113, 39.06, 72.82, 2),
    "ogbg-moltox21": PaperStatistics(_CLASSES, 7_831, 18.6, 19.3, 2),
    "ogbg-moltoxcast": PaperStatistics(_CLASSES, 8_576, 18.8, 19.3, 2),
    "ogbg-molhiv": PaperStatistics(_CLASSES, 41_127, 25.5, 27.5, 2),
    "ZINC12k": PaperStatistics("graph regression", 12_000, 23.1, 49.8, 1, note=BOTH_WAYS),
    "Cora": PaperStatistics(_NODES, 1, 2_708, 5_278, 7, 1_433),
    "CiteSeer": PaperStatistics(_NODES, 1, 3_327, 4_552, 6, 3_703),
    "Wisconsin": PaperStatistics(_NODES, 1, 251, 466, 5, 1_703, LOOPS),
    "Texas": PaperStatistics(_NODES, 1, 183, 279, 5, 1_703),
}


def dataset_statistics(name: str, data: str | Path | None = None) -> DatasetStatistics | None:
    """The statistics of a dataset; ``None`` if it is absent. Nothing is downloaded."""
    place = locate(name, data)
    if place is None:
        return None
    if get(name).own is not None:  # its files are not known, so it cannot be cached
        return _count(name, data)
    path = cache_root() / "statistics" / f"{get(name).name}-{_content(name, place)[:24]}.json"
    if exists(path):
        with contextlib.suppress(InputError):  # damaged: count again
            return DatasetStatistics(**read_json(path, _COUNTED, ""))
    statistics = _count(name, data)
    with contextlib.suppress(InputError):  # a cache that cannot be written: count again next time
        write_text(path, json.dumps(asdict(statistics)))
    return statistics


def _count(name: str, data: str | Path | None) -> DatasetStatistics:
    from .benchmark_readers import read_benchmark
    from .raw import FEATURES, MOLECULE

    raw = read_benchmark(name, data)
    graphs, nodes = raw.graphs, raw.nodes
    columns = raw.kind in (FEATURES, MOLECULE)
    labels = [values[~missing(values)] for values in raw.targets.values()]
    own = get(name).own is not None and raw.task is None and raw.targets
    numbers = (infer_task(raw.targets) if own else raw.task) is Task.REGRESSION
    return DatasetStatistics(
        graphs=len(graphs),
        nodes=graphs.num_nodes / len(graphs),
        edges=graphs.num_edges / len(graphs),
        classes=0 if numbers else max((len(np.unique(values)) for values in labels), default=0),
        tasks=len(labels),
        kind=raw.kind,
        features=nodes.shape[1] if columns else len(np.unique(nodes)),
        edge_labels=0 if graphs.edge_labels is None else len(np.unique(graphs.edge_labels)),
        loops=graphs.normalised.self_loops,
    )


_COUNTED = Table(
    {
        **{field.name: Whole(0) for field in fields(DatasetStatistics)},
        **{name: Number() for name in ("nodes", "edges")},
        "kind": Text(),
    }
)


def _content(name: str, place: str) -> str:
    """A hash of the files of a dataset and of the code that reads them."""
    total = hashlib.sha256(f"{FORMAT} {code()} {name}".encode())
    if place == "embedded":
        archive = resources.files("gpnn.embedded") / str(get(name).embedded)
        total.update(archive.read_bytes())
        return total.hexdigest()
    path = Path(place)
    alone = path.name in (*get(name).archives, f"{get(name).name}.npz")
    for file in [path] if alone else sorted(path.parent.iterdir()):
        if file.is_file():
            total.update(file.name.encode())
            with file.open("rb") as stream:
                total.update(hashlib.file_digest(stream, "sha256").digest())
    return total.hexdigest()


def _equal(ours: float, theirs: float | None) -> bool:
    """Whether two numbers agree to the printed digits (rounded up or down)."""
    if theirs is None:
        return True
    digits = len(str(theirs).partition(".")[2]) if isinstance(theirs, float) else 0
    return abs(ours - theirs) <= 0.51 * 10.0**-digits * (digits > 0)
