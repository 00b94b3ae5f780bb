// Elements without markup: what a file or a part is called is text, and can be nothing else.

/** An element: properties, `on…` listeners, `aria…` and `data-…` attributes, then its children. */
export function h(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key === "color") made.style.setProperty("--c", value);
    else if (key in made && !key.includes("-")) made[key] = value;
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.flat().filter((child) => child || child === ""));
  return made;
}

const SVG = "http://www.w3.org/2000/svg";

/** One of the pictures at the top of index.html, for the eye only. */
export function icon(name) {
  const made = document.createElementNS(SVG, "svg");
  made.setAttribute("class", "icon");
  made.setAttribute("aria-hidden", "true");
  const use = document.createElementNS(SVG, "use");
  use.setAttribute("href", `#i-${name}`);
  made.append(use);
  return made;
}

/** A button with a picture and, where `label` is not only for those who cannot see it, words. */
export function button(name, label, onclick, { words = false, ...properties } = {}) {
  const described = words ? {} : { "aria-label": label, title: label };
  return h(
    "button",
    { type: "button", onclick, ...described, ...properties },
    icon(name),
    words ? label : null,
  );
}

export const $ = (selector) => document.querySelector(selector);

/** Call it at most once for all calls within `delay` milliseconds, after the last. */
export function debounced(act, delay) {
  let timer;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => act(...values), delay);
  };
}
