"""Every choice that makes a model, checked once and saved with it."""

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
    """What of the weights belongs to a part by default: a matrix of its own, or, above 32
    parts, a mixture of shared ones. Parts are counted over all graphs that are known when a network
    is made (training, validation and test together), the reserved part included, so that all folds
    of a dataset have networks of one kind."""
    return "basis" if parts > BASIS_ABOVE else "own"


class Level(StrEnum):
    """What an output belongs to."""

    GRAPH = "graph"
    NODE = "node"


_CHECKED = (
    "outputs", "parts", "features", "hidden", "edge_features", "dropout", "readout", "jump",
    "combine", "pair_update", "pair_activation", "block", "join", "head", "level",
    "component_feature", "colours_only", "virtual_node", "gpnn",
)  # fmt: skip


@dataclass(frozen=True)
class GPNNConfig:
    """The shape of a GPNN.

    Attributes:
        outputs: numbers that come out per graph or vertex.
        parts: parts of the vocabulary, the reserved one included.
        features: width of float node features, or 0; ``codes``: cardinality of every column of
            categorical node features, or empty. With neither, colours are all there is.
        structure: what is read of the structure: scheme, interactions, d, layers, distances,
            labels, walks.
        hidden: width.
        base: ``gin``, ``gine``, ``gcn``, ``gat``, ``sage``, a registered name, ``custom`` (a module
            given to the model), or ``None``; without GPNN also a peer with its options, such as
            ``cin:rings=8``, see :data:`~gpnn.nn.peers.PEERS`.
        encoder: ``linear`` maps node features to the width before the base GNN reads them;
            ``None`` lets it read them as they are.
        norm: ``batch`` normalises after every layer of the base GNN and before the head; ``None``
            leaves that out, and the blocks of the base GNN with it. With ``encoder=None`` and a
            linear head, the base GNN is then PyG's stack of the same layer.
        combine: how Equation 3 reads β_u and α_vu: ``pairwise``, together; or ``linear``, one by
            one, as the paper's appendix builds it.
        block: what surrounds a layer, of the base GNN and of GPNN alike: ``plain``, ``residual`` or
            ``feed-forward``, see :class:`~gpnn.nn.block.Block`.
        virtual_node: whether a vertex that is joined to all others carries messages between the
            layers.
        join: how GPNN is combined with its base: ``beside`` it, as in the paper, each with features
            of its own that the head reads together; or ``inside``, layer by layer, both reading and
            adding to the same features.
        part_weights: what of the weights belongs to a part: ``own`` matrices, as in the paper, a
            mixture of a shared ``basis``, or shared matrices ``scaled`` by part, see
            :class:`~gpnn.nn.parts.PartLinear`.
        pair_update: ``tuple`` or ``sum``.
        pair_activation: of Equation 2: ``relu``, or ``sine``, which keeps classes of pairs apart
            through many rounds, see :class:`~gpnn.nn.layer.InteractionLayer`.
        edge_labels: categories of edges, or 0; ``edge_features``: width of float edge features.
        descriptors: numbers of a whole graph that the head reads beside the readout, or 0.
        component_feature: append the number of connected components of every part.
        colours_only: γ starts from colours alone, as the paper's text says.
        head: what turns embeddings into outputs: ``mlp``, a perceptron with a hidden layer, or
            ``linear``.
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
            raise InputError("encoder=None goes with neither walks nor join='inside'.")
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
            raise InputError(f"{name} is a model by itself: leave GPNN out (gpnn=False).")
        if self.level == Level.NODE and not peer.kind.per_vertex:
            raise InputError(f"{name} has one output per graph, and this task one per vertex.")
        if self.encoder is None or self.norm is None or self.virtual_node:
            raise InputError(f"{name} needs encoder='linear', norm='batch' and no virtual node.")

    @property
    def peer(self) -> PeerSpec | None:
        """The peer that takes the place of the base GNN, if any."""
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
        """Labels of vertices that join the first α of a pair, or 0."""
        if not self.structure.labels:
            return 0
        return self.codes[0] if self.codes else self.features

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
                "It was written by another one: use that one, or train the model again."
            )
        try:
            return cls(**{**content, "structure": Structure(**content["structure"])})
        except (KeyError, TypeError) as error:
            raise InputError(f"Not a model configuration: {error}.") from None
