// Starts the studio's page, chooses the tool and the painter, and shows the next step in the status bar.
import * as api from "./api.js";
import { pictureBitmap, sceneBitmap } from "./bitmaps.js";
import { fit, paintedTool, repaint, setPainter, setTool, view, zoom } from "./canvas.js";
import { watchConnection } from "./connection.js";
import { totalsText } from "./detection.js";
import { $ } from "./dom.js";
import { fromMessage, partById, renameObject } from "./draft.js";
import { paintScene } from "./paint/detections.js";
import { paintDraft } from "./paint/outlines.js";
import "./panels/detections.js";
import "./panels/downloads.js";
import "./panels/findings.js";
import "./panels/part.js";
import "./panels/reading.js";
import "./panels/scenes.js";
import "./panels/search.js";
import "./panels/tree.js";
import { storeState, storedState } from "./persistence.js";
import "./shortcuts.js";
import { notify, reportError, setIdleStatus, withStatus } from "./status.js";
import { edit, getState, history, reset, shownPicture, update, watch } from "./store.js";
import "./template.js";
import { byTouch } from "./text.js";
import "./theme.js";
import { inspectorTool } from "./tools/inspector.js";
import { jointTool } from "./tools/joint.js";
import { lassoTool } from "./tools/lasso.js";
import { outlineTool } from "./tools/outline.js";
import { panTool } from "./tools/pan.js";
import { selectTool } from "./tools/selection.js";
import { snapTool } from "./tools/snap.js";
import { boxTool, ellipseTool } from "./tools/span.js";
import { showTemplate } from "./uploads.js";

const TOOLS = new Map(
  [selectTool, outlineTool, snapTool, lassoTool, boxTool, ellipseTool, jointTool, panTool].map((tool) => [
    tool.name,
    tool,
  ]),
);

function paint(context, ratio) {
  const state = getState();
  const picture = shownPicture();
  view.apply(context, ratio);
  if (picture && state.mode === "template") {
    const hovered = state.tool === "select" ? selectTool.hovered : null;
    paintDraft(context, view, state, pictureBitmap(picture.id), hovered);
    paintedTool()?.paint?.(context);
  } else if (picture) {
    const found = state.results.get(picture.id)?.data;
    paintScene(context, view, picture, sceneBitmap(picture.id), found, state.template, state.highlight);
  }
  $("#zoom").textContent = `${Math.round(view.scale * 100)} %`;
}

/** The text of the status bar: the number of detections, or the next step. */
function detectStatus(state) {
  const { draft, scenes, results, scene } = state;
  if (!draft.parts.length) return "There is no template yet. Outline an object under Template, or open one.";
  if (!scenes.length) return byTouch() ? "Add scenes to search." : "Add scenes to search: choose, drop or paste them.";
  const found = results.get(scene)?.data?.detections.length;
  const totals = totalsText(state);
  const here = found === undefined ? "This scene waits to be searched" : `${found} found in this scene`;
  return `${here}${totals ? `; ${totals}` : ""}.`;
}

/** The next step, for the status bar. */
function templateStatus({ draft, template, templateError, checking }) {
  if (!draft.picture) return "Load a picture of the object that you want to detect.";
  if (!draft.parts.length) return "Outline the object, or its largest part.";
  if (checking) return "Checking the template…";
  if (templateError) return templateError;
  return template ? "Ready. Outline another part, edit joints, or go to Detect." : "Ready.";
}

watch(["mode", "draft", "scenes", "uploads"], (state) => {
  document.body.dataset.mode = state.mode;
  const empty = state.mode === "template" ? !state.draft.picture : !state.scenes.length && !state.uploads.length;
  $("#empty-template").hidden = !(state.mode === "template" && empty);
  $("#empty-detect").hidden = !(state.mode === "detect" && empty);
  $("#empty-detect-template").hidden = state.draft.parts.length > 0;
  $("#zooms").hidden = empty;
  for (const tab of document.querySelectorAll("[data-mode-tab]")) {
    tab.setAttribute("aria-selected", String(tab.dataset.modeTab === state.mode));
    tab.tabIndex = tab.dataset.modeTab === state.mode ? 0 : -1;
  }
});

const toolOf = ({ mode, tool, draft }) =>
  mode === "detect" ? inspectorTool : draft.picture ? TOOLS.get(tool) : panTool;

watch(["mode", "tool", "draft", "redrawing", "scene", "results"], (state) => {
  const { hint, touchHint = hint } = toolOf(state);
  const redrawn = partById(state.draft, state.redrawing);
  const text = byTouch() ? touchHint : hint;
  $("#hint-text").textContent = redrawn ? `Redraw “${redrawn.name}”. ${text}` : text;
  $("#hint").hidden = !text || !shownPicture();
});

watch(["mode", "tool", "draft", "redrawing"], (state) => {
  const { tool, draft } = state;
  setTool(toolOf(state));
  for (const button of document.querySelectorAll("[data-tool]")) {
    button.setAttribute("aria-pressed", String(button.dataset.tool === tool));
    button.disabled = !draft.picture || (button.dataset.tool === "joint" && !draft.parts.length);
  }
});

// An outline can be redrawn with any drawing tool. Selecting another part or another kind of tool ends it.
watch(["selected", "tool"], ({ selected, tool, redrawing }) => {
  if (selected !== redrawing || ["select", "joint"].includes(tool)) update({ redrawing: null });
});

watch(["mode", "scene", "scenes", "draft"], () => fit(shownPicture(), false));

watch(["draft"], ({ draft }) => {
  const { undo, redo } = history();
  for (const [id, label, action] of [
    ["#undo", undo, "Undo"],
    ["#redo", redo, "Redo"],
  ]) {
    $(id).disabled = !label;
    $(id).title = label ? `${action}: ${label}` : `Nothing to ${action.toLowerCase()}`;
    $(id).setAttribute("aria-label", $(id).title);
  }
  const name = $("#object-name");
  if (document.activeElement !== name) name.value = draft.name;
});

watch(["mode", "draft", "template", "templateError", "scenes", "results", "scene", "checking"], (state) =>
  setIdleStatus(state.mode === "detect" ? detectStatus(state) : templateStatus(state)),
);
watch(
  [
    "mode",
    "tool",
    "draft",
    "selected",
    "corner",
    "pose",
    "colors",
    "scene",
    "scenes",
    "results",
    "highlight",
    "template",
  ],
  repaint,
);

for (const button of document.querySelectorAll("[data-tool]"))
  button.addEventListener("click", () => update({ tool: button.dataset.tool }));
for (const tab of document.querySelectorAll("[data-mode-tab]")) {
  tab.addEventListener("click", () => update({ mode: tab.dataset.modeTab }));
  tab.addEventListener("keydown", (event) => {
    if (!["ArrowLeft", "ArrowRight"].includes(event.key)) return;
    update({ mode: tab.dataset.modeTab === "detect" ? "template" : "detect" });
    queueMicrotask(() => $('[data-mode-tab][aria-selected="true"]').focus());
  });
}
$("#object-name").addEventListener("change", (event) => {
  const name = event.target.value.trim();
  if (!name) notify("The object needs a name.", "error");
  else if (name !== getState().draft.name) edit(`rename to “${name}”`, renameObject(getState().draft, name));
  event.target.value = getState().draft.name;
});
$("#object-name").addEventListener("keydown", (event) => event.key === "Enter" && event.target.blur());
$("#zoom-in").addEventListener("click", () => zoom(1.25));
$("#zoom-out").addEventListener("click", () => zoom(0.8));
$("#fit").addEventListener("click", () => fit(shownPicture()));

async function start() {
  const token = api.takeToken();
  const session = await withStatus("Opening the studio…", api.session);
  if (!session) return;
  update({
    maxUpload: session.max_upload,
    defaultTurn: session.default_turn,
    saveName: session.save?.name ?? null,
    scenes: session.scenes,
    scene: session.scenes[0]?.id ?? null,
  });
  const stored = storedState(token);
  if (stored?.draft?.picture) {
    reset(stored.draft);
    const scene = session.scenes.some(({ id }) => id === stored.scene) ? stored.scene : getState().scene;
    const saved = stored.isSaved ? stored.draft : null;
    update({ settings: stored.settings, mode: stored.mode, scene, saved });
  } else if (session.current) {
    const draft = fromMessage(session.current.draft, session.current.picture);
    reset(draft);
    // As long as it is not changed here, nothing is lost when this tab is closed.
    update({ saved: draft, settings: session.settings ?? getState().settings });
    notify("This is a copy of the template that another browser has made. From now on each has its own.");
  } else if (session.first) {
    showTemplate(session.first);
    reset(getState().draft); // opening it is not a step to undo
  }
  storeState(token);
  watchConnection();
  document.body.classList.add("ready");
}

setPainter(paint);
start().catch(reportError);
