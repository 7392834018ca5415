/** Sentences about a vertex or an edge, for pointing, for the keyboard and for the mirror. */

import { picture } from "./picture.js";
import { store } from "./store.js";

const neighbours = (shown, v) =>
  shown.edges.filter((e) => e.u === v || e.v === v).map((e) => ({ to: e.u === v ? e.v : e.u, kind: e.kind }));

export function vertexWords(g, v) {
  const shown = picture(g);
  const vertex = shown.vertices[v];
  if (!vertex) return "";
  const near = neighbours(shown, v);
  const cross = near.filter((e) => e.kind === "cross").length;
  const called = vertex.name === String(v) ? `Vertex ${v}` : `Vertex ${v} (${vertex.name})`;
  if (vertex.part === undefined) return `${called}.`;
  const why = vertex.why ? `: ${vertex.why}` : "";
  const ring = vertex.border ? ` Border vertex, ${cross} cross edge${cross === 1 ? "" : "s"}.` : " Not on the border.";
  const colour = store.paint === "rounds" ? ` Colour ${vertex.number} in ${shown.painted}${vertex.odd ? ", which the graphs hold in different numbers" : ""}.` : "";
  return `${called} in part ${vertex.label}${why}.${ring}${colour}`;
}

export function edgeWords(g, u, v) {
  const shown = picture(g);
  const edge = shown.edges.find((e) => (e.u === u && e.v === v) || (e.u === v && e.v === u));
  if (!edge || edge.kind === "unknown") return "";
  const [a, b] = [shown.vertices[u], shown.vertices[v]];
  const where = edge.kind === "cross" ? `its ends lie in part ${a.label} and part ${b.label}` : `both ends lie in part ${a.label}`;
  return `Edge ${u} – ${v}, ${edge.kind}: ${where}.`;
}

export const neighbourWords = (shown, v) =>
  neighbours(shown, v).map((e) => `${e.to} (${e.kind})`).join(", ") || "none";
