"""Peers: the methods that the paper compares GPNN with, one file each."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from ...errors import InputError
from ...graph.graphs import Graphs
from ...graph.peers.structure import PeerStructure
from .base import Peer, Shape, VertexPeer
from .cin import CIN
from .dgn import DGN
from .esan import ESAN
from .gin_ak import GINAK
from .graphsnn import GraphSNN
from .kp_gin import KPGIN
from .lrp import LRP
from .ppgn import PPGN

__all__ = ["PEERS", "Peer", "PeerSpec", "Shape", "VertexPeer", "peer_of"]

PEERS: dict[str, type[Peer]] = {
    peer.name: peer for peer in (GraphSNN, ESAN, CIN, GINAK, KPGIN, PPGN, DGN, LRP)
}
"""All peers by name."""


@dataclass(frozen=True)
class PeerSpec:
    """A peer with its options, written as in ``cin:rings=8``."""

    kind: type[Peer]
    options: Any

    def __str__(self) -> str:
        """The text form, without options at their default."""
        usual = self.kind.Options()
        given = [
            f"{f.name}={_written(getattr(self.options, f.name))}"
            for f in fields(self.options)
            if getattr(self.options, f.name) != getattr(usual, f.name)
        ]
        return self.kind.name + (f":{','.join(given)}" if given else "")

    def build(self, graphs: Graphs, edged: bool) -> PeerStructure:
        """The structure that it reads from a set of graphs."""
        return self.kind.build(graphs, self.options, edged)

    def network(self, shape: Shape) -> Peer:
        return self.kind(shape, self.options)


def peer_of(text: str | None) -> PeerSpec | None:
    """The peer with the given name, or ``None`` if there is none.

    Args:
        text: the name of a peer with its options: ``esan:policy=node,variant=ds``.
    """
    name, _, given = (text or "").partition(":")
    if name not in PEERS:
        return None
    kind = PEERS[name]
    known = {f.name: f for f in fields(kind.Options)}
    values: dict[str, Any] = {}
    for part in filter(None, given.split(",")):
        key, equals, value = (word.strip() for word in part.partition("="))
        if key in known and not equals:
            raise InputError(f"{part!r} of {name} has no value: {name}:{key}=VALUE.")
        if key not in known:
            has = f"It has {', '.join(known)}: {name}:NAME=VALUE." if known else "It has none."
            raise InputError(f"{part!r} is not an option of {name}. {has}")
        if key in values:
            raise InputError(f"{text!r} gives {key} twice.")
        values[key] = _read(value, known[key].default)
    try:
        return PeerSpec(kind, kind.Options(**values))
    except InputError as error:
        raise InputError(f"{name}: {error}") from None


def _read(text: str, like: Any) -> Any:
    """The text converted to the type of the default, or the text itself if that fails."""
    if isinstance(like, bool):
        return {"true": True, "false": False}.get(text.lower(), text)
    try:
        return type(like)(text)
    except ValueError:
        return text


def _written(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value:g}" if isinstance(
        value, float
    ) else str(value)  # fmt: skip
