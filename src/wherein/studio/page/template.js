// Has the server compile and check the draft whenever it changes.
import * as api from "./api.js";
import { setColors } from "./colors.js";
import { debounced } from "./dom.js";
import { outlinedParts, toMessage } from "./draft.js";
import { reportError } from "./status.js";
import { getState, update, watch } from "./store.js";

const DELAY = 300; // milliseconds after the last change: a corner that is dragged causes many

let latest = null; // { draft, controller, checking, done } of the last draft that was sent
let partCount = 0;

async function compile() {
  const { draft } = getState();
  if (!draft.picture || !outlinedParts(draft).length) {
    latest?.controller.abort();
    latest = null;
    return update({ template: null, templateError: null, findings: null, checking: false });
  }
  if (latest?.draft === draft) return latest.done;
  latest?.controller.abort();
  latest = { draft, controller: new AbortController(), checking: true };
  latest.done = send(latest);
  return latest.done;
}

async function send(entry) {
  const { draft, controller } = entry;
  const { signal } = controller;
  try {
    const template = await api.makeTemplate(toMessage(draft), signal);
    if (getState().draft !== draft) return;
    update({ template, templateError: null });
    setColors(draft, template.colors);
    check(entry, template, signal);
  } catch (error) {
    if (error.name === "AbortError") return;
    entry.checking = false;
    if (!(error instanceof api.StudioError)) throw error;
    if (error instanceof api.ConnectionError && latest === entry) latest = null; // to be sent again
    if (getState().draft === draft)
      update({ template: null, templateError: error.message, findings: null, checking: false });
  }
}

/** Request the findings. This is a separate request, because the check takes longer than the compilation. */
async function check(entry, template, signal) {
  try {
    const { findings } = await api.findings(template.id, signal);
    entry.checking = false;
    if (getState().template === template) update({ findings, checking: false });
  } catch (error) {
    if (error.name === "AbortError") return;
    entry.checking = false;
    update({ findings: null, checking: false });
    reportError(error);
  }
}

/** The template of the current draft; undefined if it cannot be compiled. */
async function currentTemplate() {
  await compile();
  return getState().template ?? undefined;
}

/**
 * Call `use` with a template, by default that of the current draft. The server keeps only the newest templates of all browsers: if another
 * browser has made newer ones, the template is made again. Undefined if the draft cannot be compiled.
 */
export async function withTemplate(use, known = null) {
  const template = known ?? (await currentTemplate());
  if (!template) return undefined;
  try {
    return await use(template);
  } catch (error) {
    if (error.kind !== "template") throw error;
    latest = null;
    const again = await currentTemplate();
    return again && use(again);
  }
}

const compileSoon = debounced(compile, DELAY);

watch(["connection"], ({ connection }) => connection === "open" && compileSoon());

watch(["draft"], ({ draft }) => {
  // Undo and redo may restore the draft that was sent last. It is not sent again.
  const pending = latest?.draft === draft ? latest.checking : true;
  update({ checking: pending && Boolean(draft.picture && outlinedParts(draft).length) });
  // A new part has no colour until the draft is compiled. Therefore it is compiled without delay.
  const changed = draft.parts.length !== partCount;
  partCount = draft.parts.length;
  changed ? compile() : compileSoon();
});
