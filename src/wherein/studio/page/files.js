// Files that come in: by a button, dropped on the page, or pasted.
import * as api from "./api.js";
import { $ } from "./dom.js";
import { emptyDraft, fromMessage } from "./draft.js";
import { fit } from "./stage.js";
import { complain, doing, tell } from "./status.js";
import { edit, now, undo, update } from "./store.js";

const isTemplate = (file) => /\.zip$/i.test(file.name) || file.type.includes("zip");

function fits(file) {
  const { limits } = now();
  if (file.size <= limits.upload) return true;
  const most = Math.floor(limits.upload / 2 ** 20);
  complain(
    new api.StudioError(
      `${file.name} has ${(file.size / 2 ** 20).toFixed(0)} MB: the studio takes ${most} MB at most.`,
    ),
  );
  return false;
}

const undoable = (had) => had && tell("Began a new template.", "note", { label: "Undo", act: undo });

async function loadPicture(file) {
  if (!fits(file)) return;
  const picture = await doing(`Loading ${file.name}…`, () => api.addPicture(file));
  if (!picture) return;
  const had = now().draft.parts.length > 0;
  const name = file.name.replace(/\.[^.]*$/, "") || "object";
  edit("load a picture", { ...emptyDraft(), name, picture }, { selected: null, corner: null });
  update({ mode: "template", tool: "outline", redrawn: null });
  fit(picture);
  undoable(had);
}

/** A template that the server has opened becomes the draft. */
export function take({ draft, picture }) {
  const had = now().draft.parts.length > 0;
  const opened = fromMessage(draft, picture);
  edit("open a template", opened, { selected: null, corner: null });
  update({ mode: "template", tool: "select", saved: opened });
  fit(picture);
  undoable(had);
}

async function loadTemplate(file) {
  if (!fits(file)) return;
  const opened = await doing(`Opening ${file.name}…`, () => api.openTemplate(file));
  if (opened) take(opened);
}

async function loadScenes(files) {
  for (const file of files.filter(fits)) {
    const scene = await doing(`Loading ${file.name}…`, () => api.addScene(file));
    if (!scene) continue;
    update({ scenes: [...now().scenes, scene], scene: scene.id, mode: "find" });
  }
}

export async function tryDemo() {
  const opened = await doing("Setting up the demonstration…", api.demo);
  if (!opened) return;
  take(opened);
  const settings = { ...now().settings, scale: opened.scale };
  update({ scenes: [...now().scenes, opened.scene], scene: opened.scene.id, settings });
  tell("This is a tin robot with all its joints. Choose a part to see its joint, then go to Find.");
}

/** What files are for, unless they say it themselves: a .zip is a template. */
export async function intake(files, purpose) {
  const list = [...files];
  const templates = list.filter(isTemplate);
  const pictures = list.filter((file) => !isTemplate(file));
  if (templates.length) await loadTemplate(templates[0]);
  if (!pictures.length) return;
  if (purpose === "scene") return loadScenes(pictures);
  await loadPicture(pictures[0]);
  if (pictures.length > 1) await loadScenes(pictures.slice(1));
}

function chooser(id, purpose) {
  const input = $(id);
  input.addEventListener("change", async () => {
    await intake(input.files, purpose);
    input.value = "";
  });
  return input;
}

const inputs = {
  picture: chooser("#file-picture", "picture"),
  template: chooser("#file-template", "picture"),
  scene: chooser("#file-scene", "scene"),
};

export const choose = (kind) => inputs[kind].click();

for (const button of document.querySelectorAll("[data-choose]"))
  button.addEventListener("click", () => choose(button.dataset.choose));
$("#demo").addEventListener("click", tryDemo);

const hasFiles = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
const zones = $("#drop");
let depth = 0;

function dropping(on) {
  if (!on) depth = 0;
  zones.hidden = !on;
}

addEventListener("dragenter", (event) => {
  if (!hasFiles(event)) return;
  depth++;
  dropping(true);
});
addEventListener("dragleave", (event) => hasFiles(event) && --depth <= 0 && dropping(false));
addEventListener("dragover", (event) => {
  if (!hasFiles(event)) return;
  event.preventDefault();
  for (const zone of zones.children) zone.classList.toggle("over", zone.contains(event.target));
});
addEventListener("drop", (event) => {
  if (!hasFiles(event)) return;
  event.preventDefault();
  const zone = event.target.closest?.("[data-drop-for]");
  dropping(false);
  intake(event.dataTransfer.files, zone?.dataset.dropFor ?? (now().mode === "find" ? "scene" : "picture"));
});
addEventListener("paste", (event) => {
  if (!event.clipboardData?.files.length) return;
  event.preventDefault();
  intake(event.clipboardData.files, now().mode === "find" ? "scene" : "picture");
});
