/** The whole state in the address: JSON, deflated, in base64url after `#s=`. */

import { store } from "./store.js";

/** What is kept beside the graphs, and what a value of it looks like. */
const KEPT = {
  scheme: (value) => typeof value === "string",
  d: (value, { limits }) => whole(value, limits.d + 1) && value > 0,
  method: (value, { methods }) => methods.some((method) => method.name === value),
  round: (value) => whole(value, 10_000),
  paint: (value) => ["parts", "rounds"].includes(value),
  view: (value) => /^(whole|boundary|part:\d+)$/.test(value),
  labels: (value) => ["number", "name", "none"].includes(value),
};
const MARK = "#s=";

async function through(stream, bytes) {
  const piped = new Blob([bytes]).stream().pipeThrough(stream);
  return new Uint8Array(await new Response(piped).arrayBuffer());
}

export async function toHash() {
  const state = Object.fromEntries(Object.keys(KEPT).map((key) => [key, store[key]]));
  const bytes = new TextEncoder().encode(JSON.stringify({ ...state, graphs: store.graphs }));
  const packed = await through(new CompressionStream("deflate-raw"), bytes);
  const letters = Array.from(packed, (byte) => String.fromCharCode(byte)).join("");
  return MARK + btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** The state of an address, or null where it carries none; throws where it is damaged. */
export async function fromHash(hash, about) {
  if (!hash.startsWith(MARK)) return null;
  try {
    const letters = atob(hash.slice(MARK.length).replaceAll("-", "+").replaceAll("_", "/"));
    const packed = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
    const text = new TextDecoder().decode(await through(new DecompressionStream("deflate-raw"), packed));
    const state = JSON.parse(text);
    const graphs = state.graphs.map((graph) => checked(graph, about.limits));
    if (![1, 2].includes(graphs.length)) throw new Error("graphs");
    const good = Object.entries(KEPT).filter(([key, looksRight]) => looksRight(state[key], about));
    return { ...Object.fromEntries(good.map(([key]) => [key, state[key]])), graphs };
  } catch {
    throw new Error("The link is damaged: it does not hold graphs. Ask for it again.");
  }
}

const whole = (value, most) => Number.isInteger(value) && value >= 0 && value < most;

function checked(graph, limits) {
  const { title, n, edges, at, names } = graph;
  const good =
    whole(n, limits.vertices + 1) && edges.length <= limits.edges &&
    edges.every((edge) => edge.length === 2 && edge.every((v) => whole(v, n))) &&
    at.length === n && at.every((p) => p.length === 2 && p.every(Number.isFinite)) &&
    (names === undefined || (names.length === n && names.every((name) => typeof name === "string")));
  if (!good) throw new Error("graph");
  return { ...graph, title: String(title).slice(0, 200) };
}
