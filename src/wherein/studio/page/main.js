// The studio's page: which tool is in hand, what is painted, and what is said about the next step.
import * as api from "./api.js";
import { $ } from "./dom.js";
import { take } from "./files.js";
import { keep, kept } from "./keeping.js";
import "./finding.js";
import "./keys.js";
import "./panels/findings.js";
import "./panels/part.js";
import { colorNamed } from "./panels/results.js";
import "./panels/scenes.js";
import "./panels/search.js";
import "./panels/takehome.js";
import "./panels/tree.js";
import { paintScene } from "./paint/scene.js";
import { paintTemplate } from "./paint/template.js";
import { pictureBitmap, sceneBitmap } from "./pictures.js";
import { fit, repaint, setPainter, setTool, toolAtWork, view, zoom } from "./stage.js";
import { complain, doing, rest, tell } from "./status.js";
import { edit, history, now, restart, update, watch } from "./store.js";
import { handTool } from "./tools/hand.js";
import { jointTool } from "./tools/joint.js";
import { lassoTool } from "./tools/lasso.js";
import { lookTool } from "./tools/look.js";
import { outlineTool } from "./tools/outline.js";
import { selectTool } from "./tools/select.js";
import "./theme.js";

const TOOLS = new Map(
  [selectTool, outlineTool, lassoTool, jointTool, handTool].map((tool) => [tool.name, tool]),
);

const shownScene = (state) => state.scenes.find(({ id }) => id === state.scene) ?? null;

function paint(context, seen, ratio) {
  const state = now();
  seen.apply(context, ratio);
  if (state.mode === "template") {
    const bitmap = state.draft.picture && pictureBitmap(state.draft.picture.id);
    paintTemplate(context, seen, state, bitmap, state.tool === "select" ? selectTool.hovered : null);
    toolAtWork()?.paint?.(context);
  } else {
    const scene = shownScene(state);
    if (!scene) return;
    const leaves = new Set(state.template?.leaves ?? []);
    const found = state.template && state.results.get(scene.id)?.data;
    paintScene(
      context,
      seen,
      scene,
      sceneBitmap(scene.id),
      found,
      colorNamed(state.draft),
      leaves,
      state.highlight,
    );
  }
  $("#zoom").textContent = `${Math.round(view.scale * 100)} %`;
}

/** What to do next, for the line at the bottom. */
function nextStep({ mode, draft, template, problem, scenes, results, scene, checking }) {
  if (mode === "find") {
    if (!draft.parts.length) return "There is no template yet: outline one under Template, or open one.";
    if (!scenes.length) return "Drop or paste scenes to look in.";
    const found = results.get(scene)?.data?.detections.length;
    return found === undefined ? "Ready." : `${found || "Nothing"} found in this scene.`;
  }
  if (!draft.picture) return "Load a picture of the thing that you want to find.";
  if (!draft.parts.length) return "Outline the thing, or its largest part.";
  if (checking) return "Checking the template…";
  if (problem) return problem;
  return template ? "Ready: outline another part, set joints, or go to Find." : "Ready.";
}

watch(["mode", "draft", "scenes"], (state) => {
  document.body.dataset.mode = state.mode;
  const empty = state.mode === "template" ? !state.draft.picture : !state.scenes.length;
  $("#empty-template").hidden = !(state.mode === "template" && empty);
  $("#empty-find").hidden = !(state.mode === "find" && empty);
  $("#empty-find-template").hidden = state.draft.parts.length > 0;
  $("#zooms").hidden = $("#hint").hidden = empty;
  for (const tab of document.querySelectorAll("[data-mode-tab]")) {
    tab.setAttribute("aria-selected", String(tab.dataset.modeTab === state.mode));
    tab.tabIndex = tab.dataset.modeTab === state.mode ? 0 : -1;
  }
});

watch(["mode", "tool", "draft"], ({ mode, tool, draft }) => {
  const hand = mode === "find" ? lookTool : draft.picture ? TOOLS.get(tool) : handTool;
  setTool(hand);
  $("#hint-words").textContent = hand.hint;
  for (const button of document.querySelectorAll("[data-tool]")) {
    button.setAttribute("aria-pressed", String(button.dataset.tool === tool));
    button.disabled = !draft.picture || (["joint"].includes(button.dataset.tool) && !draft.parts.length);
  }
});

watch(["mode", "scene", "scenes", "draft"], (state) => {
  fit(state.mode === "find" ? shownScene(state) : state.draft.picture, false);
});

watch(["draft"], ({ draft }) => {
  const { undo, redo } = history();
  for (const [id, label, what] of [
    ["#undo", undo, "Undo"],
    ["#redo", redo, "Redo"],
  ]) {
    $(id).disabled = !label;
    $(id).title = label ? `${what}: ${label}` : `Nothing to ${what.toLowerCase()}`;
    $(id).setAttribute("aria-label", $(id).title);
  }
  const name = $("#object-name");
  if (document.activeElement !== name) name.value = draft.name;
});

watch(["mode", "draft", "template", "problem", "scenes", "results", "scene", "checking"], (state) =>
  rest(nextStep(state)),
);
watch(
  [
    "mode",
    "tool",
    "draft",
    "selected",
    "corner",
    "pose",
    "scene",
    "scenes",
    "results",
    "highlight",
    "template",
  ],
  repaint,
);

for (const button of document.querySelectorAll("[data-tool]"))
  button.addEventListener("click", () => update({ tool: button.dataset.tool, redrawn: null }));
for (const tab of document.querySelectorAll("[data-mode-tab]")) {
  tab.addEventListener("click", () => update({ mode: tab.dataset.modeTab }));
  tab.addEventListener("keydown", (event) => {
    if (!["ArrowLeft", "ArrowRight"].includes(event.key)) return;
    update({ mode: tab.dataset.modeTab === "find" ? "template" : "find" });
    queueMicrotask(() => document.querySelector('[data-mode-tab][aria-selected="true"]').focus());
  });
}
$("#object-name").addEventListener("change", (event) => {
  const name = event.target.value.trim();
  if (!name) tell("The object needs a name.", "error");
  else if (name !== now().draft.name) edit(`call it “${name}”`, { ...now().draft, name });
  event.target.value = now().draft.name;
});
$("#object-name").addEventListener("keydown", (event) => event.key === "Enter" && event.target.blur());
$("#larger").addEventListener("click", () => zoom(1.25));
$("#smaller").addEventListener("click", () => zoom(0.8));
$("#fit").addEventListener("click", () =>
  fit(now().mode === "find" ? shownScene(now()) : now().draft.picture),
);

async function begin() {
  const token = api.identify();
  const session = await doing("Opening the studio…", api.session);
  if (!session) return;
  update({
    limits: session.limits,
    save: session.save,
    scenes: session.scenes,
    scene: session.scenes[0]?.id ?? null,
  });
  const before = kept(token);
  if (before?.draft?.picture) {
    restart(before.draft);
    const scene = session.scenes.some(({ id }) => id === before.scene) ? before.scene : now().scene;
    const saved = before.isSaved ? before.draft : null;
    update({ settings: before.settings, mode: before.mode, scene, saved });
  } else if (session.first) {
    take(session.first);
    restart(now().draft);
  }
  keep(token);
  document.body.classList.add("ready");
}

setPainter(paint);
begin().catch(complain);
