/** What one drawing shows, computed once for the canvas and for its accessible mirror. */

import { rounds, store } from "./store.js";

const GREY = "#b9b9bf";

/** Which numbers of colours the two graphs hold in different numbers of vertices. */
export function oddColours(at) {
  const odd = new Set();
  if (!at || at.length < 2) return odd;
  const count = new Map();
  at.forEach((own, g) => own.forEach((c) => count.set(c, (count.get(c) ?? 0) + (g ? -1 : 1))));
  for (const [colour, excess] of count) if (excess) odd.add(colour);
  return odd;
}

export function picture(g) {
  const graph = store.graphs[g];
  const found = store.found?.graphs[g];
  const parts = store.found?.parts ?? [];
  const run = store.paint === "rounds" ? rounds() : null;
  const at = run?.rounds[Math.min(store.round, run.rounds.length - 1)];
  const odd = oddColours(at);
  const only = store.view.startsWith("part:") ? Number(store.view.slice(5)) : null;

  const vertices = Array.from({ length: graph.n }, (_, v) => {
    const part = found?.part[v];
    const colour = at ? at[g]?.[v] : part;
    const palette = run ? run.palette : parts.map((p) => p.colour);
    const border = found?.border[v] ?? false;
    const shown = (store.view !== "boundary" || border) && (only === null || part === only);
    const name = graph.names?.[v] ?? String(v);
    return {
      id: v, name, part, border, shown,
      label: parts[part]?.label ?? "",
      why: found?.why[v] ?? "",
      number: colour === undefined ? null : colour + 1,
      fill: palette[colour] ?? GREY,
      odd: odd.has(colour),
    };
  });

  const kinds = new Map((found?.edges ?? []).map(({ ends, kind }) => [ends.join("-"), kind]));
  const edges = graph.edges.map(([u, v]) => {
    const kind = kinds.get(`${Math.min(u, v)}-${Math.max(u, v)}`) ?? "unknown";
    const shown = vertices[u].shown && vertices[v].shown;
    return { u, v, kind, shown, fill: kind === "within" && !run ? vertices[u].fill : null };
  });
  const painted = run ? `${run.title}, round ${Math.min(store.round, run.rounds.length - 1)}` : "parts";
  return { title: graph.title, painted, vertices, edges };
}

/** Ink that can be read on a colour. */
export function inkOn(hex) {
  const [r, g, b] = [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
  return 0.299 * r + 0.587 * g + 0.114 * b > 140 ? "#1b1b1f" : "#ffffff";
}
