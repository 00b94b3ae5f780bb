// Searches the scenes when the template or a setting changes, and shows the progress of the calibration.
import * as api from "./api.js";
import { debounced } from "./dom.js";
import { reportError, showProgress, withStatus } from "./status.js";
import { getState, update, watch } from "./store.js";
import { withTemplate } from "./template.js";

const DELAY = 140; // milliseconds after the last change: a slider causes many
const POLL = 500; // milliseconds between requests for the progress of a calibration

let running = null; // { key, controller } of the current search
let polling = false;

/** The request of a search: the template and the settings. */
export const searchMessage = ({ template, settings }) => ({ template: template.id, ...settings });

const keyOf = ({ template, settings }) => JSON.stringify([template?.id, settings]);

/** The result of a scene with the current template and settings; null if it is not known yet. */
export function currentResult(state, id) {
  const result = state.results.get(id);
  return result?.key === keyOf(state) ? result : null;
}

/** The totals over all scenes, such as “3 found in 2 of 5 scenes, 1 waiting”; empty for less than two. */
export function totalsText(state) {
  const { scenes, uploads } = state;
  const results = scenes.map(({ id }) => currentResult(state, id));
  const counts = results.map((result) => result?.data?.detections.length ?? 0);
  const waiting = results.filter((result) => !result).length + uploads.length;
  const all = scenes.length + uploads.length;
  if (all < 2) return "";
  if (waiting === all) return `${all} scenes waiting`;
  const total = counts.reduce((sum, count) => sum + count, 0);
  const hits = counts.filter(Boolean).length;
  const failed = results.filter((result) => result?.error).length;
  return [
    `${total} found in ${hits} of ${all} scenes`,
    ...(failed ? [`${failed} failed`] : []),
    ...(waiting ? [`${waiting} waiting`] : []),
  ].join(", ");
}

/** Whether a result is final: it has a measured calibration, or is an error. */
const isFinal = (result) => Boolean(result?.error) || result?.data.calibration_kind === "measured";

/** The next scene to search: the one that is shown, then the others in their order; undefined: none. */
function nextScene(state) {
  const { scenes, scene } = state;
  const waits = ({ id }) => !isFinal(currentResult(state, id));
  return [...scenes.filter(({ id }) => id === scene), ...scenes].find(waits);
}

function stop() {
  running?.controller.abort();
  running = null;
  update({ searching: null });
}

/** Search all scenes. If this is in progress already, it includes new scenes and changes of the order. */
async function search() {
  const state = getState();
  const possible = state.mode === "detect" && state.template && state.scene && state.connection === "open";
  if (!possible) return stop();
  if (running?.key === keyOf(state)) return;
  stop();
  const run = { key: keyOf(state), controller: new AbortController() };
  running = run;
  await searchScenes(run);
  if (running === run) stop();
}

/** Search the shown scene and, when the calibration is measured, the others. */
async function searchScenes(run) {
  for (let scene = nextScene(getState()); scene && running === run; scene = nextScene(getState())) {
    const { id, name } = scene;
    update({ searching: id });
    const result = await withStatus(`Searching ${name}…`, () => searchScene(id, run));
    if (!result || running !== run) return;
    const isThere = getState().scenes.some((one) => one.id === id); // it may have been removed meanwhile
    if (isThere) update({ results: new Map(getState().results).set(id, result) });
    if (!result.data) continue;
    followCalibration(result.data.calibration);
    if (result.data.calibration_kind === "measured") continue;
    // The calibration may have ended while the scene was searched.
    if (!result.data.calibration.running && !result.data.calibration.error) searchSoon();
    return;
  }
}

async function searchScene(id, { key, controller }) {
  try {
    const { template: known, settings } = getState();
    const data = await withTemplate(
      (template) => api.detect({ ...searchMessage({ template, settings }), scene: id }, controller.signal),
      known,
    );
    return data && { key, data };
  } catch (error) {
    // Without a connection there is no result. The scene is searched when the server answers again.
    if (!(error instanceof api.StudioError) || error instanceof api.ConnectionError) throw error;
    return { key, error: error.message };
  }
}

/** Show the progress of a calibration until it ends, then search again. */
function followCalibration(calibration) {
  update({ calibration });
  showProgress(calibration.running ? calibration.fraction : null);
  if (!calibration.running || polling) return;
  polling = true;
  setTimeout(async () => {
    polling = false;
    try {
      const next = await api.calibration();
      followCalibration(next);
      if (!next.running && !next.error) search();
    } catch (error) {
      showProgress(null);
      update({ calibration: { ...calibration, running: false } });
      reportError(error);
    }
  }, POLL);
}

const searchSoon = debounced(search, DELAY);

watch(["mode", "template", "settings", "scene", "connection"], searchSoon);
watch(["scenes"], ({ scenes, scene, results }) => {
  const ids = new Set(scenes.map(({ id }) => id));
  if (!ids.has(scene)) update({ scene: scenes[0]?.id ?? null });
  update({ results: new Map([...results].filter(([id]) => ids.has(id))) });
  searchSoon();
});
