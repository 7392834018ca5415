/** Questions to the server. A refusal becomes an Error with the server's words. */

async function answer(response) {
  const document = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(document.error ?? `The server answered ${response.status}.`);
  return document;
}

async function send(path, options) {
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new Error("The server does not answer. Is 'gpnn explore' still running?");
  }
  return answer(response);
}

export const get = (path) => send(`api/${path}`);

export const post = (path, document) =>
  send(`api/${path}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(document),
  });

/** The structure of a graph alone. */
export const bare = ({ n, edges }) => ({ n, edges });

/** The graphs with positions, asked for where they have none. */
export const placed = (graphs) =>
  Promise.all(graphs.map(async (graph) => (graph.at ? graph : { ...graph, ...(await post("place", { graph: bare(graph) })) })));
