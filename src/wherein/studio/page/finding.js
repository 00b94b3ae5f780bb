// From a draft to a template, and from a template to what is found: asked anew whenever something changes,
// soon enough to be seen at once, and never twice for the same.
import * as api from "./api.js";
import { debounced } from "./dom.js";
import { outlined, toMessage } from "./draft.js";
import { complain, doing, progress } from "./status.js";
import { now, update, watch } from "./store.js";

const CHECK = 300; // milliseconds of rest before a draft is cut out
const LOOK = 140; // and before a scene is searched
const POLL = 500; // between questions about a calibration

let cutting = null; // { draft, abort, done } of the last draft that was sent
let looking = null;
let polling = false;

/** Let the server cut the draft out, and say what makes it hard to find. */
async function cut() {
  const { draft } = now();
  if (!draft.picture || !outlined(draft).length) {
    cutting?.abort.abort();
    cutting = null;
    return update({ template: null, problem: null, findings: null, checking: false });
  }
  if (cutting?.draft === draft) return cutting.done;
  cutting?.abort.abort();
  const abort = new AbortController();
  cutting = { draft, abort, done: sent(draft, abort.signal) };
  return cutting.done;
}

async function sent(draft, signal) {
  try {
    const template = await api.makeTemplate(toMessage(draft), signal);
    if (now().draft !== draft) return;
    update({ template, problem: null });
    check(template, signal);
  } catch (error) {
    if (error.name === "AbortError") return;
    if (!(error instanceof api.StudioError)) throw error;
    if (now().draft === draft)
      update({ template: null, problem: error.message, findings: null, checking: false });
  }
}

/** Ask what makes it hard to find, which takes longer than to cut it out. */
async function check(template, signal) {
  try {
    const { findings } = await api.findings(template.id, signal);
    if (now().template === template) update({ findings, checking: false });
  } catch (error) {
    if (error.name === "AbortError") return;
    update({ findings: null, checking: false });
    complain(error);
  }
}

/** The template as the draft is now; undefined where there is none, and the panel says why. */
export async function currentTemplate() {
  await cut();
  return now().template ?? undefined;
}

export const wish = ({ template, settings }) => ({ template: template.id, ...settings });

const keyOf = ({ template, settings }) => JSON.stringify([template?.id, settings]);

const isDone = (result, key) => result?.key === key && (result.error || result.data.ground === "measured");

/** Look in the scene that is shown, and then, once scores mean something, in the others. */
async function look() {
  const { mode, template, scenes, scene } = now();
  looking?.abort();
  if (mode !== "find" || !template || !scene) return;
  const abort = (looking = new AbortController());
  const key = keyOf(now());
  const order = [scene, ...scenes.map(({ id }) => id).filter((id) => id !== scene)];
  for (const id of order) {
    if (isDone(now().results.get(id), key)) continue;
    const name = scenes.find((one) => one.id === id)?.name ?? "a scene";
    const result = await doing(`Looking in ${name}…`, () => asked(id, key, abort.signal));
    if (!result || abort.signal.aborted) return;
    update({ results: new Map(now().results).set(id, result) });
    if (!result.data) continue;
    follow(result.data.calibration);
    if (result.data.ground === "measured") continue;
    // It may have become known while the scene was searched.
    if (!result.data.calibration.running && !result.data.calibration.error) lookSoon();
    return;
  }
}

async function asked(id, key, signal) {
  try {
    return { key, data: await api.detect({ ...wish(now()), scene: id }, signal) };
  } catch (error) {
    if (!(error instanceof api.StudioError)) throw error;
    return { key, error: error.message };
  }
}

/** Tell how far a calibration is, until it is done; then look again. */
function follow(calibration) {
  update({ calibration });
  progress(calibration.running ? calibration.share : null);
  if (!calibration.running || polling) return;
  polling = true;
  setTimeout(async () => {
    polling = false;
    try {
      const next = await api.calibration();
      follow(next);
      if (!next.running && !next.error) look();
    } catch (error) {
      progress(null);
      update({ calibration: { ...calibration, running: false } });
      complain(error);
    }
  }, POLL);
}

const cutSoon = debounced(cut, CHECK);
const lookSoon = debounced(look, LOOK);

watch(["draft"], ({ draft }) => {
  update({ checking: Boolean(draft.picture && outlined(draft).length) });
  cutSoon();
});
watch(["mode", "template", "settings", "scene"], lookSoon);
watch(["scenes"], ({ scenes, scene, results }) => {
  const there = new Set(scenes.map(({ id }) => id));
  if (!there.has(scene)) update({ scene: scenes[0]?.id ?? null });
  update({ results: new Map([...results].filter(([id]) => there.has(id))) });
  lookSoon();
});
