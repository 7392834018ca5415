"""From a workload to the answer in every library, through its fastest input format.

The formats were compared on 1e6 edges. igraph reads an iterator of pairs about three times as fast
as an (m, 2) array; networkit takes two contiguous arrays; rustworkx takes a list of pairs;
scikit-network and SciPy take a CSR matrix, built from sorted edges without a sort. Libraries that
expect each edge once get it once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .workloads import Workload

__all__ = [
    "gpnn_components",
    "gpnn_core",
    "gpnn_triangles",
    "igraph_components",
    "igraph_core",
    "igraph_triangles",
    "networkit_components",
    "networkit_core",
    "networkit_triangles",
    "networkx_components",
    "networkx_core",
    "networkx_triangles",
    "rustworkx_components",
    "rustworkx_core",
    "scipy_components",
    "scipy_triangles",
    "sknetwork_components",
    "sknetwork_core",
]


def _once(work: Workload) -> tuple[Any, Any]:
    src, dst = work.edge_index.numpy()
    forth = src < dst
    return src[forth], dst[forth]


def _graphs(work: Workload) -> Any:
    from ..graph.graphs import Graphs

    src, dst = work.edge_index.numpy()
    return Graphs.from_edges(src, dst, np.diff(work.ptr), bounds=work.slices)


def gpnn_core(work: Workload) -> Any:
    from ..graph.kernels.peel import peel

    graphs = _graphs(work)
    return peel(graphs.ptr, graphs.indptr, graphs.indices)


def gpnn_triangles(work: Workload) -> Any:
    from ..graph.kernels.triangles import triangles

    graphs = _graphs(work)
    return triangles(graphs.indptr, graphs.indices)


def gpnn_components(work: Workload) -> Any:
    from ..graph.kernels.components import components

    graphs = _graphs(work)
    return components(graphs.indptr, graphs.indices, np.zeros(graphs.num_nodes, np.int8))


def _igraph(work: Workload) -> Any:
    import igraph

    src, dst = _once(work)
    return igraph.Graph(work.num_nodes, zip(src.tolist(), dst.tolist(), strict=True))


def igraph_core(work: Workload) -> Any:
    return _igraph(work).coreness()


def igraph_components(work: Workload) -> Any:
    return _igraph(work).connected_components().membership


def igraph_triangles(work: Workload) -> Any:
    graph = _igraph(work)
    degree = np.array(graph.degree())
    share = np.array(graph.transitivity_local_undirected(mode="zero"))
    return np.rint(share * degree * (degree - 1) / 2).astype(np.int64)


def _networkit(work: Workload) -> Any:
    """Build a graph of networkit. Its algorithms do not keep the graph alive; the caller must."""
    import networkit

    networkit.setNumberOfThreads(1)
    return networkit.GraphFromCoo(_once(work), n=work.num_nodes)


def networkit_core(work: Workload) -> Any:
    from networkit.centrality import CoreDecomposition

    graph = _networkit(work)
    return CoreDecomposition(graph).run().scores()


def networkit_triangles(work: Workload) -> Any:
    from networkit.centrality import LocalClusteringCoefficient

    graph = _networkit(work)
    share = np.array(LocalClusteringCoefficient(graph, True).run().scores())
    degree = np.bincount(work.edge_index[0].numpy(), minlength=work.num_nodes)
    return np.rint(share * degree * (degree - 1) / 2).astype(np.int64)


def networkit_components(work: Workload) -> Any:
    from networkit.components import ConnectedComponents

    graph = _networkit(work)
    return ConnectedComponents(graph).run().getPartition().getVector()


def _rustworkx(work: Workload) -> Any:
    import rustworkx

    src, dst = _once(work)
    graph = rustworkx.PyGraph(node_count_hint=work.num_nodes, edge_count_hint=len(src))
    graph.add_nodes_from(range(work.num_nodes))
    graph.add_edges_from_no_data(list(zip(src.tolist(), dst.tolist(), strict=True)))
    return graph


def rustworkx_core(work: Workload) -> Any:
    import rustworkx

    return rustworkx.core_number(_rustworkx(work))


def rustworkx_components(work: Workload) -> Any:
    import rustworkx

    return rustworkx.connected_components(_rustworkx(work))


def _matrix(work: Workload) -> Any:
    from scipy.sparse import csr_matrix

    src, dst = work.edge_index.numpy()
    shape = (work.num_nodes, work.num_nodes)
    if (src[1:] < src[:-1]).any():
        return csr_matrix((np.ones(len(src), np.int32), (src, dst)), shape=shape)
    indptr = np.zeros(work.num_nodes + 1, np.int32)
    np.cumsum(np.bincount(src, minlength=work.num_nodes), out=indptr[1:])
    return csr_matrix((np.ones(len(src), np.int32), dst.astype(np.int32), indptr), shape=shape)


def sknetwork_core(work: Workload) -> Any:
    from sknetwork.topology import get_core_decomposition

    return get_core_decomposition(_matrix(work))


def sknetwork_components(work: Workload) -> Any:
    from sknetwork.topology import get_connected_components

    return get_connected_components(_matrix(work))


def scipy_triangles(work: Workload) -> Any:
    matrix = _matrix(work)
    return np.asarray((matrix @ matrix).multiply(matrix).sum(axis=1)).ravel() // 2


def scipy_components(work: Workload) -> Any:
    from scipy.sparse.csgraph import connected_components

    return connected_components(_matrix(work), directed=True, connection="weak")[1]


def _graph_by_graph(work: Workload, question: Callable[[Any], Any]) -> Any:
    import networkx

    src, dst = _once(work)
    cut = np.searchsorted(src, work.ptr) if work.num_graphs > 1 else [0, len(src)]
    heads, tails = src.tolist(), dst.tolist()
    answers = []
    for g in range(work.num_graphs):
        graph = networkx.Graph()
        graph.add_nodes_from(range(work.ptr[g], work.ptr[g + 1]))
        edges = slice(cut[g], cut[g + 1])
        graph.add_edges_from(zip(heads[edges], tails[edges], strict=True))
        answers.append(question(graph))
    return answers


def networkx_core(work: Workload) -> Any:
    from networkx import core_number, onion_layers

    return _graph_by_graph(work, lambda graph: (core_number(graph), onion_layers(graph)))


def networkx_triangles(work: Workload) -> Any:
    from networkx import triangles

    return _graph_by_graph(work, triangles)


def networkx_components(work: Workload) -> Any:
    from networkx import connected_components

    return _graph_by_graph(work, lambda graph: list(connected_components(graph)))
