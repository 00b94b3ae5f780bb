// Saves the template, and exports the results.
import * as api from "../api.js";
import { searchMessage } from "../detection.js";
import { $, h } from "../dom.js";
import { notify, withStatus } from "../status.js";
import { getState, update, watch } from "../store.js";
import { withTemplate } from "../template.js";

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

/** Call `use` with the current template and its draft; if there is none, notify the user why. */
async function useTemplate(use) {
  const used = await withTemplate(async (template) => {
    const { draft } = getState();
    await use(template, draft);
    update({ saved: draft });
    return true;
  });
  if (!used)
    notify(
      getState().templateError ?? "There is nothing to save yet. Load a picture and outline the object.",
      "error",
    );
}

const downloadTemplate = () =>
  withStatus("Preparing the template…", () =>
    useTemplate(async ({ id }, draft) => {
      const name = `${fileStem(draft.name)}.zip`;
      downloadBlob(await api.templateFile(id), name);
      notify(`Downloaded ${name}. Use it with: wherein detect ${name} SCENE`);
    }),
  );

/** Save the template to the path of the command line; without a path, download it. */
export function saveTemplate() {
  if (!getState().saveName) return downloadTemplate();
  return withStatus("Saving the template…", () =>
    useTemplate(async ({ id }) => {
      const { name } = await api.saveTemplate(id);
      notify(`Saved to ${name}.`);
    }),
  );
}

async function exportResults(kind) {
  const { suffix, name } = FORMATS[kind];
  await withStatus(`Exporting ${name}…`, async () => {
    const state = getState();
    const scenes = state.scenes.map(({ id }) => id);
    const blob = await withTemplate((template) =>
      api.resultsFile(kind, { ...searchMessage({ ...state, template }), scenes }),
    );
    if (!blob) return;
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
