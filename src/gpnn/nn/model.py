"""GPNN: stacked layers, alone or plugged into a base GNN, with readout and head."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from ..errors import InputError
from ..graph.registry import mixed_schemes
from ..graph.structure import Structure
from ..graph.vocabulary import Vocabulary
from .bases import StackedGNN, check_base, make_base
from .batch import CellRows, GraphBatch, Terms
from .block import Block, VirtualNode
from .branch import Branch
from .config import GPNNConfig, Level, usual_weights
from .dropout import Dropout
from .encode import FeatureEncoder, WalkEncoder
from .head import Head
from .layer import InteractionLayer
from .linear import Linear
from .lookup import lookup
from .memory import recomputes
from .part_weights import draw_parts, keep_parts, part_keys
from .parts import PairEmbedding
from .peers import Peer, Shape, VertexPeer
from .recompute import piece

__all__ = ["GPNN"]

MAX_HOPS = 8


class GPNN(nn.Module):
    r"""A graph partitioning neural network.

    .. math::
        h_v = \big(h_v^{gnn} \,\|\, \gamma_v^{(L)}\big), \qquad
        y_G = \mathrm{head}\Big(\mathrm{readout}_{v \in G}\, h_v,\; c_G\Big)

    :math:`\gamma^{(l)}` comes from :class:`~gpnn.nn.layer.InteractionLayer`, :math:`h^{gnn}` from
    the base GNN if there is one, :math:`c_G` counts the connected components of every part
    (:class:`~gpnn.nn.head.Head`). With ``jump="cat"`` all :math:`\gamma^{(1)}, \dots,
    \gamma^{(L)}` are concatenated. γ is batch-normalised after every layer, because its sums over
    parts grow with degree; the paper does not mention this. With ``join="inside"`` the
    interactions and the base share features: in every layer both the interactions and the
    convolution of the base read γ and add to it, and :math:`h_v` is γ.

    Args:
        config: the configuration of the network; alternatively pass its fields by name, as in
            ``GPNN(base="gin", outputs=2, **ready.options)``.
        base: the name of a base GNN or a custom module, ``forward(x, edge_index) -> [n,
            out_channels]`` (``config.base`` is then "custom"). If ``forward`` has a parameter
            ``edge_attr``, it receives float edge features unchanged and labels as one-hot rows.
        vocabulary: the parts that the model knows; graphs prepared with another vocabulary are
            rejected. Stored in ``state_dict``.

    Shapes: a :class:`~gpnn.nn.batch.GraphBatch`, or PyG's ``Data`` or ``Batch``, with n vertices →
    [graphs, outputs] or [n, outputs].
    """

    part_colours: Tensor
    annealed: ClassVar[float] = 0.0
    """Share of a training in which the network that is trained is not yet the one that is
    evaluated; its epochs are not kept."""

    def __init__(
        self,
        config: GPNNConfig | None = None,
        base: nn.Module | str | None = None,
        vocabulary: Vocabulary | None = None,
        **options: Any,
    ) -> None:
        super().__init__()
        self.noted: set[type[Warning]] = set()
        """Categories of warnings about PyG batches already shown, so that each is shown once."""
        if config is None:
            named = "custom" if isinstance(base, nn.Module) else base
            if vocabulary is not None:
                parts = vocabulary.size + 1
                options = {"parts": parts, "part_weights": usual_weights(parts), **options}
            config = GPNNConfig.make(base=named, **options)
            base = base if isinstance(base, nn.Module) else None
        elif options or isinstance(base, str):
            raise InputError("Give either a config or its fields by name, not both.")
        if type(self) is GPNN and mixed_schemes(config.structure.scheme):
            raise InputError(
                f"{config.structure.scheme} is a mixture: make it with gpnn.nn.mixture.MixedGPNN, "
                "or train it with gpnn.fit or an estimator."
            )
        self.config = config
        self._set_colours(vocabulary)
        width, keys = config.hidden, self._keys()
        layers, node = config.structure.layers, config.level == Level.NODE
        self.dropout = Dropout(config.dropout)
        encoded = config.encoder is not None or config.gpnn
        self.encoder = FeatureEncoder(width, config.features, config.codes) if encoded else None
        self.walks = WalkEncoder(width, config.structure.walks) if config.structure.walks else None
        self.edge_encoder = None
        if config.base == "gine" or (config.peer is not None and config.edged):
            if config.encoder is None:
                raise InputError("encoder=None cannot be used with base 'gine'. Use base='gin'.")
            kinds = () if config.edge_features else (config.edge_labels + 1,)
            self.edge_encoder = FeatureEncoder(width, config.edge_features, kinds)
        self.base = self._make_base(base)
        beside = self.base is not None and not config.inside
        joined = int(self.base.out_channels) if beside else 0  # type: ignore[union-attr,arg-type]
        if config.gpnn:
            self.colour = nn.Parameter(torch.empty(config.parts, width))
            self.part_dims = {"colour": (0,)}
            hops = MAX_HOPS if config.structure.distances else 0
            self.pair = PairEmbedding(
                keys, width, config.edge_labels, hops, config.part_weights != "own",
                config.vertex_labels,
            )  # fmt: skip
            self.pair_features = (
                Linear(config.edge_features, width, bias=False) if config.edge_features else None
            )
            self.layers = nn.ModuleList(
                InteractionLayer(
                    width,
                    keys,
                    config.pair_update,
                    config.part_weights,
                    config.combine,
                    config.pair_activation == "sine",
                )
                for _ in range(layers)
            )
            kind = "residual" if config.inside else config.block
            relu = config.combine == "pairwise" or kind != "plain"
            # Without a ReLU, a constant that the last γ adds to every vertex is cancelled by the
            # head's normalisation, unless the readout multiplies it by the number of vertices.
            counts = relu or (not node and config.readout == "sum")
            self.blocks = nn.ModuleList(
                Block(width, kind, config.dropout, relu, counts or layer < layers - 1)
                for layer in range(layers)
            )
            self.virtual = nn.ModuleList(
                VirtualNode(width) for _ in range(config.virtual_node * (layers - 1))
            )
            joined += width * (layers if config.jump == "cat" else 1)
        self.head = Head(
            joined,
            width if config.head == "mlp" else None,
            config.outputs,
            keys if config.component_feature else None,
            node,
            config.readout == "mean",
            config.norm is not None,
            self.dropout,
            config.descriptors,
        )
        self._draw_colours()

    @classmethod
    def for_data(cls, source: Any, node_level: bool = False, **options: Any) -> GPNN:
        """Create a model for PyG data, with its parts and the width of its features.

        Args:
            source: the training graphs, as :func:`~gpnn.nn.prepare.prepare` takes them. Colours
                that occur in none of them are unseen to the model.
            options: fields of :class:`~gpnn.nn.config.GPNNConfig`, including ``outputs``, and
                ``base``.
        """
        from .from_pyg import data_options

        structure, rest = Structure.split(options)
        base = rest.pop("base", "gin")
        if "outputs" not in rest:
            raise InputError("Give the number of outputs: GPNN.for_data(..., outputs=2).")
        if rest.get("gpnn") is False:
            structure = structure.base_alone
            rest = {"component_feature": False, **rest}
        decided = data_options(source, structure, node_level, rest.get("gpnn", True))
        if clash := sorted(set(rest) & set(decided)):
            raise InputError(
                f"{', '.join(clash)} follow from the data. Leave them out"
                f"{'; node_level=True asks for outputs per vertex' if 'level' in clash else ''}."
            )
        return cls(base=base, **decided, **rest)

    def _set_colours(self, vocabulary: Vocabulary | None) -> None:
        parts = self.config.parts
        colours = torch.zeros(parts - 1, 0, dtype=torch.int64)
        if vocabulary is not None:
            if vocabulary.size + 1 != parts or vocabulary.scheme != self.config.structure.scheme:
                raise InputError(
                    f"The vocabulary holds {vocabulary.size} parts of scheme "
                    f"'{vocabulary.scheme}', and the model has {parts - 1} of "
                    f"'{self.config.structure.scheme}' beside the reserved one. Give it the "
                    "options of what it is trained on: GPNN(..., **ready.options)."
                )
            colours = torch.from_numpy(vocabulary.colours.copy())
        self.register_buffer("part_colours", colours)
        self._name_parts()

    def _name_parts(self) -> None:
        vocabulary = self.vocabulary
        self.parts_digest = "" if vocabulary is None else vocabulary.digest

    @property
    def vocabulary(self) -> Vocabulary | None:
        """The parts that the model knows, or ``None`` if it was created without a vocabulary."""
        if not self.part_colours.shape[-1]:
            return None
        return Vocabulary(self.config.structure.scheme, self.part_colours.cpu().numpy())

    def _keys(self) -> Tensor:
        vocabulary = self.vocabulary
        return (
            torch.arange(self.config.parts) if vocabulary is None else part_keys(vocabulary.colours)
        )

    def _load_from_state_dict(self, state: dict[str, Tensor], prefix: str, *rest: Any) -> None:
        colours = state.get(f"{prefix}part_colours")
        if colours is not None and len(colours) == len(self.part_colours):
            self.part_colours = colours.to(self.part_colours.device, copy=True)
            self._name_parts()
        super()._load_from_state_dict(state, prefix, *rest)

    def _make_base(self, base: Any) -> nn.Module | None:
        config = self.config
        if (base is None) == (config.base == "custom"):
            raise InputError("A base module needs config.base='custom', and the reverse.")
        if base is not None:
            return check_base(base)
        if config.peer is not None:
            shape = Shape(
                config.hidden, config.structure.layers, config.block, config.dropout, config.edged,
                config.readout == "mean",
            )  # fmt: skip
            return config.peer.network(shape)
        if config.base is None:
            return None
        inputs = config.features if config.encoder is None else config.hidden
        return make_base(
            config.base,
            inputs,
            config.hidden,
            config.structure.layers,
            config.dropout,
            norm=config.norm is not None,
            block=config.block,
            virtual_node=config.virtual_node and not config.inside,
        )

    def reset_parameters(self) -> None:
        for module in self.modules():
            reset = getattr(module, "reset_parameters", None)
            if module is not self and callable(reset):
                reset()
        self._draw_colours()

    def _draw_colours(self) -> None:
        if self.config.gpnn:
            draw_parts(self.colour, (0,), self._keys(), normal=1.0)

    def keep_parts(self, kept: Tensor) -> None:
        """Drop all parts except ``kept``, part numbers in ascending order with the reserved part
        last. Colours of dropped parts become unseen."""
        self._drop_parts(kept)
        self.config = replace(self.config, parts=len(kept))
        self.part_colours = self.part_colours[kept[:-1]]
        self._name_parts()

    def anneal(self, step: Tensor, steps: int) -> None:
        """Called before training with the number of steps; ``step`` [1] is incremented in place.
        For networks that anneal their parts or schemes."""

    def _drop_parts(self, kept: Tensor) -> None:
        keep_parts(self, kept)

    def forward(self, batch: GraphBatch) -> Tensor:
        batch = self._read(batch)
        if isinstance(self.base, Peer) and not isinstance(self.base, VertexPeer):
            return self.head.finish(self._peer_rows(self.base, self._encoded(batch), batch), batch)
        blocks = self._embedded(batch)
        return piece(self._again(batch, blocks[0]), self.head, blocks, batch)

    def embed(self, batch: GraphBatch) -> Tensor:
        """h_v of every vertex, [n, features], in the internal order of the batch (by part)."""
        if isinstance(self.base, Peer) and not isinstance(self.base, VertexPeer):
            raise InputError(
                f"{self.base.name} has features of graphs, not of vertices: it can be neither "
                "embedded nor explained by vertex. Use another model for that, such as gpnn."
            )
        return torch.cat(self._embedded(self._read(batch)), dim=-1)

    def _read(self, batch: Any) -> GraphBatch:
        if isinstance(batch, GraphBatch):
            return batch
        if torch.compiler.is_compiling():
            from .uncompiled import batch_of
        else:
            from .from_pyg import batch_of
        return batch_of(batch, self)

    def _encoded(self, batch: GraphBatch) -> Tensor:
        """Vertex features, mapped to the width of the network if there is an encoder."""
        x = batch.features if self.encoder is None else self.encoder(batch.features)
        if self.walks is not None:
            x = x + self.walks(batch.walks, batch.vertex_weight)
        return x

    def _embedded(self, batch: GraphBatch) -> list[Tensor]:
        """h_v as a list of blocks of features."""
        x = self._encoded(batch)
        if not self.config.gpnn:
            return [self._run_base(x, batch)]
        if self.base is None or self.config.inside:
            return self._joined(x, batch)
        with Branch("base", x) as beside:
            h = self._run_base(x, batch)
        layers = self._joined(x, batch)
        beside.bring(h)
        return [h, *layers]

    def _joined(self, x: Tensor, batch: GraphBatch) -> list[Tensor]:
        """γ of the layers that the head reads."""
        layers = self.interact(x, batch)
        if batch.layers:  # the roots of a block come first
            layers = [batch.layers[-1].own(gamma) for gamma in layers]
        return layers if self.config.jump == "cat" else layers[-1:]

    def _run_base(self, x: Tensor, batch: GraphBatch) -> Tensor:
        assert self.base is not None
        if isinstance(self.base, Peer):
            return self._peer_rows(self.base, x, batch)
        x = batch.features if self.config.encoder is None else x
        if not isinstance(self.base, StackedGNN):
            return self._run_own_base(x, batch)
        if batch.base_layers:  # vertices near the roots come first
            x = x[: len(batch.base_layers[0].neighbours.back_ptr) - 1]
        return self.base(x, batch, self._encoded_edges(batch), self._again(batch, x))

    def _again(self, batch: GraphBatch, like: Tensor, /) -> bool:
        return recomputes(batch, self.config.hidden, like)

    def _peer_rows(self, peer: Peer, x: Tensor, batch: GraphBatch) -> Tensor:
        """Rows of vertices or of graphs, depending on the peer."""
        met = self.config.base if batch.terms is None else batch.terms.peer
        if batch.cells is None or met != self.config.base:
            without = f"for peer='{met}'" if met and batch.cells else "without cells"
            raise InputError(
                f"The graphs were prepared {without}, and the model reads those of "
                f"peer='{self.config.base}'. Prepare them with it."
            )
        encode = None if self.edge_encoder is None else self._encoded_cells
        read = peer.vertices if isinstance(peer, VertexPeer) else peer.read
        return read(x, batch, encode)

    def _encoded_cells(self, rows: CellRows) -> Tensor:
        """Encoded edges that cells carry."""
        assert self.edge_encoder is not None and rows.label is not None
        given = rows.label.unsqueeze(-1) if rows.features is None else rows.features
        out: Tensor = self.edge_encoder(given)
        return out

    def _encoded_edges(self, batch: GraphBatch) -> Tensor | None:
        if self.edge_encoder is None:
            return None
        assert batch.edges is not None
        features = batch.edges.features
        edges = batch.edges.label.unsqueeze(-1) if features is None else features
        out: Tensor = self.edge_encoder(edges)
        return out

    def _run_own_base(self, x: Tensor, batch: GraphBatch) -> Tensor:
        """Run a custom base module, without stacked replicas and without padding."""
        assert self.base is not None and batch.edges is not None and batch.vertex_weight is None
        given: dict[str, Tensor] = {}
        if "edge_attr" in inspect.signature(self.base.forward).parameters:
            features = batch.edges.features
            if features is None:
                each = functional.one_hot(batch.edges.label, self.config.edge_labels + 2)
                features = each[:, 1:-1].to(x.dtype)
            given["edge_attr"] = features
        out = self.base(x, batch.edges.index, **given)
        shape = (batch.num_nodes, self.base.out_channels)
        if not isinstance(out, Tensor) or out.shape != shape:
            got = tuple(out.shape) if isinstance(out, Tensor) else type(out).__name__
            raise InputError(
                f"The base {type(self.base).__name__} must give one tensor [n, out_channels] = "
                f"{list(shape)}; it gave {got}."
            )
        return out

    def interact(self, x: Tensor, batch: GraphBatch) -> list[Tensor]:
        """γ of every layer, each [n, hidden]."""
        self._check(batch)
        gamma = self._colours(batch)
        if not self.config.colours_only:
            gamma = gamma + x
        gammas: list[Tensor] = []
        with Branch("interactions", batch.start) as beside:
            alpha = start = self._start(batch)
        edges = self._encoded_edges(batch) if self.config.inside else None
        everywhere, again = None, self._again(batch, gamma)
        for number, layer in enumerate(self._rounds()):
            with beside:
                alpha, of_alpha = piece(
                    again, layer.interactions, alpha, start, batch.rounds[number]
                )
            beside.bring(*of_alpha)
            if number and len(self.virtual):
                gamma, everywhere = self.virtual[number - 1](gamma, everywhere, batch)
            new = piece(again, self._combined, layer, number, gamma, of_alpha, batch)
            if self.config.inside:
                assert isinstance(self.base, StackedGNN)
                own = self.base.convs[number](gamma, batch, edges)
                new = self.base.blocks[number](new, own, batch)
            gamma = new
            gammas.append(gamma)
        return gammas

    @property
    def pairs(self) -> list[PairEmbedding]:
        """Every λ_E of the network."""
        return [self.pair] if self.config.gpnn else []

    def _colours(self, batch: GraphBatch) -> Tensor:
        """The vector of every vertex's part."""
        return lookup(self.colour, batch.part)

    def _rounds(self) -> list[Any]:
        """The layers."""
        return list(self.layers)

    def _combined(
        self,
        layer: Any,
        number: int,
        gamma: Tensor,
        of_alpha: tuple[Tensor, ...],
        batch: GraphBatch,
    ) -> Tensor:
        """γ' of a layer: Equations 1 and 3, then the surrounding block."""
        rows = batch.layer(number)
        new = layer.combine(gamma, of_alpha, rows, batch.rounds[number].own)
        out: Tensor = self.blocks[number](rows.own(gamma), new, rows)
        return out

    def _check(self, batch: GraphBatch) -> None:
        """Reject graphs that were prepared for another model."""
        layers = self.config.structure.layers
        if len(batch.rounds) < layers:
            raise InputError(
                f"The graphs were prepared for {len(batch.rounds)} layers and the model has "
                f"{layers}. Prepare them with layers={layers}."
            )
        if batch.terms is None:
            return
        met = self.parts_digest or batch.terms.colours
        own = Terms.of(self.config.structure, self.config.parts, met, batch.terms.peer)
        if batch.terms != own:
            raise InputError(
                f"The graphs were prepared with {batch.terms.differing(own)}, and the model has "
                f"{own.differing(batch.terms)}. Give both the same: the model the options of what "
                "it is trained on, GPNN(..., **ready.options), and later graphs its parts, "
                "prepare(..., vocabulary=ready.vocabulary)."
            )

    def _start(self, batch: GraphBatch) -> Tensor:
        """α of the start classes."""
        start: Tensor = self.pair(batch.start)
        if self.pair_features is not None:
            start = start + self.pair_features(batch.start_features)
        return start

    def __repr__(self) -> str:
        config = self.config
        base = f", base={config.base}" if config.base else ""
        kind = str(config.structure) if config.gpnn else "base alone"
        size = sum(p.numel() for p in self.parameters())
        if config.peer is not None:
            kind, base = f"peer {config.base}", ""
        return (
            f"{self.__class__.__name__}({kind}{base}, layers={config.structure.layers}, "
            f"hidden={config.hidden}, {size:,} parameters)"
        )
