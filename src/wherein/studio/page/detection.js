// Search the scenes whenever the template or a setting changes, and follow the calibration.
import * as api from "./api.js";
import { debounced } from "./dom.js";
import { reportError, showProgress, withStatus } from "./status.js";
import { getState, update, watch } from "./store.js";

const DELAY = 140; // milliseconds after the last change: a slider causes many
const POLL = 500; // milliseconds between requests for the progress of a calibration

let controller = null; // of the search that is running
let polling = false;

/** The message for a search: the template and the settings. */
export const searchMessage = ({ template, settings }) => ({ template: template.id, ...settings });

const keyOf = ({ template, settings }) => JSON.stringify([template?.id, settings]);

/** Whether a result needs no further search: it is for these settings, and fully calibrated. */
const isFinal = (result, key) =>
  result?.key === key && (result.error || result.data.calibration_kind === "measured");

/** Search the scene that is shown, and, once the calibration is measured, the others. */
async function search() {
  const { mode, template, scenes, scene } = getState();
  controller?.abort();
  if (mode !== "detect" || !template || !scene) return;
  const { signal } = (controller = new AbortController());
  const key = keyOf(getState());
  const order = [scene, ...scenes.map(({ id }) => id).filter((id) => id !== scene)];
  for (const id of order) {
    if (isFinal(getState().results.get(id), key)) continue;
    const name = scenes.find((one) => one.id === id)?.name ?? "the scene";
    const result = await withStatus(`Searching ${name}…`, () => searchScene(id, key, signal));
    if (!result || signal.aborted) return;
    update({ results: new Map(getState().results).set(id, result) });
    if (!result.data) continue;
    followCalibration(result.data.calibration);
    if (result.data.calibration_kind === "measured") continue;
    // The calibration may have ended while the scene was searched.
    if (!result.data.calibration.running && !result.data.calibration.error) searchSoon();
    return;
  }
}

async function searchScene(id, key, signal) {
  try {
    return { key, data: await api.detect({ ...searchMessage(getState()), scene: id }, signal) };
  } catch (error) {
    if (!(error instanceof api.StudioError)) throw error;
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

watch(["mode", "template", "settings", "scene"], searchSoon);
watch(["scenes"], ({ scenes, scene, results }) => {
  const ids = new Set(scenes.map(({ id }) => id));
  if (!ids.has(scene)) update({ scene: scenes[0]?.id ?? null });
  update({ results: new Map([...results].filter(([id]) => ids.has(id))) });
  searchSoon();
});
