// The strip of scenes: thumbnails with the number of detections in each scene, and the totals.
import * as api from "../api.js";
import { loadedSceneBitmap } from "../bitmaps.js";
import { currentResult, totalsText } from "../detection.js";
import { $, h, iconButton } from "../dom.js";
import { reportError } from "../status.js";
import { getState, update, watch } from "../store.js";

const SIDE = 192; // pixels of a thumbnail: twice its size on the page, for screens of high resolution

const strip = $("#scenes");
const cards = new Map();
let inView = null; // the scene that was scrolled into view, so that the user can scroll away from it

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

/** The state of a scene: { text, label, kind } for its card. */
function progressOf(state, id) {
  const result = currentResult(state, id);
  const found = result?.data?.detections.length;
  if (result?.error) return { text: "!", label: "not searched", kind: "bad" };
  if (result) return { text: String(found), label: `detections: ${found}`, kind: found ? "some" : "" };
  if (state.searching === id) return { text: "searching", label: "searching", kind: "busy" };
  return { text: "waiting", label: "waiting", kind: "" };
}

/** A card for a scene that is not uploaded yet. */
const uploadCard = (name, index) =>
  h(
    "li",
    { className: "upload" },
    h("span", { className: "count" }, index ? "waiting" : "loading"),
    h("span", { className: "name" }, name),
  );

function show(state) {
  const { scenes, scene, uploads } = state;
  const nodes = scenes.map((one) => {
    const { node, select, count } = cardOf(one);
    const { text, label, kind } = progressOf(state, one.id);
    select.setAttribute("aria-pressed", String(one.id === scene));
    select.setAttribute("aria-label", `${one.name}, ${label}`);
    count.textContent = text;
    count.className = `count ${kind}`;
    return node;
  });
  // Replacing nodes that are in place would lose the keyboard focus.
  const isInPlace = nodes.every((node, k) => strip.children[k] === node);
  if (uploads.length || !isInPlace || strip.children.length !== nodes.length)
    strip.replaceChildren(...nodes, ...uploads.map(uploadCard));
  if (scene !== inView) cards.get(scene)?.node.scrollIntoView({ block: "nearest", inline: "nearest" });
  inView = scene;
  $("#totals").textContent = totalsText(state);
  $("#totals").hidden = !$("#totals").textContent;
}

watch(["scenes", "scene", "results", "searching", "uploads", "template", "settings"], show);
