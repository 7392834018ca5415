/** Stepping through the rounds of a method, and its verdict. */

import { change, rounds, store } from "./store.js";

const at = (id) => document.getElementById(id);
const PACE = 900;
let playing = null;

const last = () => (rounds()?.rounds.length ?? 1) - 1;
const step = (round) => change({ round: Math.max(0, Math.min(last(), round)), paint: "rounds" });

export function stop() {
  clearInterval(playing);
  playing = null;
  at("play").textContent = "Play";
}

function play() {
  if (playing) return stop();
  if (store.round >= last()) step(0);
  else change({ paint: "rounds" });
  at("play").textContent = "Pause";
  playing = setInterval(() => {
    step(store.round + 1);
    if (store.round >= last()) stop();
  }, PACE);
  return undefined;
}

export function listenPlayer() {
  at("round").addEventListener("input", (event) => { stop(); step(Number(event.target.value)); });
  at("first").addEventListener("click", () => { stop(); step(0); });
  at("back").addEventListener("click", () => { stop(); step(store.round - 1); });
  at("next").addEventListener("click", () => { stop(); step(store.round + 1); });
  at("play").addEventListener("click", play);
}

/** What the method says, in a sentence. */
export function sentence(run) {
  if (!run) return "";
  const settled = run.stable === null ? `not settled in the ${last()} rounds shown` : `settled in round ${run.stable}`;
  const now = run.rounds[Math.min(store.round, last())];
  const classes = new Set(now.flat()).size;
  if (run.distinguishes === null) return `${classes} colour${classes === 1 ? "" : "s"} in this round; ${settled}.`;
  if (!run.distinguishes) return `${run.title} never distinguishes these graphs (${settled}).`;
  const later = run.vertex_round > run.round ? ` by pairs of vertices, round ${run.vertex_round} by vertices` : "";
  return `${run.title} distinguishes them: round ${run.round} is the first${later}.`;
}

export function drawPlayer() {
  const run = rounds();
  const shown = store.paint === "rounds";
  const slider = at("round");
  slider.max = String(last());
  slider.value = String(store.round);
  slider.setAttribute("aria-valuetext", `round ${store.round} of ${last()}`);
  slider.disabled = !run;
  for (const id of ["first", "back", "play", "next"]) at(id).disabled = !run;
  at("where").textContent = run ? `round ${Math.min(store.round, last())} of ${last()}` : "";
  const telling = run?.vertex_round ?? null;
  at("tick").hidden = telling === null;
  if (telling !== null) at("tick").style.left = `calc(8px + (100% - 16px) * ${last() ? telling / last() : 0})`;
  at("verdict").textContent = sentence(run);
  at("verdict").classList.toggle("told", Boolean(run?.distinguishes) && shown && store.round >= telling);
}
