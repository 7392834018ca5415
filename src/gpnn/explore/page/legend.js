/** Legends: parts of the cut, kinds of edges, colours of a round. */

import { inkOn, oddColours } from "./picture.js";
import { change, rounds, store } from "./store.js";

const at = (id) => document.getElementById(id);
const named = (label, scheme) => (/^[\d, ]+$/.test(label) ? `${scheme} ${label}` : label);
const bars = (counts) => counts.join(" | ");

function entry(colour, number, text, many, odd) {
  const item = document.createElement("li");
  const dot = Object.assign(document.createElement("i"), { className: "dot", textContent: number });
  dot.style.background = colour;
  dot.style.color = inkOn(colour);
  const words = Object.assign(document.createElement("span"), { textContent: text });
  const count = Object.assign(document.createElement("span"), { className: "many", textContent: many });
  item.classList.toggle("odd", Boolean(odd));
  item.append(dot, words, count);
  return item;
}

export function drawLegend() {
  const found = store.found;
  at("definition").textContent = found?.scheme.definition ?? "";
  const parts = found?.parts ?? [];
  at("parts").replaceChildren(...parts.map((p) => entry(p.colour, p.part + 1, named(p.label, found.scheme.name), bars(p.counts))));
  const graphs = found?.graphs ?? [];
  const kind = (name) => bars(graphs.map((g) => g.edges.filter((e) => e.kind === name).length));
  at("within").textContent = kind("within");
  at("cross").textContent = kind("cross");
  at("border").textContent = bars(graphs.map((g) => g.boundary.vertices.length));
  views(parts);
}

function views(parts) {
  const select = at("view");
  const wanted = ["whole", "boundary", ...parts.map((p) => `part:${p.part}`)];
  [...select.options].slice(2).forEach((option) => option.remove());
  parts.forEach((p) => select.add(new Option(`only part ${p.label}`, `part:${p.part}`)));
  if (!parts.length) return;
  if (wanted.includes(store.view)) select.value = store.view;
  else change({ view: "whole" });
}

/** The colours of the round shown, with their numbers of vertices left and right. */
export function drawColours() {
  const run = store.paint === "rounds" ? rounds() : null;
  const list = at("colours");
  list.hidden = !run;
  if (!run) return;
  const now = run.rounds[Math.min(store.round, run.rounds.length - 1)];
  const odd = oddColours(now);
  const numbers = [...new Set(now.flat())].sort((a, b) => a - b);
  list.replaceChildren(
    ...numbers.map((c) =>
      entry(run.palette[c], c + 1, "", bars(now.map((own) => own.filter((x) => x === c).length)) + (odd.has(c) ? " ≠" : ""), odd.has(c)),
    ),
  );
}
