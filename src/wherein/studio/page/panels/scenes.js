// The strip of scenes: thumbnails with the number of detections in each.
import * as api from "../api.js";
import { loadedSceneBitmap } from "../bitmaps.js";
import { $, h, iconButton } from "../dom.js";
import { reportError } from "../status.js";
import { getState, update, watch } from "../store.js";

const SIDE = 192; // pixels of a thumbnail: twice its size on the page, for screens of high resolution

const strip = $("#scenes");
const cards = new Map();

function thumbnail(scene) {
  const canvas = h("canvas", { "aria-hidden": "true" });
  const scale = Math.min(1, SIDE / Math.max(scene.width, scene.height));
  canvas.width = Math.max(1, Math.round(scene.width * scale));
  canvas.height = Math.max(1, Math.round(scene.height * scale));
  loadedSceneBitmap(scene.id).then(
    (bitmap) => bitmap && canvas.getContext("2d").drawImage(bitmap, 0, 0, canvas.width, canvas.height),
  );
  return canvas;
}

function cardOf(scene) {
  if (cards.has(scene.id)) return cards.get(scene.id);
  const count = h("span", { className: "count" });
  const select = h(
    "button",
    { type: "button", className: "scene", onclick: () => update({ scene: scene.id, highlight: null }) },
    thumbnail(scene),
    count,
    h("span", { className: "name" }, scene.name),
  );
  const remove = iconButton("close", `Remove ${scene.name}`, () => removeScene(scene.id), {
    className: "quiet drop",
  });
  const card = { node: h("li", {}, select, remove), select, count };
  cards.set(scene.id, card);
  return card;
}

async function removeScene(id) {
  try {
    await api.removeScene(id);
  } catch (error) {
    reportError(error);
  }
  cards.delete(id);
  update({ scenes: getState().scenes.filter((scene) => scene.id !== id) });
}

function show({ scenes, scene, results }) {
  const nodes = scenes.map((one) => {
    const card = cardOf(one);
    const result = results.get(one.id);
    const found = result?.data?.detections.length;
    card.select.setAttribute("aria-pressed", String(one.id === scene));
    card.count.textContent = result?.error ? "!" : (found ?? "…");
    card.count.className = `count ${result?.error ? "bad" : found ? "some" : ""}`;
    card.select.setAttribute(
      "aria-label",
      `${one.name}, ${found === undefined ? "not searched yet" : `detections: ${found}`}`,
    );
    return card.node;
  });
  // Replacing nodes that are in place would lose the keyboard focus.
  if (nodes.some((node, k) => strip.children[k] !== node) || strip.children.length !== nodes.length)
    strip.replaceChildren(...nodes);
}

watch(["scenes", "scene", "results"], show);
