// The scenes to look in, as small pictures with the number of what was found in each.
import * as api from "../api.js";
import { $, button, h } from "../dom.js";
import { sceneReady } from "../pictures.js";
import { complain } from "../status.js";
import { now, update, watch } from "../store.js";

const SIDE = 192; // pixels of a small picture, twice what is seen

const strip = $("#scenes");
const cards = new Map();

function cardOf(scene) {
  if (cards.has(scene.id)) return cards.get(scene.id);
  const canvas = h("canvas", { "aria-hidden": "true" });
  const scale = Math.min(1, SIDE / Math.max(scene.width, scene.height));
  canvas.width = Math.max(1, Math.round(scene.width * scale));
  canvas.height = Math.max(1, Math.round(scene.height * scale));
  const count = h("span", { className: "count" });
  const choose = h(
    "button",
    { type: "button", className: "scene", onclick: () => update({ scene: scene.id, highlight: null }) },
    canvas,
    count,
    h("span", { className: "name" }, scene.name),
  );
  const card = {
    node: h(
      "li",
      {},
      choose,
      button("close", `Remove ${scene.name}`, () => drop(scene.id), { className: "quiet drop" }),
    ),
    choose,
    count,
  };
  cards.set(scene.id, card);
  sceneReady(scene.id).then(
    (bitmap) => bitmap && canvas.getContext("2d").drawImage(bitmap, 0, 0, canvas.width, canvas.height),
  );
  return card;
}

async function drop(id) {
  try {
    await api.dropScene(id);
  } catch (error) {
    complain(error);
  }
  cards.delete(id);
  update({ scenes: now().scenes.filter((scene) => scene.id !== id) });
}

function show({ scenes, scene, results }) {
  const nodes = scenes.map((one) => {
    const card = cardOf(one);
    const result = results.get(one.id);
    const found = result?.data?.detections.length;
    card.choose.setAttribute("aria-pressed", String(one.id === scene));
    card.count.textContent = result?.error ? "!" : (found ?? "…");
    card.count.className = `count ${result?.error ? "bad" : found ? "some" : ""}`;
    card.choose.setAttribute(
      "aria-label",
      `${one.name}, ${found === undefined ? "not looked at yet" : `${found} found`}`,
    );
    return card.node;
  });
  if (nodes.some((node, k) => strip.children[k] !== node) || strip.children.length !== nodes.length)
    strip.replaceChildren(...nodes);
}

watch(["scenes", "scene", "results"], show);
