// The pictures that the server holds, as bitmaps to paint: each is fetched once, when it is first wanted.
import * as api from "./api.js";
import { repaint } from "./stage.js";
import { complain } from "./status.js";

const MOST = 24;
const held = new Map();

function wanted(key, fetched) {
  if (held.has(key)) return held.get(key).bitmap;
  const entry = { bitmap: null, ready: null };
  held.set(key, entry);
  entry.ready = fetched()
    .then((bitmap) => {
      entry.bitmap = bitmap;
      repaint();
    })
    .catch(complain);
  for (const old of [...held.keys()].slice(0, -MOST)) held.delete(old);
  return null;
}

export const pictureBitmap = (id) => wanted(`picture ${id}`, () => api.picture(id));

export const sceneBitmap = (id) => wanted(`scene ${id}`, () => api.scene(id));

/** When a scene's bitmap is there. */
export async function sceneReady(id) {
  sceneBitmap(id);
  await held.get(`scene ${id}`)?.ready;
  return held.get(`scene ${id}`)?.bitmap ?? null;
}
