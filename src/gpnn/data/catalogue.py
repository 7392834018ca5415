"""The datasets known by name: their files, downloads and readers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ..graph.graphs import Graphs
from ..plugins import beside_plugin
from ..text import did_you_mean
from . import loaders

if TYPE_CHECKING:
    from .raw import Raw

__all__ = ["DATASETS", "Dataset", "get", "register_dataset"]


@dataclass(frozen=True, slots=True)
class Download:
    """A public file: address, name in the cache, and checksum if known. There are none for the
    collections of TU and OGB."""

    address: str
    file: str
    sha256: str | None = None


@dataclass(frozen=True, slots=True)
class Dataset:
    """One dataset.

    Attributes:
        name: as in the literature; the look-up ignores case.
        about: a description in one line.
        read: reads graphs from the marker file.
        markers: files whose presence identifies the dataset, relative to a data folder.
        archives: names of archives that contain it.
        downloads: the files to download.
        help: how to obtain it when nothing can be downloaded.
        embedded: the archive inside the package.
        aliases: other names.
        own: for a dataset registered by a user, the reader of graphs with features and targets.
    """

    name: str
    about: str
    read: Callable[[Path], Graphs]
    markers: tuple[str, ...] = ()
    archives: tuple[str, ...] = ()
    downloads: tuple[Download, ...] = ()
    help: str = ""
    embedded: str | None = None
    aliases: tuple[str, ...] = ()
    own: Callable[[], Raw] | None = None


_TU_ADDRESS = "https://www.chrsmrrs.com/graphkerneldatasets"
_OGB_ADDRESS = "https://snap.stanford.edu/ogb/data/graphproppred/csv_mol_download"
_WEBKB_ADDRESS = "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master/new_data"
_PLANETOID_ADDRESS = "https://github.com/kimiyoung/planetoid/raw/master/data"


def _tu(
    name: str, about: str, *aliases: str, public: bool = True, embedded: bool = False
) -> Dataset:
    zipped = f"{name}.zip"
    return Dataset(
        name,
        about,
        loaders.tu,
        markers=(f"{name}/raw/{name}_A.txt", f"{name}/{name}_A.txt"),
        archives=(zipped,),
        downloads=(Download(f"{_TU_ADDRESS}/{zipped}", zipped),) if public else (),
        embedded=zipped if embedded else None,
        aliases=aliases,
    )


def _ogb(task: str, about: str) -> Dataset:
    folder = f"ogbg_mol{task}"
    return Dataset(
        f"ogbg-mol{task}",
        about,
        loaders.ogb,
        markers=(f"{folder}/raw/edge.csv.gz", f"{task}/raw/edge.csv.gz"),
        archives=(f"{folder}.zip",),
        downloads=(Download(f"{_OGB_ADDRESS}/{task}.zip", f"{folder}.zip"),),
        aliases=(folder, f"mol{task}"),
    )


def _planetoid(name: str, about: str) -> Dataset:
    return Dataset(
        name,
        about,
        loaders.npz,
        markers=(f"{name}.npz",),
        help=(
            f"Its public files ({_PLANETOID_ADDRESS}) are pickles, which are never opened here. "
            f"Load it with torch_geometric.datasets.Planetoid and pass that, or save {name}.npz "
            "with arrays edge_index and y."
        ),
    )


_WEBKB = {
    ("texas", "out1_graph_edges.txt"):
        "0fe85183243a78cbee9b85a684f8240963d04d1020d10e9cd2b8cfb25e33b476",
    ("texas", "out1_node_feature_label.txt"):
        "cf5a3ca346cdd1210b8342e22517fcbbdae658065b7a3145f59350e50e6236a3",
    ("wisconsin", "out1_graph_edges.txt"):
        "ebd213511c88fce1eda450c2f920600c4b8cbb38f02384856bcc47c6ec1807ae",
    ("wisconsin", "out1_node_feature_label.txt"):
        "a32b0aa38d42f0d36841e8a8cb646d197f0ff33a182ac75a2b4476aeed3c7e4b",
}  # fmt: skip
"""SHA-256 of the files."""


def _webkb(name: str, about: str) -> Dataset:
    folder = name.lower()
    names = ("out1_graph_edges.txt", "out1_node_feature_label.txt")
    return Dataset(
        name,
        about,
        loaders.webkb,
        markers=tuple(f"{top}/raw/{names[0]}" for top in (folder, name)),
        archives=(f"{folder}.zip", f"{name}.zip"),
        downloads=tuple(
            Download(
                f"{_WEBKB_ADDRESS}/{folder}/{file}", f"{folder}/raw/{file}", _WEBKB[folder, file]
            )
            for file in reversed(names)  # the marker comes last, when all other files are present
        ),
    )


def _lines(name: str, about: str, file: str, folder: str, *aliases: str) -> Dataset:
    return Dataset(
        name,
        about,
        loaders.graph6,
        markers=(f"{folder}/{file}", f"{folder}/raw/{file}", file),
        archives=(f"{folder}.zip",),
        aliases=aliases,
    )


def _sat(name: str, about: str) -> Dataset:
    return Dataset(
        name, about, loaders.graphsat, (f"{name}/GRAPHSAT.txt",), archives=(f"{name}.zip",)
    )


_SR = (
    "sr16622",
    "sr251256",
    "sr261034",
    "sr281264",
    "sr291467",
    "sr351899",
    "sr361446",
    "sr401224",
)

DATASETS: dict[str, Dataset] = {
    entry.name: entry
    for entry in (
        _tu("MUTAG", "188 molecules, mutagenic or not", embedded=True),
        _tu("PTC_MR", "344 molecules, carcinogenic to male rats or not", "PTC", "PTC-MR"),
        _tu("BZR", "405 molecules, ligands of the benzodiazepine receptor"),
        _tu("COX2", "467 molecules, inhibitors of cyclooxygenase-2", "COX-2"),
        _tu("DHFR", "756 molecules, inhibitors of dihydrofolate reductase"),
        _tu("IMDB-BINARY", "1000 ego networks of actors", "IMDB-B", "IMDBBINARY"),
        _tu("PROTEINS", "1113 proteins, enzymes or not"),
        _tu("ZINC12k", "12,000 molecules, train part resampled", "ZINC", "ZINC-12k", public=False),
        _ogb("hiv", "41,127 molecules, inhibiting HIV replication or not"),
        _ogb("tox21", "7,831 molecules, 12 toxicity assays"),
        _ogb("toxcast", "8,576 molecules, 617 toxicity assays"),
        _planetoid("Cora", "one graph of 2,708 papers"),
        _planetoid("CiteSeer", "one graph of 3,327 papers"),
        _webkb("Wisconsin", "one graph of 251 web pages"),
        _webkb("Texas", "one graph of 183 web pages"),
        Dataset(
            "atlas",
            "all 1,253 graphs of 0 to 7 vertices, the one without vertices first",
            loaders.atlas,
        ),
        _lines("BREC", "400 pairs: graphs 2p and 2p + 1", "brec_pairs.g6", "BREC"),
        _sat("EXP", "600 pairs that 1-WL cannot distinguish"),
        _sat("CEXP", "EXP with half of the pairs made distinguishable"),
        _lines("CSL", "150 circular skip links, 10 classes of 15", "csl.g6", "CSL"),
        _lines("graph8c", "all 11,117 connected graphs of 8 vertices", "graph8c.g6", "graph8c"),
        *(
            _lines(
                name,
                "strongly regular graphs of one family",
                f"{name}.g6",
                "SR",
                *(("SR25",) if name == "sr251256" else ()),
            )
            for name in _SR
        ),
    )
}
_BY_NAME = {
    word.lower(): entry for entry in DATASETS.values() for word in (entry.name, *entry.aliases)
}


def register_dataset(
    name: str,
    source: str | Path | Callable[[], Any],
    *,
    target: str | Sequence[str] | None = None,
    smiles: str | None = None,
    about: str = "registered by the user",
) -> None:
    """Register your own dataset by name, for every command and for :func:`load_dataset`.

    Args:
        name: not that of a built-in dataset; registering a name again replaces it.
        source: a path that ``gpnn train`` reads (in a plugin, relative to the plugin's folder, else
            to the current folder); or a function without arguments that returns PyG data with
            ``y`` (a dataset or a list), or a pair of graphs and labels, of the types that the
            estimators take.
        target, smiles: columns of a table of molecules.
    """
    if not isinstance(name, str) or not name or ":" in name or "/" in name:
        raise InputError(f"A dataset needs a name without ':' and '/'; got {name!r}.")
    known = _BY_NAME.get(name.lower())
    if known is not None and known.own is None:
        raise InputError(f"{known.name} is a built-in dataset. Choose another name.")

    if not callable(source):
        source = beside_plugin(source)

    def read() -> Raw:
        if callable(source):
            from .objects import read_labelled

            return read_labelled(source())
        from .read import read_source
        from .table import TableChoice

        names = [target] if isinstance(target, str) else None if target is None else list(target)
        return read_source(str(source), names, TableChoice(smiles), None, False, None)

    entry = Dataset(name, about, lambda _: read().graphs, own=read)
    DATASETS[name] = _BY_NAME[name.lower()] = entry


def get(name: str) -> Dataset:
    """The entry of a name or alias; ignores case."""
    entry = _BY_NAME.get(name.lower())
    if entry is not None:
        return entry
    hint = did_you_mean(name, _BY_NAME, {word: entry.name for word, entry in _BY_NAME.items()})
    raise InputError(
        f"There is no dataset {name!r}.{hint} Choose one of: {', '.join(DATASETS)}; or generated "
        "graphs, such as planted:core or counts:triangle."
    )
