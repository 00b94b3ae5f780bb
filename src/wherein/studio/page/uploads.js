// Files from the user: chosen with a button, dropped on the page, or pasted.
import * as api from "./api.js";
import { fit } from "./canvas.js";
import { setColors } from "./colors.js";
import { $ } from "./dom.js";
import { addPart, emptyDraft, fromMessage } from "./draft.js";
import { notify, reportError, withStatus } from "./status.js";
import { edit, getState, undo, update } from "./store.js";

const MEGABYTE = 2 ** 20;

const isTemplate = (file) => /\.zip$/i.test(file.name) || file.type.includes("zip");

/** Whether a file is small enough. The server checks it too; this check avoids waiting for the upload. */
function checkSize(file) {
  const { maxUpload } = getState();
  if (file.size <= maxUpload) return true;
  const [size, maximum] = [Math.ceil(file.size / MEGABYTE), Math.floor(maxUpload / MEGABYTE)];
  reportError(new api.StudioError(`${file.name} is too large: ${size} MB. The maximum is ${maximum} MB.`));
  return false;
}

/** Replacing a draft needs no confirmation, because it can be undone. */
const undoAction = (hadParts) => (hadParts ? { label: "Undo", act: undo } : null);

function notifyReplaced(hadParts) {
  if (hadParts) notify("Started a new template.", "note", undoAction(hadParts));
}

async function loadPicture(file) {
  if (!checkSize(file)) return;
  const loaded = await withStatus(`Loading ${file.name}…`, () => api.addPicture(file));
  if (!loaded) return;
  const { outline, frames, ...picture } = loaded;
  const { draft, defaultTurn } = getState();
  const name = file.name.replace(/\.[^.]*$/, "").trim() || "object";
  const empty = { ...emptyDraft(), name, picture };
  const [started, selected] = outline ? addPart(empty, outline, defaultTurn) : [empty, null];
  edit("load a picture", started, { selected, corner: null });
  update({ mode: "template", tool: outline ? "select" : "outline", redrawing: null });
  fit(picture);
  const hadParts = draft.parts.length > 0;
  const notes = [
    ...(frames > 1 ? [`${file.name} has ${frames} frames: this is the first one.`] : []),
    ...(outline ? ["The transparent background of the picture gave the first outline."] : []),
  ];
  if (notes.length) notify(notes.join(" "), "note", undoAction(hadParts));
  else notifyReplaced(hadParts);
}

/** Edit a template that the server has opened. */
export function showTemplate({ draft, picture, colors }) {
  const hadParts = getState().draft.parts.length > 0;
  const opened = fromMessage(draft, picture);
  edit("open a template", opened, { selected: null, corner: null });
  update({ mode: "template", tool: "select", saved: opened });
  setColors(opened, colors);
  fit(picture);
  notifyReplaced(hadParts);
}

async function loadTemplate(file) {
  if (!checkSize(file)) return;
  const opened = await withStatus(`Opening ${file.name}…`, () => api.openTemplate(file));
  if (opened) showTemplate(opened);
}

/** Tell what became of a file with several frames. */
function notifyFrames(name, frames, added) {
  if (frames > added)
    notify(
      `${name} has ${frames} frames. Only the first ${added} are added, because of the limits of the studio. ` +
        "“wherein detect” searches all.",
      "error",
    );
  else if (frames > 1) notify(`${name} has ${frames} frames. Each of them is a scene.`);
}

/** Upload scenes one after the other. The first one is shown; the user can choose the others. */
async function loadScenes(files) {
  let isFirst = true;
  const accepted = files.filter(checkSize);
  if (!accepted.length) return;
  update({ mode: "detect", uploads: [...getState().uploads, ...accepted.map(({ name }) => name)] });
  for (const file of accepted) {
    const added = await withStatus(`Loading ${file.name}…`, () => api.addScene(file));
    const { scenes, uploads } = getState();
    update({ uploads: uploads.toSpliced(uploads.indexOf(file.name), 1) });
    if (!added) continue;
    update({ scenes: [...scenes, ...added.scenes], ...(isFirst && { scene: added.scenes[0].id }) });
    isFirst = false;
    notifyFrames(file.name, added.frames, added.scenes.length);
  }
}

async function loadDemo() {
  const opened = await withStatus("Loading the demo…", api.demo);
  if (!opened) return;
  showTemplate(opened);
  const settings = { ...getState().settings, scale: opened.scale };
  update({ scenes: [...getState().scenes, opened.scene], scene: opened.scene.id, settings });
  notify("This template is a tin robot with several joints. Select a part to see its joint, or go to Detect.");
}

/** Load files for a purpose, "picture" or "scene"; a .zip is a template for either. */
async function loadFiles(files, purpose) {
  const templates = [...files].filter(isTemplate);
  const pictures = [...files].filter((file) => !isTemplate(file));
  if (templates.length) await loadTemplate(templates[0]);
  if (!pictures.length) return;
  if (purpose === "scene") return loadScenes(pictures);
  await loadPicture(pictures[0]);
  if (pictures.length > 1) await loadScenes(pictures.slice(1));
}

function fileInput(selector, purpose) {
  const input = $(selector);
  input.addEventListener("change", async () => {
    await loadFiles(input.files, purpose);
    input.value = ""; // so that choosing the same file again is a "change" event
  });
  return input;
}

const inputs = {
  picture: fileInput("#file-picture", "picture"),
  template: fileInput("#file-template", "picture"),
  scene: fileInput("#file-scene", "scene"),
};

/** Open the file dialog for a picture, a template or scenes. */
export const chooseFile = (kind) => inputs[kind].click();

for (const button of document.querySelectorAll("[data-choose]"))
  button.addEventListener("click", () => chooseFile(button.dataset.choose));
$("#demo").addEventListener("click", loadDemo);

const hasFiles = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
const defaultPurpose = () => (getState().mode === "detect" ? "scene" : "picture");
const zones = $("#drop");
let depth = 0; // number of nested elements under the dragged file: each has its own enter and leave events

function showZones(shown) {
  if (!shown) depth = 0;
  zones.hidden = !shown;
}

addEventListener("dragenter", (event) => {
  if (!hasFiles(event)) return;
  depth++;
  showZones(true);
});
addEventListener("dragleave", (event) => hasFiles(event) && --depth <= 0 && showZones(false));
addEventListener("dragover", (event) => {
  if (!hasFiles(event)) return;
  event.preventDefault();
  for (const zone of zones.children) zone.classList.toggle("over", zone.contains(event.target));
});
addEventListener("drop", (event) => {
  if (!hasFiles(event)) return;
  event.preventDefault();
  const zone = event.target.closest?.("[data-drop-for]");
  showZones(false);
  loadFiles(event.dataTransfer.files, zone?.dataset.dropFor ?? defaultPurpose());
});
addEventListener("paste", (event) => {
  if (!event.clipboardData?.files.length) return;
  event.preventDefault();
  loadFiles(event.clipboardData.files, defaultPurpose());
});
