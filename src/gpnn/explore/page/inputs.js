/** Ways to a graph: gallery, paste, SMILES, file, a blank sheet. */

import { get, placed, post } from "./api.js";
import { blank } from "./edit.js";
import { setGraphs, store } from "./store.js";

const at = (id) => document.getElementById(id);
const chosen = (name) => document.querySelector(`input[name="${name}"]:checked`).value;
const WANTED = {
  edges: ["Two names a line, such as 0 1", "0 1\n1 2\n2 0\n2 3"],
  graph6: ["One line of graph6", "IhEB@?WC_"],
  smiles: ["A molecule", "c1ccc2ccccc2c1"],
};
let entries = [];
let newest = 0; // of several openings under way, the last wins
let opened = null; // the request a stepper through many graphs repeats

/** Put one graph where the person said: alone, or beside another one. */
function put(graph) {
  const [left, right] = store.graphs;
  const both = { alone: [graph], left: [graph, right], right: [left, graph] }[chosen("slot")];
  const graphs = both.filter(Boolean);
  setGraphs(graphs, { round: 0, view: "whole", labels: graph.names ? "name" : store.labels });
}

export function slots() {
  const two = store.graphs.length === 2;
  at("second").textContent = two ? "Remove second" : "Add a second";
}

/** The gallery says nothing of a graph that is not from it. */
function ownGraph() {
  at("gallery").value = "";
  at("story").textContent = "";
}

async function read(request, say) {
  try {
    const { graph, count, index, notes } = await post("parse", request);
    opened = count > 1 ? request : null;
    at("many").hidden = !opened;
    at("index").max = String(count - 1);
    at("index").value = String(index);
    at("count").textContent = String(count);
    put((await placed([graph]))[0]);
    ownGraph();
    say([`Read ${graph.title}.`, ...notes].join(" "));
  } catch (error) {
    say(error.message, true);
  }
}

export async function listGallery() {
  ({ entries } = await get("gallery"));
  const groups = { "Pairs to compare": entries.filter((e) => e.graphs.length === 2), "Single graphs": entries.filter((e) => e.graphs.length === 1) };
  for (const [label, list] of Object.entries(groups)) {
    const group = Object.assign(document.createElement("optgroup"), { label });
    group.append(...list.map((e) => new Option(e.title, e.id)));
    at("gallery").append(group);
  }
}

/** Open an entry of the gallery; a pair takes both places. */
export async function openEntry(id) {
  const entry = entries.find((one) => one.id === id);
  if (!entry) return;
  newest += 1;
  const mine = newest;
  const graphs = await placed(entry.graphs);
  if (mine !== newest) return;
  at("gallery").value = id;
  at("story").textContent = entry.story;
  if (graphs.length === 2) setGraphs(graphs, { round: 0, view: "whole", labels: "number" });
  else put(graphs[0]);
}

export function listenInputs(say) {
  at("gallery").addEventListener("change", async (event) => {
    const title = event.target.selectedOptions[0].textContent;
    try {
      say(`Opening ${title} …`);
      await openEntry(event.target.value);
      say(`Opened ${title}.`);
    } catch (error) {
      say(error.message, true);
    }
  });
  const hint = () => {
    const [wanted, example] = WANTED[chosen("kind")];
    at("wanted").textContent = wanted;
    at("text").placeholder = example;
    if (chosen("kind") === "smiles" && !store.about.smiles) say("SMILES need RDKit: pip install 'gpnn[mol]'.", true);
  };
  for (const radio of document.querySelectorAll('input[name="kind"]')) radio.addEventListener("change", hint);
  hint();
  at("typed").addEventListener("submit", (event) => {
    event.preventDefault();
    read({ kind: chosen("kind"), text: at("text").value }, say);
  });
  at("file").addEventListener("change", async (event) => {
    const [file] = event.target.files;
    if (!file) return;
    if (file.size > 800_000) say(`${file.name} has ${file.size.toLocaleString()} bytes, and 800,000 are the limit.`, true);
    else await read({ kind: "file", name: file.name, text: await file.text() }, say);
    event.target.value = "";
  });
  at("index").addEventListener("change", (event) => {
    if (opened) read({ ...opened, index: Number(event.target.value) }, say);
  });
  at("blank").addEventListener("click", () => {
    document.querySelector('input[name="mode"][value="draw"]').click();
    put(blank());
    ownGraph();
    say("A blank sheet: click it to add vertices.");
  });
  at("second").addEventListener("click", () => {
    const two = store.graphs.length === 2;
    setGraphs(two ? store.graphs.slice(0, 1) : [store.graphs[0], { ...store.graphs[0], title: `${store.graphs[0].title}, copy` }]);
    document.querySelector(`input[name="slot"][value="${two ? "alone" : "right"}"]`).checked = true;
    say(two ? "One graph." : "A copy to the right: edit it, or open another there.");
  });
}
