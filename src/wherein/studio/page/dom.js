// Builds elements without HTML strings, so that names of files and parts are always text, and never markup.

/** Create an element from properties, `on…` listeners, `aria-…` and `data-…` attributes, and children. */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "color") element.style.setProperty("--c", value);
    else if (key in element && !key.includes("-")) element[key] = value;
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child || child === ""));
  return element;
}

const SVG = "http://www.w3.org/2000/svg";

/** One of the symbols of index.html, hidden from screen readers. */
export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const use = document.createElementNS(SVG, "use");
  use.setAttribute("href", `#i-${name}`);
  svg.append(use);
  return svg;
}

/** A button that shows an icon only; the label is its tooltip and its accessible name. */
export function iconButton(name, label, onclick, properties = {}) {
  return h("button", { type: "button", onclick, "aria-label": label, title: label, ...properties }, icon(name));
}

export const $ = (selector) => document.querySelector(selector);

/** A function that calls `act` once, `delay` milliseconds after the last of several calls. */
export function debounced(act, delay) {
  let timer;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => act(...values), delay);
  };
}
