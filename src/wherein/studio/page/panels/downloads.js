// Saves the template, and exports the results.
import * as api from "../api.js";
import { searchMessage } from "../detection.js";
import { $, h } from "../dom.js";
import { notify, withStatus } from "../status.js";
import { getState, update, watch } from "../store.js";
import { currentTemplate } from "../template.js";

const FORMATS = {
  json: { suffix: ".jsonl", name: "JSON" },
  coco: { suffix: "-coco.json", name: "COCO" },
  report: { suffix: ".html", name: "HTML" },
};
const URL_TIME = 60000; // milliseconds: the browser must have read the file by then

/** A file name without the characters that file systems do not allow. */
const fileStem = (name) =>
  name
    .trim()
    .replace(/[^\p{L}\p{N} ._-]+/gu, "_")
    .replace(/^\.+/, "") || "template";

function downloadBlob(blob, name) {
  const link = h("a", { href: URL.createObjectURL(blob), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), URL_TIME);
}

/** The current template; if there is none, notify the user why. */
async function requireTemplate() {
  const template = await currentTemplate();
  if (!template)
    notify(
      getState().templateError ?? "There is nothing to save yet. Load a picture and outline the object.",
      "error",
    );
  return template;
}

async function downloadTemplate() {
  await withStatus("Preparing the template…", async () => {
    const template = await requireTemplate();
    if (!template) return;
    const { draft } = getState();
    const name = `${fileStem(draft.name)}.zip`;
    downloadBlob(await api.templateFile(template.id), name);
    update({ saved: draft });
    notify(`Downloaded ${name}. Use it with: wherein detect ${name} SCENE`);
  });
}

/** Save the template to the path of the command line; without a path, download it. */
export async function saveTemplate() {
  if (!getState().saveName) return downloadTemplate();
  return withStatus("Saving the template…", async () => {
    const template = await requireTemplate();
    if (!template) return;
    const { draft } = getState();
    const { name } = await api.saveTemplate(template.id);
    update({ saved: draft });
    notify(`Saved to ${name}.`);
  });
}

async function exportResults(kind) {
  const { suffix, name } = FORMATS[kind];
  await withStatus(`Exporting ${name}…`, async () => {
    const state = getState();
    const scenes = state.scenes.map(({ id }) => id);
    const blob = await api.resultsFile(kind, { ...searchMessage(state), scenes });
    downloadBlob(blob, `${fileStem(state.draft.name)}${suffix}`);
    notify(`Exported ${scenes.length === 1 ? "1 scene" : `${scenes.length} scenes`} as ${name}.`);
  });
}

const isUnsaved = ({ draft, saved }) => draft.parts.length > 0 && draft !== saved;

$("#save").addEventListener("click", saveTemplate);
$("#download").addEventListener("click", downloadTemplate);
for (const button of document.querySelectorAll("[data-export]"))
  button.addEventListener("click", () => exportResults(button.dataset.export));

watch(["draft", "saved", "saveName", "template"], (state) => {
  const { draft, saveName, template } = state;
  $("#save").classList.toggle("unsaved", isUnsaved(state));
  $("#save use").setAttribute("href", saveName ? "#i-disk" : "#i-save");
  $("#save-label").textContent = saveName ? `Save to ${saveName}` : "Download template";
  $("#save").disabled = !draft.parts.length;
  $("#download").hidden = !saveName;
  $("#download").disabled = !template;
});

watch(["results", "scene", "template"], ({ results, scene, template }) => {
  const ready = Boolean(template) && results.get(scene)?.data?.calibration_kind === "measured";
  for (const button of document.querySelectorAll("[data-export]")) button.disabled = !ready;
  $("#export-note").hidden = ready;
});

addEventListener("beforeunload", (event) => {
  if (isUnsaved(getState())) event.preventDefault();
});
