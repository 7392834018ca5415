"""Recipes: how the models of one dataset are built and trained, as small TOML files.

A file contains fields of :class:`Recipe`. ``extends = "NAME"`` takes the other fields from another
file in the same folder or the package, a table ``[nested]`` gives the search space of
``tu-nested``, and a table ``[bases.gcn]`` changes fields for one base GNN (and for GPNN on it).
Missing fields have the default of the class.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ..options import RULES, Choice, Flag, Rule, Whole, check_options
from ..text import did_you_mean
from .checks import read_toml, refuse_unknown

if TYPE_CHECKING:
    from ..train.replica import Schedule

__all__ = ["NETWORK", "PEERS", "Recipe", "Space", "list_recipes", "load_recipe", "read_recipe"]

NETWORK = (
    *("layers", "hidden", "d", "distances", "labels", "walks", "readout", "jump", "head"),
    *("encoder", "norm", "component_feature", "combine", "block", "join", "part_weights"),
    "virtual_node",
)
"""Fields of a recipe that are fields of the network."""


PEERS = {
    "GraphSNN": "graphsnn", "ESAN": "esan", "CIN": "cin", "GIN-AK+": "gin-ak", "KP-GIN": "kp-gin",
    "PPGN": "ppgn", "DGN": "dgn", "Deep LRP": "lrp",
}  # fmt: skip
"""The paper's name of a peer → its name here."""

_OWN: dict[str, Rule] = {
    "encoder": Choice(("linear", "none")),
    "norm": Choice(("batch", "none")),
    "part_weights": Choice(("auto", "own", "basis", "scaled")),
    "splits": Choice(("random", "geom-gcn")),
    "edge_labels": Flag(),
    "steps": Whole(0),
    "parameters": Whole(0),
    "halve_every": Whole(0),
    "plateau": Whole(0),
}
"""Fields with a special notation in recipes: ``none`` for ``None``, 0 for never."""


@dataclass(frozen=True)
class Space:
    """The space in which ``tu-nested`` searches, on validation graphs alone.

    Attributes:
        lr, dropout, weight_decay: the values to choose from.
        trials: number of configurations, the recipe's own and random others.
        seeds: models per fold and configuration.
    """

    lr: tuple[float, ...] = (0.01, 0.003)
    dropout: tuple[float, ...] = (0.0, 0.2, 0.5)
    weight_decay: tuple[float, ...] = (0.0, 1e-4)
    trials: int = 10
    seeds: int = 3

    def __post_init__(self) -> None:
        for name in ("lr", "dropout", "weight_decay"):
            values = getattr(self, name)
            if not isinstance(values, list | tuple) or not values:
                raise InputError(f"nested.{name} must be a list of numbers; got {values!r}.")
            object.__setattr__(
                self, name, tuple(RULES[name].read(f"nested.{name}", v) for v in values)
            )
        check_options(self, ("seeds",), {"trials": Whole(1, 10)}, prefix="nested.")


@dataclass(frozen=True)
class Recipe:
    """How the models of one dataset are built and trained.

    Attributes:
        name: the name in tables and of the file.
        dataset: the dataset that is loaded.
        title: the name in reports; ``name`` by default.
        edge_labels: whether the models read the labels of edges.
        layers, hidden, d, distances, labels, walks, combine, block, join, part_weights,
            virtual_node, readout, jump, head, encoder, norm, component_feature: fields of the
            network, see :class:`~gpnn.nn.config.GPNNConfig`; ``none`` stands for ``None``, ``auto``
            for the value that follows from the number of parts. The paper's tables combine
            linearly, in plain blocks, as its appendix does.
        parameters: approximate number of parameters, which sets ``hidden``; 0: use ``hidden``.
        epochs, batch_size: number of epochs, and graphs per batch.
        steps: random batches per epoch; 0: one pass over the data.
        lr, weight_decay, dropout: options of AdamW (decoupled decay) and the network.
        halve_every: epochs after which the step size is halved; 0: never.
        cosine, warmup, plateau: step size schedule, see :class:`~gpnn.train.replica.Schedule`; a
            plateau of 0: never.
        seeds: models per fold (``tu-1``, ``tu-2``), per split (``node``), or in total.
        splits: splits of ``node``: ``random`` or ``geom-gcn``.
        nested: the search space of ``tu-nested``.
        peer: options of a peer, such as ``rings=8``; written under ``[bases.cin]``.
        bases: base GNN or peer → fields with a different value for it.
    """

    name: str
    dataset: str
    title: str = ""
    edge_labels: bool = False
    layers: int = 4
    hidden: int = 32
    d: int = 1
    distances: bool = False
    labels: bool = False
    walks: int = 0
    readout: str = "sum"
    jump: str = "cat"
    head: str = "mlp"
    combine: str = "linear"
    block: str = "plain"
    join: str = "beside"
    part_weights: str = "auto"
    virtual_node: bool = False
    encoder: str = "linear"
    norm: str = "batch"
    component_feature: bool = True
    parameters: int = 0
    epochs: int = 350
    batch_size: int = 32
    steps: int = 0
    lr: float = 0.01
    halve_every: int = 50
    cosine: bool = False
    warmup: int = 0
    plateau: int = 0
    dropout: float = 0.5
    weight_decay: float = 0.0
    seeds: int = 3
    splits: str = "random"
    peer: str = ""
    nested: Space = field(default_factory=Space)
    bases: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_options(self, (name for name in RULES if name in _FIELDS), _OWN)
        for name in ("name", "dataset", "title", "peer"):
            if not isinstance(getattr(self, name), str):
                raise InputError(f"{name} must be text; got {getattr(self, name)!r}.")
        check_options(self, (), {"warmup": Whole(0, self.epochs - 1)})
        if self.cosine and self.halve_every:
            raise InputError("cosine cannot be used with halve_every. Set halve_every = 0.")
        object.__setattr__(self, "title", self.title or self.name)
        refuse_unknown(self.bases, "bases", {"gin", "gcn", "gat", "sage", *PEERS.values()})
        for base, changes in self.bases.items():
            refuse_unknown(changes, f"bases.{base}", _PER_BASE)
            replace(self, bases={}, **changes)

    def for_base(self, base: str) -> Recipe:
        """Return the recipe for one base GNN (``gin``, ``gcn``, ``gat``, ``sage``) or peer."""
        return replace(self, bases={}, **self.bases.get(base, {}))

    def model_options(self) -> dict[str, Any]:
        """Return the fields of the network that every model of this dataset shares."""
        values = {name: getattr(self, name) for name in NETWORK}
        return {
            name: None if value == "none" else value
            for name, value in values.items()
            if value != "auto"
        }

    def schedule(self) -> Schedule:
        """Return the number of epochs and the step size schedule of the trainer."""
        from ..train.replica import Schedule

        return Schedule(
            self.epochs, self.batch_size, self.halve_every or None, self.steps or None,
            cosine=self.cosine, warmup=self.warmup, plateau=self.plateau or None,
        )  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as JSON values; ``peer`` only if it is set."""
        content: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        if not self.peer:  # a later field: keeps stored recipes equal
            del content["peer"]
        return content

    def to_toml(self) -> str:
        """Return the recipe as TOML that :func:`read_recipe` can read."""
        content = self.to_dict()
        nested, bases = content.pop("nested"), content.pop("bases")
        lines = [*_lines(content), "", "[nested]", *_lines(nested)]
        for base, changes in bases.items():
            lines += ["", f"[bases.{base}]", *_lines(changes)]
        return "\n".join(lines) + "\n"


_FIELDS = {f.name for f in fields(Recipe)}
_PER_BASE = _FIELDS - {"name", "dataset", "title", "bases", "nested"}


def list_recipes() -> list[str]:
    """Return the names of the package's recipes."""
    folder = resources.files(__package__) / "recipes"
    names = (Path(item.name) for item in folder.iterdir())
    return sorted(n.stem for n in names if n.suffix == ".toml" and not n.name.startswith("_"))


def load_recipe(name: str) -> Recipe:
    """Load the package's recipe of a dataset, or of a table column such as ZINC-edge-features."""
    known = list_recipes()
    if name not in known:
        raise InputError(
            f"There is no recipe {name!r}.{did_you_mean(name, known)} There are "
            f"{', '.join(known)}; or name a file, such as mine.toml."
        )
    with resources.as_file(resources.files(__package__) / "recipes") as folder:
        return read_recipe(folder / f"{name}.toml")


def read_recipe(path: str | Path) -> Recipe:
    """Read a recipe from a file."""
    path = Path(path)
    content = _read(path)
    content.setdefault("name", path.stem)
    content.setdefault("dataset", content["name"])
    try:
        if "scheme" in content:
            raise InputError(
                "a recipe has no scheme: all methods of a table share it, and the table names the "
                "scheme of each (gpnn search DATASET --scheme core). One that is chosen in every "
                "fold from its training and validation samples: gpnn bench schemes DATASET -m auto."
            )
        refuse_unknown(content, "a recipe", {"extends"} | _FIELDS)
        nested = content.pop("nested", {})
        refuse_unknown(nested, "nested", {f.name for f in fields(Space)})
        return Recipe(**content, nested=Space(**nested))
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _read(path: Path, seen: tuple[Path, ...] = ()) -> dict[str, Any]:
    """Read a file and merge it over the file it extends, which is in the same folder or in the
    package. Tables are merged key by key."""
    content = read_toml(path, "the recipe")
    parent = content.pop("extends", None)
    if parent is None:
        return content
    if not isinstance(parent, str) or Path(parent).name != parent:
        raise InputError(f"{path}: extends = {parent!r} names no recipe. Give a plain name.")
    with resources.as_file(resources.files(__package__) / "recipes") as folder:
        places = (path.with_name(f"{parent}.toml"), folder / f"{parent}.toml")
        files = [place for place in places if place.is_file() and place not in (*seen, path)]
        if not files:
            raise InputError(
                f"{path}: extends = {parent!r} was not found: no other {parent}.toml lies beside "
                f"it, and the package has no such recipe. It has {', '.join(list_recipes())}."
            )
        return _over(_read(files[0], (*seen, path)), content)


def _over(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    joined = dict(below)
    for name, value in above.items():
        old = joined.get(name)
        both = isinstance(old, dict) and isinstance(value, dict)
        joined[name] = _over(old, value) if both else value  # type: ignore[arg-type]
    return joined


def _lines(content: Mapping[str, Any]) -> list[str]:
    """Write TOML lines; JSON's numbers, booleans, strings and lists are valid TOML."""
    return [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in content.items()]
