// Pictures and scenes as bitmaps for the canvas. Each is fetched once, when it is first needed.
import * as api from "./api.js";
import { repaint } from "./canvas.js";
import { reportError } from "./status.js";

const MAX_BITMAPS = 24; // in memory; the oldest is dropped
const bitmaps = new Map();

/** The bitmap, or null while it is being fetched; the canvas is repainted when it arrives. */
function getBitmap(key, fetchBitmap) {
  if (bitmaps.has(key)) return bitmaps.get(key).bitmap;
  const entry = { bitmap: null, ready: null };
  bitmaps.set(key, entry);
  entry.ready = fetchBitmap()
    .then((bitmap) => {
      entry.bitmap = bitmap;
      repaint();
    })
    .catch(reportError);
  for (const old of [...bitmaps.keys()].slice(0, -MAX_BITMAPS)) bitmaps.delete(old);
  return null;
}

export const pictureBitmap = (id) => getBitmap(`picture ${id}`, () => api.picture(id));

export const sceneBitmap = (id) => getBitmap(`scene ${id}`, () => api.scene(id));

/** Wait for the bitmap of a scene; null if it cannot be fetched. */
export async function loadedSceneBitmap(id) {
  sceneBitmap(id);
  await bitmaps.get(`scene ${id}`)?.ready;
  return bitmaps.get(`scene ${id}`)?.bitmap ?? null;
}
