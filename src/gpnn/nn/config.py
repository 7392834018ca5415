"""The configuration of a model, validated once and saved with it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from typing import Any

from ..errors import InputError
from ..graph.structure import Structure
from ..options import Choice, Whole, check_options
from ..schema import ListOf, Maybe, Text
from .bases import BASES
from .parts import PART_WEIGHTS
from .peers import PeerSpec, peer_of

__all__ = ["GPNNConfig", "Level", "usual_weights"]

BASIS_ABOVE = 32


def usual_weights(parts: int) -> str:
    """The default ``part_weights``: a separate matrix per part or, above 32 parts, a mixture of
    shared ones. Parts are counted over all graphs known when a network is created (training,
    validation and test), including the reserved part, so that all folds of a dataset have networks
    of the same kind."""
    return "basis" if parts > BASIS_ABOVE else "own"


class Level(StrEnum):
    """Whether outputs belong to graphs or to vertices."""

    GRAPH = "graph"
    NODE = "node"


_CHECKED = (
    "outputs", "parts", "features", "hidden", "edge_features", "dropout", "readout", "jump",
    "combine", "pair_update", "pair_activation", "block", "join", "head", "level",
    "component_feature", "colours_only", "virtual_node", "gpnn",
)  # fmt: skip


@dataclass(frozen=True)
class GPNNConfig:
    """The configuration of a GPNN.

    Attributes:
        outputs: number of outputs per graph or vertex.
        parts: number of parts in the vocabulary, including the reserved one.
        features: width of float node features, or 0; ``codes``: cardinality of every column of
            categorical node features, or empty. Without either, vertices have only colours.
        structure: structural options: scheme, interactions, d, layers, distances, labels, walks.
        hidden: width of the network.
        base: ``gin``, ``gine``, ``gcn``, ``gat``, ``sage``, a registered name, ``custom`` (a module
            given to the model), or ``None``; without GPNN also a peer with its options, such as
            ``cin:rings=8``, see :data:`~gpnn.nn.peers.PEERS`.
        encoder: ``linear`` maps node features to the hidden width before the base GNN reads them;
            ``None`` passes them to it unchanged.
        norm: ``batch`` normalises after every layer of the base GNN and before the head; ``None``
            omits both, and the blocks of the base GNN. With ``encoder=None`` and a linear head,
            the base GNN is then PyG's stack of the same layer.
        combine: how Equation 3 reads β_u and α_vu: ``pairwise`` reads them jointly, ``linear``
            separately, as in the paper's appendix.
        block: what surrounds a layer of the base GNN or of GPNN: ``plain``, ``residual`` or
            ``feed-forward``, see :class:`~gpnn.nn.block.Block`.
        virtual_node: whether a vertex connected to all others carries messages between layers.
        join: how GPNN is combined with its base: ``beside``, as in the paper, with separate
            features that the head concatenates; or ``inside``, layer by layer, both reading and
            adding to the same features.
        part_weights: which weights a part has: ``own`` matrices, as in the paper, a mixture of a
            shared ``basis``, or shared matrices ``scaled`` by part, see
            :class:`~gpnn.nn.parts.PartLinear`.
        pair_update: ``tuple`` or ``sum``.
        pair_activation: activation in Equation 2: ``relu``, or ``sine``, which keeps classes of
            pairs distinct over many rounds, see :class:`~gpnn.nn.layer.InteractionLayer`.
        edge_labels: number of edge labels, or 0; ``edge_features``: width of float edge features.
        descriptors: number of graph descriptors that the head reads in addition to the readout,
            or 0.
        component_feature: append the number of connected components of every part.
        colours_only: start γ from colours only, as in the paper's text.
        head: how embeddings are mapped to outputs: ``mlp``, a perceptron with a hidden layer, or
            ``linear``.
        gpnn: ``False`` uses the base GNN only, as a baseline with the same head.
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
    block: str = "residual"
    virtual_node: bool = False
    join: str = "beside"
    part_weights: str = "own"
    pair_update: str = "tuple"
    pair_activation: str = "relu"
    edge_labels: int = 0
    edge_features: int = 0
    descriptors: int = 0
    component_feature: bool = True
    colours_only: bool = False
    dropout: float = 0.0
    readout: str = "sum"
    jump: str = "cat"
    head: str = "mlp"
    level: str = "graph"
    gpnn: bool = True

    def __post_init__(self) -> None:
        codes = ListOf(Whole(0)).read("codes", self.codes)
        object.__setattr__(self, "codes", tuple(codes))
        Maybe(Text()).read("base", self.base)
        check_options(
            self,
            _CHECKED,
            {
                "encoder": Choice(("linear", None)),
                "norm": Choice(("batch", None)),
                "part_weights": Choice(PART_WEIGHTS),
                "edge_labels": Whole(0),
                "descriptors": Whole(0),
            },
        )
        if self.peer is not None:
            self._check_peer(self.peer)
        if not self.gpnn and self.base is None:
            raise InputError("Without GPNN there must be a base GNN: set base, or gpnn=True.")
        if self.base == "gine" and not (self.edge_labels or self.edge_features):
            raise InputError("base 'gine' needs edge labels or features. Use base='gin' without.")
        if self.encoder is None and not self.features:
            raise InputError("encoder=None needs float node features for the base GNN to read.")
        if self.encoder is None and (self.structure.walks or self.inside):
            raise InputError("encoder=None cannot be used with walks or join='inside'.")
        if self.inside:
            if self.base not in BASES:
                raise InputError(f"join='inside' needs a built-in base: {', '.join(BASES)}.")
            if self.block == "plain":
                raise InputError("join='inside' needs block='residual' or 'feed-forward'.")
            if self.norm is None:
                raise InputError("join='inside' needs norm='batch'.")
        if self.virtual_node and (self.level == Level.NODE or self.structure.layers == 1):
            raise InputError(
                "virtual_node carries messages between graph-level layers: it needs two layers or "
                "more, and has no use where outputs belong to vertices of one graph."
            )

    def _check_peer(self, peer: PeerSpec) -> None:
        object.__setattr__(self, "base", str(peer))
        name = peer.kind.name
        if self.gpnn:
            raise InputError(
                f"{name} is a model by itself: name it with --model {name}, or in "
                "Python with gpnn=False."
            )
        if self.level == Level.NODE and not peer.kind.per_vertex:
            raise InputError(f"{name} has one output per graph, and this task one per vertex.")
        if self.encoder is None or self.norm is None or self.virtual_node:
            raise InputError(f"{name} needs encoder='linear', norm='batch' and no virtual node.")

    @property
    def peer(self) -> PeerSpec | None:
        """The peer that replaces the base GNN, if any."""
        return peer_of(self.base)

    @property
    def edged(self) -> bool:
        """Whether edges have labels or features."""
        return bool(self.edge_labels or self.edge_features)

    @property
    def inside(self) -> bool:
        """Whether GPNN and its base share features."""
        return self.gpnn and self.join == "inside"

    @property
    def vertex_labels(self) -> int:
        """Number of vertex labels in the initial α of a pair, or 0."""
        if not self.structure.labels:
            return 0
        return self.codes[0] if self.codes else self.features

    @classmethod
    def make(cls, **options: Any) -> GPNNConfig:
        """Create a configuration from fields by name, including those of the structure."""
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
                "It was written by another one: use that one, or train the model again."
            )
        try:
            return cls(**{**content, "structure": Structure(**content["structure"])})
        except (KeyError, TypeError) as error:
            raise InputError(f"Not a model configuration: {error}.") from None
