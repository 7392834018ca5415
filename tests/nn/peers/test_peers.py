"""Peers: equal to the literal equations, invariant, equal alone and in batches; known facts."""

from __future__ import annotations

from copy import copy
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Batch, Data

from gpnn import AddPartition
from gpnn.errors import InputError
from gpnn.graph.graphs import Graphs
from gpnn.graph.peers.directions import eigenvectors
from gpnn.nn.batch import GraphBatch
from gpnn.nn.model import GPNN
from gpnn.nn.peers import PEERS, VertexPeer, peer_of
from gpnn.nn.peers.ppgn import multiply
from gpnn.nn.prepare import prepare
from nn.peers import literal_peers as literal
from strategies import networkx_graphs, to_graphs

pytestmark = pytest.mark.usefixtures("one_thread")

SPECS = (
    *("graphsnn", "graphsnn:power=1", "dgn:vectors=2", "gin-ak:hops=2,inner=2", "kp-gin:hops=2"),
    *("kp-gin:kernel=diffusion,combine=attention", "kp-gin:plus=true", "lrp:depth=3"),
    *("lrp:depth=1,width=3", "esan:policy=node", "esan:policy=edge,variant=ds", "esan", "cin"),
    *("esan:policy=ego,variant=ds,hops=1", "cin:rings=4", "ppgn"),
)
DOUBLE = torch.float64


def graphs_of(*given: nx.Graph) -> Graphs:
    return Graphs.concatenate([to_graphs(graph) for graph in given])


def labels_of(graphs: Graphs, seed: int = 0) -> tuple[Tensor, np.ndarray]:
    """Features of vertices, and labels of edges that are the same in both directions."""
    rng = np.random.default_rng(seed)
    x = torch.from_numpy(rng.normal(size=(graphs.num_nodes, 3)))
    table = rng.integers(0, 3, (graphs.num_nodes, graphs.num_nodes))
    table = np.minimum(table, table.T)
    return x, table[graphs.rows, graphs.indices]


def network(spec: str, ready: Any, **more: Any) -> GPNN:
    """In general position: no ReLU sits on its kink, normalisations are not the identity."""
    torch.manual_seed(0)
    options = {"block": "residual", **more}
    net = GPNN(
        base=spec, gpnn=False, outputs=2, hidden=6, component_feature=False, **options,
        **ready.options,
    ).double()  # fmt: skip
    for name, value in net.state_dict().items():
        noise = torch.rand(value.shape, dtype=DOUBLE)
        if value.is_floating_point() and "running_var" in name:
            value.copy_(0.5 + noise)
        elif value.is_floating_point():
            value.add_(0.5 * (noise - 0.5))
    return net.eval()


def prepared(graphs: Graphs, spec: str, edges: bool, seed: int = 0) -> Any:
    x, labels = labels_of(graphs, seed)
    peer = spec if peer_of(spec) is not None else None
    return prepare(
        graphs, x=x, edge_labels=labels if edges else None, peer=peer, scheme="trivial", layers=2
    )


def literal_layers(peer: Any, graph: nx.Graph, x: dict[int, Tensor], e: literal.Edge) -> Any:
    """The rows of vertices after all layers."""
    options, every = peer.options, [x]
    for layer, around in zip(peer.convs, peer.blocks, strict=True):
        h = every[-1]
        if peer.name == "graphsnn":
            y = literal.graphsnn(layer, graph, h, e, options.power)
        elif peer.name == "dgn":
            vectors, _, _ = eigenvectors(to_graphs(graph), options.vectors)
            y = literal.dgn(layer, graph, h, e, vectors)
        elif peer.name == "gin-ak":
            y = literal.gin_ak(layer, graph, h, e, options.hops)
        elif peer.name == "kp-gin" and options.plus:
            y = literal.kp_gin_plus(layer, graph, every, e, options.kernel)
        elif peer.name == "kp-gin":
            y = literal.kp_gin(layer, graph, h, e, options.hops, options.kernel)
        else:
            y = literal.lrp(
                layer, graph, h, e,
                lambda g, v: literal.truncated_orderings(g, v, options.depth, options.width),
            )  # fmt: skip
        every.append(literal.block(around, h, y))
    return every[-1]


def literal_z(net: GPNN, graph: nx.Graph, x: Tensor, labels: Any) -> Tensor:
    """z of one graph from its encoded vertices."""
    peer: Any = net.base
    rows = {v: x[v] for v in graph}

    def encoded(u: int, v: int) -> Tensor:
        assert net.edge_encoder is not None
        out: Tensor = net.edge_encoder(torch.tensor([[labels[u, v] + 1]]))[0]
        return out

    e = None if net.edge_encoder is None else encoded
    if isinstance(peer, VertexPeer):
        return torch.stack(list(literal_layers(peer, graph, rows, e).values())).sum(0)
    read = {"esan": literal.esan, "cin": literal.cin, "ppgn": literal.ppgn}[peer.name]
    return read(peer, graph, rows, e)


@pytest.mark.parametrize("edges", [False, True])
@pytest.mark.parametrize("spec", SPECS)
def test_every_peer_is_its_equation(spec: str, edges: bool) -> None:
    """On a graph with a ring, a triangle, a pendant vertex and an isolated one, among others."""
    wheel = nx.Graph([(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5), (5, 2), (5, 6)])
    wheel.add_node(7)
    given = [nx.path_graph(3), wheel, nx.empty_graph(1), nx.circular_ladder_graph(3)]
    graphs = graphs_of(*given)
    ready = prepared(graphs, spec, edges)
    net = network(spec, ready)
    batch = ready.batch().to("cpu", DOUBLE)
    x = net._encoded(batch)
    _, labels = labels_of(graphs)
    table = {(int(u), int(v)): int(k) for u, v, k in
             zip(graphs.rows, graphs.indices, labels, strict=True)}  # fmt: skip
    with torch.no_grad():
        found = rows_of_graphs(net, batch)
        for g, graph in enumerate(given):
            first = int(graphs.ptr[g])
            own = {(u - first, v - first): k for (u, v), k in table.items()}
            expected = literal_z(net, graph, x[first : first + len(graph)], own)
            assert torch.allclose(found[g], expected, rtol=1e-9, atol=1e-10)


def rows_of_graphs(net: GPNN, batch: GraphBatch) -> Tensor:
    """What the head starts from, [graphs, width]."""
    rows = net._peer_rows(net.base, net._encoded(batch), batch)  # type: ignore[arg-type]
    return batch.readout.sum(rows) if isinstance(net.base, VertexPeer) else rows


@settings(max_examples=40)
@given(
    st.lists(networkx_graphs(7), min_size=1, max_size=3),
    st.sampled_from(SPECS),
    st.booleans(),
    st.integers(0, 5),
)
def test_relabelling_and_batching_change_nothing(
    given: list[nx.Graph], spec: str, edges: bool, seed: int
) -> None:
    given = [graph for graph in given if len(graph)]
    assume(given)
    graphs = graphs_of(*given)
    if spec.startswith("dgn"):
        assume(eigenvectors(graphs, 2)[1] == 0)
    ready = prepared(graphs, spec, edges)
    net = network(spec, ready)
    with torch.no_grad():
        together = net(ready.batch().to("cpu", DOUBLE))
        alone = torch.cat([net(one.to("cpu", DOUBLE)) for one in ready])
        assert torch.allclose(together, alone, rtol=1e-8, atol=1e-9)
        name = graphs.permutation(np.random.default_rng(seed))
        moved = graphs.relabelled(name)
        x, labels = labels_of(graphs)
        place = torch.from_numpy(np.argsort(name))
        key = {(int(name[u]), int(name[v])): k for u, v, k in
               zip(graphs.rows, graphs.indices, labels, strict=True)}  # fmt: skip
        again = np.array([key[int(u), int(v)] for u, v in
                          zip(moved.rows, moved.indices, strict=True)], np.int64)  # fmt: skip
        other = prepare(moved, x=x[place], edge_labels=again if edges else None, peer=spec,
                        scheme="trivial", layers=2)  # fmt: skip
        assert torch.allclose(together, net(other.batch().to("cpu", DOUBLE)), rtol=1e-7, atol=1e-8)


def differ(spec: str, left: nx.Graph, right: nx.Graph, layers: int = 3) -> bool:
    """Whether a network as drawn distinguishes two graphs without features."""
    peer = spec if peer_of(spec) is not None else None
    ready = prepare(graphs_of(left, right), peer=peer, scheme="trivial", layers=layers)
    torch.manual_seed(1)
    net = GPNN(
        base=spec, gpnn=False, outputs=4, hidden=16, component_feature=False, **ready.options
    )
    net = net.double().eval()
    with torch.no_grad():
        out = net(ready.batch().to("cpu", DOUBLE))
    return bool((out[0] - out[1]).abs().max() > 1e-8)


def test_known_facts() -> None:
    hexagon = nx.cycle_graph(6)
    triangles = nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))
    for spec in ("cin", "ppgn", "esan:policy=node", "esan", "gin-ak", "kp-gin", "lrp:depth=2"):
        assert differ(spec, hexagon, triangles), spec
    assert not differ("gin", hexagon, triangles)
    rook = nx.line_graph(nx.complete_bipartite_graph(4, 4))
    rook = nx.convert_node_labels_to_integers(rook)
    shrikhande = nx.Graph()
    for a in range(4):
        for b in range(4):
            for i, j in ((0, 1), (1, 0), (1, 1)):
                shrikhande.add_edge(4 * a + b, 4 * ((a + i) % 4) + (b + j) % 4)
    assert not differ("ppgn", rook, shrikhande)  # 3-WL does not distinguish them
    for spec in ("gin-ak:hops=1", "esan:policy=ego+,hops=1"):
        assert not differ(spec, rook, shrikhande), spec  # nor does 1-WL their ego networks
    for spec in ("kp-gin", "cin", "lrp:depth=3"):  # two triangles around a vertex, or a hexagon
        assert differ(spec, rook, shrikhande), spec
    star, path = nx.star_graph(3), nx.path_graph(4)
    for spec in PEERS:  # at least 1-WL
        assert differ(spec, star, path), spec


def test_ppgn_alone_equals_ppgn_in_a_batch_of_larger_graphs() -> None:
    given = [nx.cycle_graph(5), nx.complete_graph(12), nx.path_graph(2), nx.star_graph(30)]
    ready = prepared(graphs_of(*given), "ppgn", False)
    net = network("ppgn", ready)
    with torch.no_grad():
        together = net(ready.batch().to("cpu", DOUBLE))
        for g in range(len(given)):
            alone = net(ready[g].to("cpu", DOUBLE))
            assert torch.allclose(together[g], alone[0], rtol=1e-10)


def test_products_of_pairs_are_matrix_products() -> None:
    given = [nx.path_graph(3), nx.cycle_graph(9), nx.path_graph(4)]
    batch = prepared(graphs_of(*given), "ppgn", False).batch()
    assert batch.cells is not None
    left, right = torch.randn(2, 9 + 81 + 16, 5, dtype=DOUBLE)
    found = multiply(left, right, batch.cells)
    at = 0
    for graph in given:
        n = len(graph)
        a, b, c = (m[at : at + n * n].view(n, n, 5) for m in (left, right, found))
        assert torch.allclose(c, torch.einsum("ikc,kjc->ijc", a, b))
        at += n * n


def test_parameter_counts_follow_from_the_equations() -> None:
    """Of one layer of width w, without its block (w + w)."""
    w = 10
    mlp = 2 * w * w + 2 * w + w  # two matrices, a normalisation, a bias
    ready = prepare(to_graphs(nx.cycle_graph(5)), scheme="trivial", layers=1)
    expected = {
        "graphsnn": mlp - w + 1,
        "cin": 3 * (2 * mlp + 2 * w * w + w + 2 * w * w + 2 + 2 * w) - 2 * w,
        "ppgn": 3 * w + 2 * mlp + 2 * w * w,
        "dgn": (5 * w) * w + w * w + 2 * w,
        "kp-gin:hops=2": w * w + 2 * (2 * 25 + 2 * 5 + 5) + 33 * 5 + 2 + 5 * w,
        "lrp:depth=2": 3 * w * w + 3 * w + w + 2 * w + 2 * w + 2 * w * w + w,
        "esan": 2 * (mlp - w + 1) + 2 * w + 2 * w,
        "gin-ak": 2 * (mlp - w + 1) + 2 * w + 4 * w + 4 * 3 * w + 2 * w * w + 3 * 2 * w + w * w,
    }
    assert {name.partition(":")[0] for name in expected} == set(PEERS)
    for spec, count in expected.items():
        options = {k: v for k, v in ready.options.items() if k != "structure"}
        net = GPNN(base=spec, gpnn=False, outputs=1, hidden=w, structure=ready.structure, **options)
        assert net.base is not None
        assert sum(p.numel() for p in net.base.parameters()) == count + 2 * w, spec


def test_names_options_and_errors() -> None:
    assert str(peer_of("esan:policy=node, variant=dss")) == "esan:policy=node"
    assert str(peer_of("gin-ak:drop=0.50")) == "gin-ak:drop=0.5"
    assert str(peer_of("kp-gin:plus=TRUE,hops=3")) == "kp-gin:plus=true"
    assert peer_of("gin") is None and peer_of(None) is None
    with pytest.raises(InputError, match=r"'ring=5' is not an option of cin. It has rings"):
        peer_of("cin:ring=5")
    with pytest.raises(InputError, match="cin: rings must be a whole number from 3 to 24; got 2"):
        peer_of("cin:rings=2")
    with pytest.raises(InputError, match=r"policy cannot be 'nodes'. Did you mean node"):
        peer_of("esan:policy=nodes")
    ready = prepare(to_graphs(nx.cycle_graph(5)), scheme="trivial", layers=2)
    with pytest.raises(InputError, match="cin is a model by itself"):
        GPNN(base="cin", outputs=1, **ready.options)
    net = GPNN(base="cin:rings=5", gpnn=False, outputs=1, component_feature=False, **ready.options)
    with pytest.raises(InputError, match="peer='cin:rings=5'"):
        net(ready.batch())
    with pytest.raises(InputError, match="features of graphs, not of vertices"):
        net.embed(ready.batch())
    with pytest.raises(InputError, match="one output per graph"):
        GPNN(base="ppgn", gpnn=False, outputs=1, **{**ready.options, "level": "node"})
    with pytest.raises(InputError, match="no virtual node"):
        GPNN(base="dgn", gpnn=False, outputs=1, virtual_node=True, **ready.options)


@pytest.mark.parametrize("spec", ["cin", "gin-ak:hops=1", "ppgn"])
def test_pyg_batches_are_read_as_prepared_ones(spec: str) -> None:
    from torch_geometric.data import Batch, Data

    given = [nx.cycle_graph(5), nx.lollipop_graph(4, 2)]
    graphs = graphs_of(*given)
    x, labels = labels_of(graphs)
    ready = prepare(graphs, x=x, edge_labels=labels, peer=spec, scheme="trivial", layers=2)
    net = network(spec, ready)
    entries = np.stack([graphs.indices, graphs.rows])
    items = []
    for g in range(2):
        low, high = graphs.ptr[g], graphs.ptr[g + 1]
        own = (graphs.rows >= low) & (graphs.rows < high)
        index = torch.from_numpy(entries[:, own] - low).long()
        items.append(
            Data(x=x[low:high].float(), edge_index=index, edge_attr=torch.from_numpy(labels[own]))
        )
    with torch.no_grad():
        expected = net(ready.batch().to("cpu", DOUBLE))
        assert torch.allclose(net(Batch.from_data_list(items)), expected, rtol=1e-9)


def test_pyg_data_make_models_of_peers() -> None:
    """Without a scheme; also for data with parts, whose batches may have no edge."""
    data = [as_data(graph) for graph in (nx.cycle_graph(5), nx.star_graph(4), nx.path_graph(6))]
    lonely = as_data(nx.empty_graph(2))
    cut = AddPartition("core")
    for base in ("gin", *PEERS):
        for each in (data, [cut(copy(one)) for one in data]):
            net = GPNN.for_data(each, base=base, gpnn=False, outputs=2).eval()
            assert net(Batch.from_data_list(each)).shape == (3, 2)
            assert net(Batch.from_data_list([lonely])).shape == (1, 2)
        if base in PEERS:
            ready = prepare(data, peer=base)
            net = GPNN(base=base, gpnn=False, outputs=2, **ready.options).eval()
            later = prepare([lonely, data[1]], like=ready)
            assert net(later.batch()).shape == net(prepare(data[:2], like=net).batch()).shape


def as_data(graph: nx.Graph) -> Data:
    """A graph with floats on vertices and edges."""
    ends = [(u, v) for u, v in graph.edges] + [(v, u) for u, v in graph.edges]
    index = torch.tensor(ends, dtype=torch.int64).reshape(-1, 2).T
    lengths = torch.linspace(0.5, 1.5, graph.number_of_edges()).repeat(2)
    x = torch.linspace(0, 1, len(graph)).unsqueeze(1)
    return Data(x=x, edge_index=index, edge_attr=lengths.unsqueeze(1), num_nodes=len(graph))


def test_cells_of_another_peer_are_refused() -> None:
    graphs = graphs_of(nx.cycle_graph(5), nx.path_graph(3))
    own = prepare(graphs, peer="cin", scheme="trivial")
    net = GPNN(base="cin", gpnn=False, outputs=2, **own.options)
    for peer in ("esan", "cin:rings=8"):
        with pytest.raises(InputError, match=f"for peer='{peer}.*reads those of peer='cin'"):
            net(prepare(graphs, peer=peer, scheme="trivial").batch())
    with pytest.raises(InputError, match="without cells"):
        net(prepare(graphs, scheme="trivial").batch())
    for wrong in ("foo", "gin", 5):
        with pytest.raises(InputError, match="There is no peer"):
            prepare(graphs, peer=wrong)  # type: ignore[arg-type]
