/** Pointer and keyboard on a drawing: point, move, draw, erase. */

import { inUnits } from "./canvas.js";
import { addVertex, moved, removeVertex, toggleEdge } from "./edit.js";
import { change, setGraphs, store } from "./store.js";
import { edgeWords, vertexWords } from "./words.js";

const inspect = document.getElementById("inspect");
const swap = (g, graph) => store.graphs.map((old, i) => (i === g ? graph : old));
const isVertex = (target) => target.isNode?.() && /^\d+$/.test(target.id());
const isEdge = (target) => target.isEdge?.() && !target.hasClass("rubber");
const ends = (edge) => [Number(edge.source().id()), Number(edge.target().id())];

let words = () => ""; // about what was pointed at last

/** Say again what was pointed at: the server may have answered since, or the round be another. */
export function retell() {
  inspect.textContent = words();
}

function point(sentence, g, ...ids) {
  const { n, title } = store.graphs[g]; // another graph numbers its vertices anew
  words = () => (store.graphs[g]?.n === n && store.graphs[g].title === title ? sentence(g, ...ids) : "");
  retell();
}

/** Announce what happened; `say(text, bad)` writes to the status line. */
export function listen(canvas, say) {
  const { cy, g, host } = canvas;
  let from = null; // the vertex an edge starts from, while drawing

  const edit = (graph, said) => {
    if (graph.n > store.about.limits.vertices) return say(`The explorer takes up to ${store.about.limits.vertices} vertices.`, true);
    setGraphs(swap(g, graph));
    return say(said);
  };
  const choose = (v) => {
    cy.nodes(".chosen").removeClass("chosen");
    from = v;
    if (v !== null) cy.getElementById(String(v)).addClass("chosen");
  };
  const join = (u, v) => {
    choose(null);
    const graph = toggleEdge(canvas.graph, u, v);
    edit(graph, graph.edges.length > canvas.graph.edges.length ? `Joined ${u} and ${v}.` : `Parted ${u} and ${v}.`);
  };
  const erase = (target) => {
    choose(null);
    if (isVertex(target)) edit(removeVertex(canvas.graph, Number(target.id())), `Removed vertex ${target.id()}.`);
    else if (isEdge(target)) join(...ends(target));
  };
  const add = (place) => edit(addVertex(canvas.graph, place), `Added vertex ${canvas.graph.n}.`);
  const tell = (target) => {
    if (isVertex(target)) point(vertexWords, g, Number(target.id()));
    else if (isEdge(target)) point(edgeWords, g, ...ends(target));
  };

  cy.on("mouseover", "node, edge", (event) => tell(event.target));
  cy.on("tap", (event) => {
    const { target } = event;
    tell(target);
    if (store.mode === "erase") erase(target);
    else if (store.mode === "draw") {
      if (target === cy) { choose(null); add(inUnits(event.position)); }
      else if (isVertex(target)) {
        const v = Number(target.id());
        if (from === null) { choose(v); say(`From vertex ${v}: click another to join or part them.`); }
        else if (from === v) choose(null);
        else join(from, v);
      }
    } else if (isVertex(target)) change({ focus: { graph: g, vertex: Number(target.id()) } });
  });
  cy.on("dragfree", "node", (event) => {
    setGraphs(swap(g, moved(canvas.graph, Number(event.target.id()), inUnits(event.target.position()))));
  });
  rubberBand(canvas, join);
  host.addEventListener("keydown", (event) => keys(event, canvas, { choose, join, add, edit, say, from: () => from }));
}

/** While drawing, drag from one vertex to another to join them. */
function rubberBand({ cy }, join) {
  let start = null;
  const under = (point) => cy.nodes().filter((node) => isVertex(node) && Math.hypot(node.position().x - point.x, node.position().y - point.y) < node.width() * 0.8)[0];
  cy.on("tapstart", "node", (event) => {
    if (store.mode === "draw" && isVertex(event.target)) start = event.target;
  });
  cy.on("tapdrag", (event) => {
    if (!start) return;
    let pointer = cy.getElementById("pointer");
    if (pointer.empty()) {
      pointer = cy.add({ data: { id: "pointer", fill: "#000", ink: "#000", text: "" }, classes: "pointer", position: { ...event.position } });
      cy.add({ data: { id: "rubber", source: start.id(), target: "pointer", fill: "#000" }, classes: "rubber" });
    }
    pointer.position({ ...event.position });
  });
  cy.on("tapend", (event) => {
    cy.getElementById("pointer").remove();
    const end = start && under(event.position);
    if (end && end !== start && end.id() !== start.id()) join(Number(start.id()), Number(end.id()));
    start = null;
  });
}

const DIRECTIONS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/** The nearest vertex in a direction, judged by distance and angle. */
function towards(graph, v, [dx, dy]) {
  const [x, y] = graph.at[v];
  let best = null;
  graph.at.forEach(([a, b], u) => {
    const along = (a - x) * dx + (b - y) * dy;
    const aside = Math.abs((a - x) * dy) + Math.abs((b - y) * dx);
    const cost = along + 2 * aside;
    if (u !== v && along > 0.01 && (best === null || cost < best.cost)) best = { u, cost };
  });
  return best?.u ?? v;
}

function keys(event, canvas, { choose, join, add, edit, say, from }) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const { g, graph } = canvas;
  const here = store.focus?.graph === g ? store.focus.vertex : null;
  const go = (v) => {
    change({ focus: { graph: g, vertex: v } });
    point(vertexWords, g, v);
    say(vertexWords(g, v));
  };
  const direction = DIRECTIONS[event.key];
  const key = event.key.toLowerCase();
  if (direction && graph.n) go(here === null ? 0 : towards(graph, here, direction));
  else if (key === "n") {
    const angle = graph.n * 2.4;
    const [x, y] = here === null ? [0, 0] : graph.at[here];
    add([x + Math.cos(angle), y + Math.sin(angle)]);
    change({ focus: { graph: g, vertex: graph.n } });
  } else if (key === "e" && here !== null) {
    if (from() === null) { choose(here); say(`From vertex ${here}: go to another and press E.`); }
    else if (from() !== here) { join(from(), here); change({ focus: { graph: g, vertex: here } }); }
  } else if (key === "delete" || key === "backspace") {
    if (here !== null) edit(removeVertex(graph, here), `Removed vertex ${here}.`);
  } else if (key === "escape") choose(null);
  else return;
  event.preventDefault();
}

