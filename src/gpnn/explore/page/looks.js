/** How cytoscape draws vertices and edges, in the colours of the page's theme. */

const variable = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

/** Diameter of a vertex for a graph of so many. */
export const sizeOf = (n) => (n <= 24 ? 30 : n <= 60 ? 22 : n <= 150 ? 15 : 10);

export function looks(n) {
  const size = sizeOf(n);
  const thin = n > 150 ? 0.6 : 1;
  return [
    { selector: "node", style: {
      width: size, height: size, "background-color": "data(fill)", label: "data(text)",
      color: "data(ink)", "font-size": size * 0.42, "font-weight": 600, "text-valign": "center",
      "border-width": 1.5, "border-color": variable("sheet"), "min-zoomed-font-size": 5,
    } },
    { selector: "node.border", style: { "border-width": size * 0.15, "border-style": "double", "border-color": variable("ring") } },
    { selector: "node.odd", style: { "underlay-color": variable("warm"), "underlay-opacity": 0.28, "underlay-padding": size * 0.28, "underlay-shape": "ellipse" } },
    { selector: "edge", style: { width: 2 * thin, "line-color": variable("within"), "curve-style": "haystack" } },
    { selector: "edge.within", style: { width: 4 * thin, "line-color": "data(fill)", "line-opacity": 0.75 } },
    { selector: "edge.cross", style: { width: 2.2 * thin, "line-color": variable("cross"), "line-style": "dashed", "line-dash-pattern": [6, 4], "curve-style": "straight" } },
    { selector: ".ghost", style: { opacity: 0.1, label: "" } },
    { selector: "node.chosen", style: { "overlay-color": variable("accent"), "overlay-opacity": 0.35, "overlay-padding": 6, "overlay-shape": "ellipse" } },
    { selector: "node.focus", style: { "outline-width": 3, "outline-offset": 5, "outline-color": variable("accent") } },
    { selector: "node.pointer", style: { width: 1, height: 1, opacity: 0 } },
    { selector: "edge.rubber", style: { width: 2, "line-color": variable("accent"), "line-style": "dashed", "curve-style": "straight" } },
    { selector: "core", style: { "active-bg-opacity": 0, "selection-box-opacity": 0 } },
  ];
}
