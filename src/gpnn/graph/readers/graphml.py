"""GraphML: nodes and edges of every graph in the file; attributes are ignored.

Files are parsed with the standard library's expat. A document type declaration is refused, since
its entities can expand without limit or refer to other files. Nested graphs, hyperedges and edges
to undeclared nodes are also refused. Graphs with ``edgedefault="directed"`` are symmetrised, with
counts.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from xml.parsers import expat

from ...errors import InputError
from ..graphs import Graphs
from .files import read_bytes, where
from .undirected import undirected

__all__ = ["read_graphml"]


@dataclass(slots=True)
class _Graph:
    name: str
    directed: bool
    nodes: dict[str, int] = field(default_factory=dict)
    edges: list[tuple[str, str, int]] = field(default_factory=list)

    def build(self, path: Path) -> Graphs:
        for edge in self.edges:
            for end in edge[:2]:
                if end not in self.nodes:
                    raise InputError(
                        f"{where(path, edge[2])}: an edge names the node {end!r}, which the graph "
                        "does not declare."
                    )
        src = [self.nodes[u] for u, _, _ in self.edges]
        dst = [self.nodes[v] for _, v, _ in self.edges]
        plain = all(name == str(i) for name, i in self.nodes.items())
        graph = Graphs.from_edges(
            src, dst, len(self.nodes), vertex_names=None if plain else list(self.nodes)
        )
        return graph if self.directed else undirected(graph)


class _Handler:
    """Collects graphs while expat parses the file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.graphs: list[_Graph] = []
        self.depth = 0
        self.seen_root = False
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.StartDoctypeDeclHandler = self.doctype

    def fail(self, message: str) -> InputError:
        return InputError(f"{where(self.path, self.parser.CurrentLineNumber - 1)}: {message}")

    def doctype(self, *_: object) -> None:
        raise self.fail(
            "a document type or entity declaration, which GraphML does not need and which can "
            "hide an attack. Remove it."
        )

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        kind = tag.rpartition(":")[2]
        if not self.seen_root and kind != "graphml":
            raise self.fail(f"expected <graphml>, got <{tag}>. This is not GraphML.")
        self.seen_root = True
        if kind == "graph":
            if self.depth:
                raise self.fail("a graph inside a graph. Nested graphs are not read.")
            self.depth = 1
            directed = attributes.get("edgedefault") == "directed"
            self.graphs.append(_Graph(attributes.get("id", ""), directed))
        elif kind == "hyperedge":
            raise self.fail("a hyperedge. Graphs here have edges of two ends.")
        elif kind in ("node", "edge") and self.depth:
            wanted = ("id",) if kind == "node" else ("source", "target")
            missing = [name for name in wanted if name not in attributes]
            if missing:
                raise self.fail(f"<{kind}> without {missing[0]!r}.")
            graph, line = self.graphs[-1], self.parser.CurrentLineNumber - 1
            if kind == "edge":
                graph.edges.append((attributes["source"], attributes["target"], line))
            elif attributes["id"] in graph.nodes:
                raise self.fail(f"the node {attributes['id']!r} is declared twice.")
            else:
                graph.nodes[attributes["id"]] = len(graph.nodes)

    def end(self, tag: str) -> None:
        if tag.rpartition(":")[2] == "graph":
            self.depth = 0


def read_graphml(path: Path) -> Graphs:
    """All graphs of a ``.graphml`` file."""
    raw = read_bytes(path)
    handler = _Handler(path)
    try:
        handler.parser.Parse(raw, True)
    except expat.ExpatError as error:
        raise InputError(
            f"{where(path, error.lineno - 1)}: not well-formed XML ({error}). "
            "The file is truncated or not GraphML."
        ) from None
    except (LookupError, ValueError) as error:  # unknown encoding
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path} cannot be decoded ({error}). Save it as UTF-8.") from None
    if not handler.graphs:
        raise InputError(f"{path} holds no <graph>.")
    parts = _all_named([graph.build(path) for graph in handler.graphs], handler.graphs)
    names = [graph.name for graph in handler.graphs]
    return replace(Graphs.concatenate(parts), graph_names=names if any(names) else None)


def _all_named(parts: list[Graphs], sources: list[_Graph]) -> list[Graphs]:
    """If one graph has vertex names, add names to all others, so that none are lost."""
    if all(part.vertex_names is None for part in parts):
        return parts
    return [
        replace(part, vertex_names=list(source.nodes))
        for part, source in zip(parts, sources, strict=True)
    ]
