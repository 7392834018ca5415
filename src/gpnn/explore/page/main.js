/** Start of the page: ask what there is, restore or open graphs, keep all views in step. */

import { bare, get, placed, post } from "./api.js";
import { retell } from "./gestures.js";
import { listGallery, listenInputs, openEntry, slots } from "./inputs.js";
import { drawColours, drawLegend } from "./legend.js";
import { drawMirror } from "./mirror.js";
import { drawModel } from "./model.js";
import { drawPlayer, listenPlayer, stop } from "./player.js";
import { fromHash, toHash } from "./share.js";
import { canvases, drawHelp, drawStage, restyleStage } from "./stage.js";
import { canUndo, change, rounds, setGraphs, store, undo, watch } from "./store.js";
import { drawVerdicts, fits } from "./verdicts.js";

const at = (id) => document.getElementById(id);
const VARIANTS = ["cross", "edges", "pairs"];
let turn = 0;
const busy = () => at("mirror").ariaBusy === "true";

function say(text, bad = false) {
  at("status").textContent = text;
  at("status").classList.toggle("bad", bad);
}

/** Ask the server about the graphs. Until it has answered, drawing and mirror are out of date. */
async function refresh() {
  stop();
  turn += 1;
  const mine = turn;
  at("mirror").ariaBusy = "true";
  await analyse(mine);
  if (mine === turn) at("mirror").ariaBusy = "false";
}

/** The method shown first, then the others for the table; dropped when another turn has begun. */
async function analyse(mine) {
  const graphs = store.graphs.slice(0, store.graphs[1]?.n ? 2 : 1);
  if (!graphs[0]?.n) return change({ found: null });
  if (!fits(store.method)) return change({ method: "edges" });
  const common = { graphs: graphs.map(bare), scheme: store.scheme, d: store.d };
  const variant = VARIANTS.includes(store.method) ? store.method : "cross";
  try {
    const found = await post("analyse", { ...common, interactions: variant, methods: [store.method] });
    if (mine !== turn) return undefined;
    change({ found, round: Math.min(store.round, found.methods[store.method].rounds.length - 1) });
    const others = store.about.methods.map((m) => m.name).filter((name) => !(name in found.methods) && fits(name));
    if (graphs.length < 2 || !others.length) return undefined;
    const more = await post("analyse", { ...common, interactions: variant, methods: others });
    if (mine === turn) change({ found: { ...store.found, methods: { ...more.methods, ...store.found.methods } } });
  } catch (error) {
    if (mine === turn) {
      change({ found: null });
      say(error.message, true);
    }
  }
  return undefined;
}

watch((keys) => {
  const any = (...names) => names.some((name) => keys.has(name));
  if (any("graphs", "found", "paint", "round", "method", "view", "labels", "mode")) {
    drawStage(say);
    drawMirror();
    drawPlayer();
    drawColours();
    retell();
  }
  if (any("found", "graphs")) drawLegend();
  if (any("found", "graphs", "method", "about")) drawVerdicts();
  if (keys.has("focus")) canvases().forEach((canvas) => canvas.focus());
  if (keys.has("mode")) drawHelp();
  controls();
  if (any("graphs", "scheme", "d") || (keys.has("method") && (busy() || !rounds()))) refresh();
  if (keys.has("graphs")) { slots(); drawModel(); }
});

/** Controls say what the store says. */
function controls() {
  for (const id of ["scheme", "method", "labels", "d", "view"]) at(id).value = String(store[id]);
  for (const name of ["mode", "paint"]) document.querySelector(`input[name="${name}"][value="${store[name]}"]`).checked = true;
  at("undo").disabled = !canUndo();
}

function listen() {
  for (const id of ["scheme", "labels", "view"]) at(id).addEventListener("change", (event) => change({ [id]: event.target.value }));
  at("method").addEventListener("change", (event) => change({ method: event.target.value, round: 0, paint: "rounds" }));
  at("d").addEventListener("change", (event) => change({ d: Number(event.target.value) }));
  for (const name of ["mode", "paint"]) {
    for (const radio of document.querySelectorAll(`input[name="${name}"]`)) radio.addEventListener("change", () => change({ [name]: radio.value }));
  }
  at("undo").addEventListener("click", undo);
  at("share").addEventListener("click", share);
  at("theme").addEventListener("click", () => theme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
  addEventListener("hashchange", () => restore().catch((error) => say(error.message, true)));
  listenPlayer();
  listenInputs(say);
}

async function share() {
  const hash = await toHash();
  history.replaceState(null, "", hash);
  const copied = await navigator.clipboard.writeText(location.href).then(() => true, () => false);
  say(copied ? "The link is copied: it carries the graphs and every choice." : "The address above carries the graphs and every choice.");
}

async function restore() {
  const state = await fromHash(location.hash, store.about);
  if (state) setGraphs(state.graphs, state);
  return Boolean(state);
}

function theme(name) {
  document.documentElement.dataset.theme = name;
  at("theme").setAttribute("aria-pressed", String(name === "dark"));
  at("theme").textContent = name === "dark" ? "Light" : "Dark";
  restyleStage();
}

async function start() {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  theme(dark.matches ? "dark" : "light");
  dark.addEventListener("change", () => theme(dark.matches ? "dark" : "light"));
  const [about, { schemes }] = await Promise.all([get("start"), get("schemes")]);
  at("scheme").append(...schemes.map((s) => new Option(s.in_paper ? s.name : `${s.name} *`, s.name)));
  at("method").append(...about.methods.map((m) => new Option(m.title, m.name)));
  at("d").append(...Array.from({ length: about.limits.d }, (_, i) => new Option(String(i + 1), String(i + 1))));
  change({ about, mode: "move", ...(about.model ? { scheme: about.model.scheme } : {}) });
  listen();
  await listGallery();
  if (await restore()) return say("");
  if (about.graphs.length) setGraphs(await placed(about.graphs), about.graphs[0].names ? { labels: "name" } : {});
  else await openEntry("decalin");
  return say("");
}

start().catch((error) => say(error.message, true));
