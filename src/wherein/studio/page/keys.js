// Every key, in one table: what it does, and what the page says about it.
import { $, h } from "./dom.js";
import { choose } from "./files.js";
import { saveTemplate } from "./panels/takehome.js";
import { rename } from "./panels/tree.js";
import { currentTool, fit, holdSpace, pan, repaint, zoom } from "./stage.js";
import { tell } from "./status.js";
import { now, redo, undo, update } from "./store.js";
import { switchTheme } from "./theme.js";

const tool = (name) => () => now().mode === "template" && now().draft.picture && update({ tool: name });
const shownPicture = () =>
  now().mode === "find" ? now().scenes.find(({ id }) => id === now().scene) : now().draft.picture;

/** Of an outline that is being drawn the last corner goes first: the steps before it are still wanted. */
export function stepBack() {
  if (!currentTool()?.takeBack?.()) return told(undo(), "Undone");
  repaint();
}
export const stepOn = () => told(redo(), "Done again");
const told = (label, what) => tell(label ? `${what}: ${label}.` : "There is nothing more.");

export function help() {
  $("#help").showModal();
}

// [keys as they are pressed, keys as they are shown, what they do, act]
const TABLE = [
  ["The page"],
  [["1"], "1", "Template: outline the object", () => update({ mode: "template" })],
  [["2"], "2", "Find: look for it in scenes", () => update({ mode: "find" })],
  [["ctrl+o"], "Ctrl O", "Load a picture", () => choose(now().mode === "find" ? "scene" : "picture")],
  [["ctrl+s"], "Ctrl S", "Save the template", saveTemplate],
  [["ctrl+z"], "Ctrl Z", "Undo; of an outline that is drawn, its last corner", stepBack],
  [["ctrl+shift+z", "ctrl+y"], "Ctrl Shift Z", "Redo", stepOn],
  [["t"], "T", "Light or dark", switchTheme],
  [["?"], "?", "This list", help],
  ["The picture"],
  [["+", "="], "+", "Larger", () => zoom(1.25)],
  [["-"], "−", "Smaller", () => zoom(0.8)],
  [["0"], "0", "All of it", () => fit(shownPicture())],
  [["c"], "C", "To the picture, to work on it by keys", () => $("#canvas").focus()],
  [null, "Space, drag", "Move it", null],
  ["Tools"],
  [["v"], "V", "Choose and change", tool("select")],
  [["p"], "P", "Outline, corner by corner", tool("outline")],
  [["l"], "L", "Lasso, in one stroke", tool("lasso")],
  [["j"], "J", "Put the joint of the chosen part", tool("joint")],
  [["h"], "H", "Move the picture", tool("hand")],
  ["On the picture"],
  [null, "Arrows", "Outline: move the cross; Choose: move the corner; Joint: move it", null],
  [null, "Space, Enter", "Outline: set a corner, close the outline", null],
  [null, "Backspace, Esc", "Outline: take the last corner back, give up", null],
  [null, "[ and ]", "The corner before, the corner after", null],
  [null, "I, Delete", "Add a corner after this one, remove it", null],
  ["The tree"],
  [null, "Up, Down", "Choose a part", null],
  [null, "Alt arrows", "Arrange: up, down, hang on the part above, one step out", null],
  [["f2"], "F2", "Give the chosen part a name", () => now().selected !== null && rename(now().selected)],
  [null, "Delete", "Remove the part", null],
];

const acts = new Map(
  TABLE.flatMap(([keys, , , act]) => (Array.isArray(keys) ? keys.map((key) => [key, act]) : [])),
);

$("#keys").append(
  ...TABLE.map(([keys, shown, words]) =>
    shown === undefined ? h("h3", {}, keys) : h("p", {}, h("kbd", {}, shown), h("span", {}, words)),
  ),
);

function pressed(event) {
  const name = event.key.toLowerCase();
  const command = event.ctrlKey || event.metaKey;
  return `${command ? "ctrl+" : ""}${command && event.shiftKey ? "shift+" : ""}${name}`;
}

const typing = (target) =>
  target.matches?.("input:not([type=range]):not([type=checkbox]), select, textarea, [contenteditable]");

// Who works by keys must see where they are; who points knows.
addEventListener("keydown", () => document.body.classList.add("by-keys"), true);
addEventListener("pointerdown", () => document.body.classList.remove("by-keys"), true);

addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.isComposing || $("#help").open) return;
  const onCanvas = document.activeElement === $("#canvas");
  const command = event.ctrlKey || event.metaKey;
  if (typing(event.target) && !(command && ["s", "o"].includes(event.key.toLowerCase()))) return;
  if (onCanvas && !command && currentTool()?.key?.(event)) {
    event.preventDefault();
    return repaint();
  }
  if (onCanvas && event.key.startsWith("Arrow")) return panBy(event);
  if (event.key === " " && (onCanvas || document.activeElement === document.body)) {
    event.preventDefault();
    return holdSpace(true);
  }
  if (event.altKey) return;
  const act = acts.get(pressed(event));
  if (!act) return;
  event.preventDefault();
  act();
});
addEventListener("keyup", (event) => event.key === " " && holdSpace(false));
addEventListener("blur", () => holdSpace(false));

function panBy(event) {
  const steps = { ArrowLeft: [40, 0], ArrowRight: [-40, 0], ArrowUp: [0, 40], ArrowDown: [0, -40] };
  event.preventDefault();
  pan(...steps[event.key]);
}

$("#help-open").addEventListener("click", help);
$("#undo").addEventListener("click", stepBack);
$("#redo").addEventListener("click", stepOn);
