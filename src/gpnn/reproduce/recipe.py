"""Recipes: how the models of one dataset are built and trained, as small TOML files.

A file holds the fields of :class:`Recipe`; ``extends = "NAME"`` takes the rest from another file
beside it, a table ``[nested]`` holds the space of ``tu-nested``, and a table ``[bases.gcn]``
changes fields for one base GNN (and for GPNN on it). What is not said has the default of the class.
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
"""The paper's names of the peers, and ours."""

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
"""Fields that a recipe writes in its own way: ``none`` for ``None``, 0 for never."""


@dataclass(frozen=True)
class Space:
    """What ``tu-nested`` chooses from, on validation graphs alone.

    Attributes:
        lr, dropout, weight_decay: the values of each.
        trials: configurations that are tried, the recipe's own and random others.
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
        name: what the tables call it, and the name of the file.
        dataset: the dataset that is loaded.
        title: what reports call it; the name by default.
        edge_labels: whether the models read the labels of edges.
        layers, hidden, d, distances, labels, walks, combine, block, join, part_weights,
            virtual_node, readout, jump, head, encoder, norm, component_feature: of the network, see
            :class:`~gpnn.nn.config.GPNNConfig`; ``none`` stands for ``None``, ``auto`` for what
            follows from the number of parts. The paper's tables combine linearly, in plain blocks,
            as its appendix does.
        parameters: about so many, by the choice of ``hidden``; 0: as ``hidden`` says.
        epochs, batch_size: how long, and graphs in a batch.
        steps: random batches that make an epoch; 0: one pass.
        lr, weight_decay, dropout: of AdamW (the decay is decoupled) and the network.
        halve_every: epochs after which the step size is halved; 0: never.
        cosine, warmup, plateau: of the step size, see :class:`~gpnn.train.replica.Schedule`; a
            plateau of 0: never.
        seeds: models per fold (``tu-1``, ``tu-2``), per split (``node``), or in all.
        splits: of ``node``: ``random`` or ``geom-gcn``.
        nested: what ``tu-nested`` chooses from.
        peer: options of a peer, such as ``rings=8``; written under ``[bases.cin]``.
        bases: base GNN or peer → fields that are different for it.
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
            raise InputError("cosine does not go with halve_every. Set halve_every = 0.")
        object.__setattr__(self, "title", self.title or self.name)
        refuse_unknown(self.bases, "bases", {"gin", "gcn", "gat", "sage", *PEERS.values()})
        for base, changes in self.bases.items():
            refuse_unknown(changes, f"bases.{base}", _PER_BASE)
            replace(self, bases={}, **changes)

    def for_base(self, base: str) -> Recipe:
        """The recipe as it is for one base GNN (``gin``, ``gcn``, ``gat``, ``sage``) or peer."""
        return replace(self, bases={}, **self.bases.get(base, {}))

    def model_options(self) -> dict[str, Any]:
        """Fields of the network that every model of this dataset shares."""
        values = {name: getattr(self, name) for name in NETWORK}
        return {
            name: None if value == "none" else value
            for name, value in values.items()
            if value != "auto"
        }

    def schedule(self) -> Schedule:
        """How long and in what steps the trainer runs."""
        from ..train.replica import Schedule

        return Schedule(
            self.epochs, self.batch_size, self.halve_every or None, self.steps or None,
            cosine=self.cosine, warmup=self.warmup, plateau=self.plateau or None,
        )  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """Every field, as JSON has it; ``peer`` where there is one."""
        content: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        if not self.peer:  # came later: what was stored before stays equal
            del content["peer"]
        return content

    def to_toml(self) -> str:
        """The recipe as a file that :func:`read_recipe` reads."""
        content = self.to_dict()
        nested, bases = content.pop("nested"), content.pop("bases")
        lines = [*_lines(content), "", "[nested]", *_lines(nested)]
        for base, changes in bases.items():
            lines += ["", f"[bases.{base}]", *_lines(changes)]
        return "\n".join(lines) + "\n"


_FIELDS = {f.name for f in fields(Recipe)}
_PER_BASE = _FIELDS - {"name", "dataset", "title", "bases", "nested"}


def list_recipes() -> list[str]:
    """The names of the package's recipes."""
    folder = resources.files(__package__) / "recipes"
    names = (Path(item.name) for item in folder.iterdir())
    return sorted(n.stem for n in names if n.suffix == ".toml" and not n.name.startswith("_"))


def load_recipe(name: str) -> Recipe:
    """The package's recipe of a dataset (of a table's column, such as ZINC-edge-features)."""
    known = list_recipes()
    if name not in known:
        raise InputError(
            f"There is no recipe {name!r}.{did_you_mean(name, known)} There are "
            f"{', '.join(known)}; or name a file, such as mine.toml."
        )
    with resources.as_file(resources.files(__package__) / "recipes") as folder:
        return read_recipe(folder / f"{name}.toml")


def read_recipe(path: str | Path) -> Recipe:
    """A recipe from a file."""
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
    """The content of a file over that of the one it extends, which lies beside it or in the
    package; tables are joined key by key."""
    content = read_toml(path, "the recipe")
    parent = content.pop("extends", None)
    if parent is None:
        return content
    if not isinstance(parent, str) or Path(parent).name != parent:
        raise InputError(f"{path}: extends = {parent!r} names no recipe. Give a plain name.")
    with resources.as_file(resources.files(__package__) / "recipes") as folder:
        places = (path.with_name(f"{parent}.toml"), folder / f"{parent}.toml")
        found = [place for place in places if place.is_file() and place not in (*seen, path)]
        if not found:
            raise InputError(
                f"{path}: extends = {parent!r} leads nowhere: no other {parent}.toml lies beside "
                f"it, and the package has no such recipe. It has {', '.join(list_recipes())}."
            )
        return _over(_read(found[0], (*seen, path)), content)


def _over(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    joined = dict(below)
    for name, value in above.items():
        old = joined.get(name)
        both = isinstance(old, dict) and isinstance(value, dict)
        joined[name] = _over(old, value) if both else value  # type: ignore[arg-type]
    return joined


def _lines(content: Mapping[str, Any]) -> list[str]:
    """JSON's numbers, booleans, texts and lists are TOML's."""
    return [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in content.items()]
