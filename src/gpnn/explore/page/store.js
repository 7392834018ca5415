/** What the page shows: graphs, choices, and what the server found. One object, watched. */

export const store = {
  graphs: [],        // {title, n, edges, at, names?, node_labels?, edge_labels?, smiles?}
  scheme: "core-degree",
  d: 1,
  method: "pairs",
  round: 0,
  paint: "parts",    // or "rounds"
  view: "whole",     // or "boundary", or "part:3"
  labels: "number",  // or "name", "none"
  mode: "move",      // or "draw", "erase"
  found: null,       // the answer of /api/analyse, methods merged as they come
  about: null,       // the answer of /api/start
  focus: null,       // {graph, vertex} under the keyboard
};

const watchers = [];
const past = [];
const REMEMBERED = 60;

/** Call `react(keys)` after every change, with the set of what changed. */
export function watch(react) {
  watchers.push(react);
}

export function change(patch) {
  Object.assign(store, patch);
  const keys = new Set(Object.keys(patch));
  for (const react of watchers) react(keys);
}

/** Other graphs, remembered for undo. */
export function setGraphs(graphs, more = {}) {
  past.push(store.graphs);
  if (past.length > REMEMBERED) past.shift();
  change({ graphs, focus: null, ...more });
}

export const canUndo = () => past.length > 1;

export function undo() {
  if (canUndo()) change({ graphs: past.pop(), focus: null });
}

/** The rounds of the method chosen, once they are there. */
export const rounds = () => store.found?.methods[store.method] ?? null;
