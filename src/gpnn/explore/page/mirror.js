/** The drawing as tables: what the canvas was told to show, for readers of the screen. */

import { picture } from "./picture.js";
import { store } from "./store.js";
import { neighbourWords } from "./words.js";

const HEADS = ["vertex", "name", "part", "colour", "border", "edges"];
const root = document.getElementById("mirror");

const cell = (text, kind = "td") => Object.assign(document.createElement(kind), { textContent: text });

function table(g) {
  const shown = picture(g);
  const made = document.createElement("table");
  made.id = `mirror-${g}`;
  const visible = shown.vertices.filter((vertex) => vertex.shown);
  const edges = shown.edges.filter((edge) => edge.shown);
  const many = (kind) => edges.filter((edge) => edge.kind === kind).length;
  made.createCaption().textContent =
    `${shown.title}: ${visible.length} vertices, ${many("within")} within edges, ` +
    `${many("cross")} cross edges shown; coloured by ${shown.painted}`;
  const head = made.createTHead().insertRow();
  for (const word of HEADS) head.append(cell(word, "th"));
  const body = made.createTBody();
  for (const vertex of visible) {
    const row = body.insertRow();
    const colour = vertex.number === null ? "" : `${vertex.number} ${vertex.fill}${vertex.odd ? " differs" : ""}`;
    const words = [vertex.id, vertex.name, vertex.label, colour, vertex.border ? "yes" : "no", neighbourWords(shown, vertex.id)];
    for (const word of words) row.append(cell(String(word)));
  }
  return made;
}

export function drawMirror() {
  root.replaceChildren(...store.graphs.map((_, g) => table(g)));
}
