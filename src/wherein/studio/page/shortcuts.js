// Keyboard shortcuts: one table for what they do and for the help dialog.
import { currentTool, fit, holdSpace, pan, repaint, zoom } from "./canvas.js";
import { $, h } from "./dom.js";
import { saveTemplate } from "./panels/downloads.js";
import { rename } from "./panels/tree.js";
import { notify } from "./status.js";
import { getState, redo, shownPicture, undo, update } from "./store.js";
import { switchTheme } from "./theme.js";
import { duplicate, mirror } from "./tools/selection.js";
import { chooseFile } from "./uploads.js";

const PAN_STEP = 40; // pixels of the screen

const selectTool = (name) => () =>
  getState().mode === "template" && getState().draft.picture && update({ tool: name });

/** Act on the selected part, if there is one. */
const withSelected = (act) => () => {
  const { mode, selected } = getState();
  if (mode === "template" && selected !== null) act(selected);
};

/** Undo the last corner of an outline that is being drawn; otherwise the last step. */
function undoStep() {
  if (!currentTool()?.undoStep?.()) return notifyStep(undo(), "Undone");
  repaint();
}
const redoStep = () => notifyStep(redo(), "Redone");
const notifyStep = (label, done) => notify(label ? `${done}: ${label}.` : "No more steps.");

const showHelp = () => $("#help").showModal();

// [keys that are pressed, keys as they are shown, description, action]; a single text is a heading. Tools and
// panels handle the keys without an action themselves.
const SHORTCUTS = [
  ["General"],
  [["1"], "1", "Template: outline the object", () => update({ mode: "template" })],
  [["2"], "2", "Detect: search scenes", () => update({ mode: "detect" })],
  [
    ["ctrl+o"],
    "Ctrl+O",
    "Load a picture or scenes",
    () => chooseFile(getState().mode === "detect" ? "scene" : "picture"),
  ],
  [["ctrl+s"], "Ctrl+S", "Save the template", saveTemplate],
  [["ctrl+z"], "Ctrl+Z", "Undo the last step or corner", undoStep],
  [["ctrl+shift+z", "ctrl+y"], "Ctrl+Shift+Z", "Redo", redoStep],
  [["t"], "T", "Light or dark theme", switchTheme],
  [["?"], "?", "Show this help", showHelp],
  ["View"],
  [["+", "="], "+", "Zoom in", () => zoom(1.25)],
  [["-"], "−", "Zoom out", () => zoom(0.8)],
  [["0"], "0", "Fit to window", () => fit(shownPicture())],
  [["c"], "C", "Move the keyboard focus to the picture", () => $("#canvas").focus()],
  [null, "Space+drag", "Pan", null],
  ["Tools"],
  [["v"], "V", "Select and edit", selectTool("select")],
  [["p"], "P", "Outline: click corner by corner", selectTool("outline")],
  [["s"], "S", "Snap: click around the part, and the outline follows edges", selectTool("snap")],
  [["l"], "L", "Lasso: draw in one stroke", selectTool("lasso")],
  [["b"], "B", "Box: drag from corner to corner", selectTool("box")],
  [["e"], "E", "Ellipse: drag from corner to corner", selectTool("ellipse")],
  [["j"], "J", "Joint: place the joint of the selected part", selectTool("joint")],
  [["h"], "H", "Pan", selectTool("pan")],
  ["Selected part"],
  [["d"], "D", "Duplicate it, with all parts below it", withSelected(duplicate)],
  [["m"], "M", "Mirrored copy on the other side of its parent", withSelected(mirror)],
  [["f2"], "F2", "Rename it", withSelected(rename)],
  ["With the focus on the picture"],
  [null, "Arrows", "Drawing tools: move the cursor. Select: move the corner. Joint: move the joint", null],
  [null, "Space, Enter", "Outline, Snap: add a corner, close the outline. Box, ellipse: set the two corners", null],
  [null, "Backspace, Esc", "Outline, Snap: remove the last corner, cancel", null],
  [null, "Alt+arrows", "Select: move the part", null],
  [null, "[, ]", "Select: previous corner, next corner", null],
  [null, "I, Delete", "Select: insert a corner, delete a corner", null],
  ["Part tree"],
  [null, "Up, Down", "Select the previous or next part", null],
  [null, "Alt+arrows", "Move the part up, down, into the part above, or out of its parent", null],
  [null, "Delete", "Delete the selected part", null],
];

const actions = new Map(
  SHORTCUTS.flatMap(([keys, , , act]) => (Array.isArray(keys) ? keys.map((key) => [key, act]) : [])),
);

// Each heading with its keys is a section, so that none of them begins a column alone.
for (const [keys, shown, text] of SHORTCUTS) {
  if (shown === undefined) $("#keys").append(h("section", {}, h("h3", {}, keys)));
  else $("#keys").lastElementChild.append(h("p", {}, h("kbd", {}, shown), h("span", {}, text)));
}

function keyName(event) {
  const command = event.ctrlKey || event.metaKey;
  return `${command ? "ctrl+" : ""}${command && event.shiftKey ? "shift+" : ""}${event.key.toLowerCase()}`;
}

const isTextField = (target) =>
  target.matches?.("input:not([type=range]):not([type=checkbox]), select, textarea, [contenteditable]");

// The focus of the canvas is outlined for users of the keyboard only.
addEventListener("keydown", () => document.body.classList.add("by-keys"), true);
addEventListener("pointerdown", () => document.body.classList.remove("by-keys"), true);

addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.isComposing || $("#help").open) return;
  const onCanvas = document.activeElement === $("#canvas");
  const command = event.ctrlKey || event.metaKey;
  if (isTextField(event.target) && !(command && ["s", "o"].includes(event.key.toLowerCase()))) return;
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
  const act = actions.get(keyName(event));
  if (!act) return;
  event.preventDefault();
  act();
});
addEventListener("keyup", (event) => event.key === " " && holdSpace(false));
addEventListener("blur", () => holdSpace(false));

function panBy(event) {
  const steps = { ArrowLeft: [1, 0], ArrowRight: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
  event.preventDefault();
  pan(...steps[event.key].map((step) => step * PAN_STEP));
}

$("#help-open").addEventListener("click", showHelp);
$("#undo").addEventListener("click", undoStep);
$("#redo").addEventListener("click", redoStep);
