/** The table: method × distinguishes, first round, by what. */

import { change, store } from "./store.js";

const at = (id) => document.getElementById(id);
const cell = (text, className = "") => Object.assign(document.createElement("td"), { textContent: text, className });

function head(text, act) {
  const made = Object.assign(document.createElement("th"), { scope: "row" });
  if (!act) { made.textContent = text; return made; }
  const button = Object.assign(document.createElement("button"), { type: "button", textContent: text });
  button.addEventListener("click", act);
  made.append(button);
  return made;
}

function line({ name, title }) {
  const row = document.createElement("tr");
  const found = store.found?.methods[name];
  row.classList.toggle("chosen", name === store.method);
  row.append(head(title, () => change({ method: name, paint: "rounds", round: found?.vertex_round ?? 0 })));
  if (!found) row.append(cell(fits(name) ? "…" : "not run"), cell(""), cell(fits(name) ? "" : `above ${store.about.limits.pairwise} vertices`, "by"));
  else row.append(cell(found.distinguishes ? "yes" : "no", found.distinguishes ? "yes" : ""), cell(found.round ?? ""), cell(found.witness ?? "", "by"));
  return row;
}

/** Whether a method is run on graphs of this size. */
export const fits = (name) =>
  !["pairs", "3-wl"].includes(name) || store.graphs.every((graph) => graph.n <= store.about.limits.pairwise);

export function drawVerdicts() {
  const pair = store.graphs.length === 2 && store.graphs.every((graph) => graph.n);
  at("comparison").hidden = !pair;
  if (!pair) return;
  at("under").textContent = `GPNN under the scheme ${store.scheme}, d = ${store.d}. Structure alone counts.`;
  const rows = store.about.methods.map(line);
  const whole = document.createElement("tr");
  whole.className = "whole";
  const same = store.found?.isomorphic;
  whole.append(head("Isomorphism"), cell(same === null || same === undefined ? "unknown" : same ? "no" : "yes", same === false ? "yes" : ""), cell(""), cell(same ? "one graph, drawn twice" : same === false ? "not isomorphic" : "", "by"));
  at("verdicts").tBodies[0].replaceChildren(...rows, whole);
}
