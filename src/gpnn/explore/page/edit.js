/** Pure edits of a graph: each gives a new one. An edited graph loses its atoms and bonds. */

export const blank = () => ({ title: "drawing", n: 0, edges: [], at: [] });

const same = (edge, u, v) => (edge[0] === u && edge[1] === v) || (edge[0] === v && edge[1] === u);

function edited(graph, patch) {
  const { node_labels, edge_labels, smiles, ...rest } = graph;
  const title = /drawing|edited/.test(graph.title) ? graph.title : `${graph.title}, edited`;
  return { ...rest, title, ...patch };
}

export function addVertex(graph, point) {
  const names = graph.names && { names: [...graph.names, String(graph.n)] };
  return edited(graph, { n: graph.n + 1, at: [...graph.at, point], ...names });
}

export function toggleEdge(graph, u, v) {
  if (u === v) return graph;
  const kept = graph.edges.filter((edge) => !same(edge, u, v));
  const joined = kept.length < graph.edges.length ? kept : [...kept, [Math.min(u, v), Math.max(u, v)]];
  return edited(graph, { edges: joined });
}

export function removeVertex(graph, v) {
  const less = (u) => (u > v ? u - 1 : u);
  const without = (list) => list.filter((_, u) => u !== v);
  const edges = graph.edges.filter((edge) => !edge.includes(v)).map((edge) => edge.map(less));
  const names = graph.names && { names: without(graph.names) };
  return edited(graph, { n: graph.n - 1, at: without(graph.at), edges, ...names });
}

/** Vertices moved; nothing else changes. */
export const moved = (graph, v, point) => ({ ...graph, at: graph.at.map((p, u) => (u === v ? point : p)) });
