/** The sheets with the drawings: as many as there are graphs. */

import { Canvas, LARGEST } from "./canvas.js";
import { bare, post } from "./api.js";
import { listen } from "./gestures.js";
import { oddColours } from "./picture.js";
import { rounds, setGraphs, store } from "./store.js";

const stage = document.getElementById("stage");
const HELP = {
  move: "Drag vertices to move them. Keys in the drawing: arrows select, N adds, E joins, Delete removes.",
  draw: "Click the sheet for a vertex; click two vertices, or drag from one to the other, for an edge.",
  erase: "Click a vertex or an edge to remove it.",
};
const SIDE = ["Left", "Right"];
const sheets = [];

function button(text, act) {
  const made = Object.assign(document.createElement("button"), { type: "button", textContent: text });
  made.addEventListener("click", act);
  return made;
}

function sheet(g, say) {
  const root = Object.assign(document.createElement("article"), { className: "sheet" });
  const head = document.createElement("header");
  const title = document.createElement("h3");
  const note = Object.assign(document.createElement("span"), { className: "note" });
  const host = Object.assign(document.createElement("div"), { className: "canvas", tabIndex: 0 });
  host.setAttribute("role", "application");
  host.setAttribute("aria-describedby", "help");
  const replace = (graph) => setGraphs(store.graphs.map((old, i) => (i === g ? graph : old)));
  const tidy = async () => {
    try {
      if (store.graphs[g].n) replace({ ...store.graphs[g], at: (await post("place", { graph: bare(store.graphs[g]) })).at });
      fitAll();
    } catch (error) {
      say(error.message, true);
    }
  };
  const remove = button("Remove", () => setGraphs(store.graphs.filter((_, i) => i !== g)));
  const tools = Object.assign(document.createElement("span"), { className: "tools" });
  tools.append(button("Tidy", tidy), remove);
  head.append(title, note, tools);
  root.append(head, host);
  stage.append(root);
  const canvas = new Canvas(host, g);
  listen(canvas, say);
  new ResizeObserver(fitAll).observe(host);
  return { root, title, note, host, canvas, remove, known: null };
}

/** Draw every graph; fit those that were loaded anew. */
export function drawStage(say) {
  while (sheets.length > store.graphs.length) {
    const gone = sheets.pop();
    gone.canvas.destroy();
    gone.root.remove();
  }
  while (sheets.length < store.graphs.length) sheets.push(sheet(sheets.length, say));
  stage.classList.toggle("two", sheets.length === 2);
  const run = store.paint === "rounds" ? rounds() : null;
  const told = run && oddColours(run.rounds[Math.min(store.round, run.rounds.length - 1)]).size > 0;
  sheets.forEach((one, g) => {
    const graph = store.graphs[g];
    one.title.textContent = graph.title;
    one.note.textContent = `${graph.n} vertices, ${graph.edges.length} edges`;
    one.host.setAttribute("aria-label", `${SIDE[g]} drawing: ${graph.title}`);
    one.host.classList.toggle("draw", store.mode === "draw");
    one.host.classList.toggle("erase", store.mode === "erase");
    one.root.classList.toggle("told", Boolean(told));
    one.remove.hidden = sheets.length < 2;
    one.canvas.cy.autoungrabify(store.mode !== "move");
    one.canvas.draw();
  });
  if (sheets.some((one, g) => one.known !== store.graphs[g].title)) fitAll();
  sheets.forEach((one, g) => { one.known = store.graphs[g].title; });
}

/** All graphs in sight, on one scale. */
function fitAll() {
  const scale = Math.min(LARGEST, ...sheets.map((one) => one.canvas.fit()));
  for (const one of sheets) one.canvas.centre(scale);
}

export function drawHelp() {
  document.getElementById("help").textContent = HELP[store.mode];
}

/** After the theme changed: every colour anew. */
export function restyleStage() {
  for (const one of sheets) {
    one.canvas.restyle();
    one.canvas.draw();
  }
}

/** The canvases, for tests that must know where a vertex is on the screen. */
export const canvases = () => sheets.map((one) => one.canvas);
