/** The answer of a trained model, and what every part adds to it. */

import { post } from "./api.js";
import { store } from "./store.js";

const at = (id) => document.getElementById(id);
const make = (kind, text = "", className = "") => Object.assign(document.createElement(kind), { textContent: text, className });
const sign = (value) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(3)}`;
let asked = 0;

function bar(value, reach) {
  const track = make("div", "", "bar");
  const fill = make("i", "", value < 0 ? "against" : "");
  const half = (50 * Math.abs(value)) / (reach || 1);
  fill.style.left = `${value < 0 ? 50 - half : 50}%`;
  fill.style.width = `${half}%`;
  track.append(fill);
  return track;
}

function answered(graph, { scores, explanation, notes }) {
  const box = document.createElement("div");
  box.append(make("h3", graph.title));
  const said = scores.map(({ name, score }) => `${name}: ${explanation.kind === "value" ? score.toPrecision(4) : score.toFixed(3)}`);
  box.append(make("p", said.join(" · ")));
  const table = document.createElement("table");
  const head = table.createTHead().insertRow();
  for (const word of [`part (${explanation.scheme})`, "vertices", `adds to the ${explanation.kind} of ${explanation.output}`, ""]) head.append(make("th", word));
  const reach = Math.max(...explanation.parts.map((part) => Math.abs(part.shapley)));
  const body = table.createTBody();
  for (const part of explanation.parts) {
    const row = body.insertRow();
    row.append(make("td", part.label), make("td", String(part.vertices)), make("td", sign(part.shapley)));
    row.insertCell().append(bar(part.shapley, reach));
  }
  box.append(table, make("p", `${sign(explanation.empty)} without parts, ${sign(explanation.full)} with all.`, "note"));
  for (const note of notes) box.append(make("p", note, "note"));
  return box;
}

const card = ({ n, edges, node_labels, edge_labels, smiles }) => ({ n, edges, node_labels, edge_labels, smiles });

/** Ask for every graph in turn; what a model cannot read is said in its place. */
export async function drawModel() {
  const model = store.about.model;
  at("model").hidden = !model;
  if (!model) return;
  const partitioned = `trained on the scheme ${model.scheme} with interactions ${model.interactions}`;
  at("about").textContent = `${model.name}: ${model.task}, ${model.gpnn ? partitioned : "trained without a partition"}.`;
  asked += 1;
  const turn = asked;
  const boxes = [];
  for (const graph of store.graphs.filter((one) => one.n)) {
    try {
      boxes.push(answered(graph, await post("predict", { graph: card(graph) })));
    } catch (error) {
      boxes.push(make("p", `${graph.title}: ${error.message}`, "note"));
    }
  }
  if (turn === asked) at("answers").replaceChildren(...boxes);
}
