/** One drawing: a cytoscape canvas kept in step with a picture. */

import cytoscape from "./cytoscape.js";
import { looks, sizeOf } from "./looks.js";
import { inkOn, picture } from "./picture.js";
import { store } from "./store.js";

export const LARGEST = 1.7; // scale of a graph that would have room for more
const UNIT = 64; // screen units per unit of length of a layout

const onScreen = ([x, y]) => ({ x: x * UNIT, y: y * UNIT });
export const inUnits = ({ x, y }) => [Math.round((x / UNIT) * 1000) / 1000, Math.round((y / UNIT) * 1000) / 1000];
const edgeId = (u, v) => `e${u}-${v}`;

export class Canvas {
  constructor(host, g) {
    this.g = g;
    this.host = host;
    this.size = 0;
    this.cy = cytoscape({
      container: host, style: looks(0), minZoom: 0.15, maxZoom: 3,
      boxSelectionEnabled: false, selectionType: "single", autounselectify: true,
    });
  }

  get graph() {
    return store.graphs[this.g];
  }

  /** Add, remove and repaint until the canvas shows the graph. */
  draw() {
    const shown = picture(this.g);
    const { cy, graph } = this;
    if (sizeOf(this.size) !== sizeOf(graph.n) || !this.size) this.restyle();
    this.size = graph.n;
    cy.batch(() => {
      this.#structure(graph);
      for (const vertex of shown.vertices) {
        const node = cy.getElementById(String(vertex.id));
        const text = { number: vertex.number ?? "", name: vertex.name, none: "" }[store.labels];
        node.data({ fill: vertex.fill, ink: inkOn(vertex.fill), text: String(text) });
        node.toggleClass("border", vertex.border);
        node.toggleClass("odd", vertex.odd);
        node.toggleClass("ghost", !vertex.shown);
      }
      for (const edge of shown.edges) {
        const line = cy.getElementById(edgeId(edge.u, edge.v));
        line.data("fill", edge.fill ?? getComputedStyle(document.documentElement).getPropertyValue("--within").trim());
        line.toggleClass("within", edge.kind === "within");
        line.toggleClass("cross", edge.kind === "cross");
        line.toggleClass("ghost", !edge.shown);
      }
    });
    this.focus();
  }

  #structure(graph) {
    const { cy } = this;
    const wanted = new Set(graph.edges.map(([u, v]) => edgeId(u, v)));
    cy.edges().filter((edge) => !wanted.has(edge.id()) && !edge.hasClass("rubber")).remove();
    cy.nodes().filter((node) => !node.hasClass("pointer") && Number(node.id()) >= graph.n).remove();
    for (let v = 0; v < graph.n; v += 1) {
      const node = cy.getElementById(String(v));
      if (node.empty()) cy.add({ data: { id: String(v), fill: "#b9b9bf", ink: "#1b1b1f", text: "" }, position: onScreen(graph.at[v]) });
      else if (!node.grabbed()) node.position(onScreen(graph.at[v]));
    }
    for (const [u, v] of graph.edges) {
      if (cy.getElementById(edgeId(u, v)).empty()) {
        cy.add({ data: { id: edgeId(u, v), source: String(u), target: String(v), fill: "#b9b9bf" } });
      }
    }
  }

  restyle() {
    this.cy.style(looks(this.graph?.n ?? 0));
  }

  /** All of the graph in sight; gives the scale it took. */
  fit() {
    const { cy } = this;
    cy.resize();
    if (cy.nodes().length && cy.width()) cy.fit(undefined, 30);
    return cy.nodes().length ? cy.zoom() : LARGEST;
  }

  centre(zoom) {
    this.cy.zoom(zoom);
    this.cy.center();
  }

  /** Mark the vertex under the keyboard. */
  focus() {
    const { cy } = this;
    cy.nodes(".focus").removeClass("focus");
    if (store.focus?.graph === this.g) cy.getElementById(String(store.focus.vertex)).addClass("focus");
  }

  destroy() {
    this.cy.destroy();
  }
}
