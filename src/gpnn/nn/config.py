"""Every choice that makes a model, checked once and saved with it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from typing import Any

from ..errors import InputError
from ..graph.structure import Structure
from .layer import PAIR_UPDATES

__all__ = ["FACTOR_ABOVE", "GPNNConfig", "Level"]

FACTOR_ABOVE = 32
"""Parts above which weights of parts are factored, counted over all graphs that are known when a
network is made (training, validation and test together), the reserved part included. It does not
depend on the split, so that all folds of a dataset have networks of one kind."""


class Level(StrEnum):
    """What an output belongs to."""

    GRAPH = "graph"
    NODE = "node"


_CHOICES: dict[str, tuple[Any, ...]] = {
    "pair_update": PAIR_UPDATES,
    "readout": ("sum", "mean"),
    "jump": ("last", "cat"),
    "combine": ("pairwise", "linear"),
    "head": ("mlp", "linear"),
    "level": tuple(Level),
    "encoder": ("linear", None),
    "norm": ("batch", None),
}


@dataclass(frozen=True)
class GPNNConfig:
    """The shape of a GPNN.

    Attributes:
        outputs: numbers that come out per graph or vertex.
        parts: parts of the vocabulary, the reserved one included.
        features: width of float node features, or 0; ``codes``: cardinality of every column of
            categorical node features, or empty. With neither, colours are all there is.
        structure: what is read of the structure: scheme, interactions, d, layers, distances.
        hidden: width.
        base: ``gin``, ``gine``, ``gcn``, ``gat``, ``sage``, a registered name, ``custom`` (a module
            given to the model), or ``None``.
        encoder: ``linear`` maps node features to the width before the base GNN reads them;
            ``None`` lets it read them as they are.
        norm: ``batch`` normalises after every layer of the base GNN and before the head; ``None``
            leaves that out. With ``encoder=None`` and a linear head, the base GNN is then PyG's
            stack of the same layer.
        combine: how Equation 3 reads β_u and α_vu: ``pairwise``, together, in residual blocks with
            a ReLU; or ``linear``, one by one, as the paper's appendix builds it.
        pair_update: ``tuple`` or ``sum``.
        edge_labels: categories of edges, or 0; ``edge_features``: width of float edge features.
        component_feature: append the number of connected components of every part.
        colours_only: γ starts from colours alone, as the paper's text says.
        head: what turns embeddings into outputs: ``mlp``, a perceptron with a hidden layer, or
            ``linear``.
        factored: whether weights of parts share a basis, see :data:`FACTOR_ABOVE`.
        gpnn: ``False`` leaves the base GNN alone, as a baseline under the same head.
    """

    outputs: int
    parts: int
    features: int = 0
    codes: tuple[int, ...] = ()
    structure: Structure = field(default_factory=Structure)
    hidden: int = 64
    base: str | None = "gin"
    encoder: str | None = "linear"
    norm: str | None = "batch"
    combine: str = "pairwise"
    pair_update: str = "tuple"
    edge_labels: int = 0
    edge_features: int = 0
    component_feature: bool = True
    colours_only: bool = False
    dropout: float = 0.0
    readout: str = "sum"
    jump: str = "cat"
    head: str = "mlp"
    level: str = "graph"
    factored: bool = False
    gpnn: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "codes", tuple(self.codes))
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                known = ", ".join(map(str, choices))
                raise InputError(
                    f"{name} cannot be {getattr(self, name)!r}. Choose one of {known}."
                )
        for name, low in (
            ("outputs", 1), ("parts", 1), ("features", 0), ("hidden", 1), ("edge_labels", 0),
            ("edge_features", 0),
        ):  # fmt: skip
            value = getattr(self, name)
            if not isinstance(value, int) or value < low:
                raise InputError(f"{name} must be a whole number, {low} or more; got {value!r}.")
        for name in ("component_feature", "colours_only", "factored", "gpnn"):
            if not isinstance(getattr(self, name), bool):
                raise InputError(f"{name} must be True or False; got {getattr(self, name)!r}.")
        if not 0 <= self.dropout < 1:
            raise InputError(f"dropout must be at least 0 and below 1; got {self.dropout!r}.")
        if not self.gpnn and self.base is None:
            raise InputError("Without GPNN there must be a base GNN: set base, or gpnn=True.")
        if self.base == "gine" and not (self.edge_labels or self.edge_features):
            raise InputError("base 'gine' needs edge labels or features. Use base='gin' without.")
        if self.encoder is None and not self.features:
            raise InputError("encoder=None needs float node features for the base GNN to read.")

    @classmethod
    def make(cls, **options: Any) -> GPNNConfig:
        """From fields by name, those of the structure among them."""
        structure, rest = Structure.split(options)
        try:
            return cls(structure=structure, **rest)
        except TypeError as error:
            raise InputError(f"Unknown option of the model: {error}.") from None

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> GPNNConfig:
        known = {field.name for field in fields(cls)}
        unknown = sorted(set(content) - known)
        if unknown:
            raise InputError(
                f"The model's configuration holds {', '.join(unknown)}, unknown to this version. "
                "It was written by a newer one: upgrade gpnn."
            )
        try:
            return cls(**{**content, "structure": Structure(**content["structure"])})
        except (KeyError, TypeError) as error:
            raise InputError(f"Not a model configuration: {error}.") from None
