// What a person takes home: the template, and what was found.
import * as api from "../api.js";
import { $, h } from "../dom.js";
import { currentTemplate, wish } from "../finding.js";
import { doing, tell } from "../status.js";
import { now, update, watch } from "../store.js";

const SUFFIX = { json: ".jsonl", coco: "-coco.json", report: ".html" };
const WORDS = { json: "the JSON", coco: "the COCO file", report: "the report" };

const stem = (name) =>
  name
    .trim()
    .replace(/[^\p{L}\p{N} ._-]+/gu, "_")
    .replace(/^\.+/, "") || "template";

function download(blob, name) {
  const link = h("a", { href: URL.createObjectURL(blob), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

/** The template, or why there is none. */
async function template() {
  const made = await currentTemplate();
  if (!made)
    tell(
      now().problem ?? "There is nothing to save yet: load a picture and outline something on it.",
      "error",
    );
  return made;
}

export async function downloadTemplate() {
  await doing("Packing the template…", async () => {
    const made = await template();
    if (!made) return;
    const { draft } = now();
    download(await api.templateFile(made.id), `${stem(draft.name)}.zip`);
    update({ saved: draft });
    tell(`Downloaded ${stem(draft.name)}.zip: wherein detect takes it as it is.`);
  });
}

export async function saveTemplate() {
  if (!now().save) return downloadTemplate();
  return doing("Saving the template…", async () => {
    const made = await template();
    if (!made) return;
    const { draft } = now();
    const { name } = await api.saveTemplate(made.id);
    update({ saved: draft });
    tell(`Saved to ${name}.`);
  });
}

async function exportAs(kind) {
  await doing(`Writing ${WORDS[kind]}…`, async () => {
    const state = now();
    const blob = await api.exported(kind, { ...wish(state), scenes: state.scenes.map(({ id }) => id) });
    download(blob, `${stem(state.draft.name)}${SUFFIX[kind]}`);
    tell(
      `Downloaded ${WORDS[kind]} about ${state.scenes.length === 1 ? "one scene" : `${state.scenes.length} scenes`}.`,
    );
  });
}

$("#save").addEventListener("click", saveTemplate);
$("#download").addEventListener("click", downloadTemplate);
for (const button of document.querySelectorAll("[data-export]"))
  button.addEventListener("click", () => exportAs(button.dataset.export));

watch(["draft", "saved", "save", "template"], ({ draft, saved, save, template: made }) => {
  const open = draft.parts.length > 0 && draft !== saved;
  $("#save").classList.toggle("unsaved", open);
  $("#save-words").textContent = save ? `Save to ${save.name}` : "Download template";
  $("#save").disabled = !draft.parts.length;
  $("#download").hidden = !save;
  $("#download").disabled = !made;
});

watch(["results", "scene", "template"], ({ results, scene, template: made }) => {
  const ready = Boolean(made) && results.get(scene)?.data?.ground === "measured";
  for (const button of document.querySelectorAll("[data-export]")) button.disabled = !ready;
  $("#export-wait").hidden = ready;
});

addEventListener("beforeunload", (event) => {
  const { draft, saved } = now();
  if (draft.parts.length && draft !== saved) event.preventDefault();
});
