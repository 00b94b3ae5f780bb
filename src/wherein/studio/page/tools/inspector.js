// The tool for scenes: point at a detection to highlight it.
import { inside } from "../geometry.js";
import { getState, update } from "../store.js";

/** The topmost detected part at a point, as { index, part }; null if there is none. */
function detectionAt(point) {
  const { results, scene, template } = getState();
  const found = results.get(scene)?.data;
  if (!found || !template) return null;
  const leaves = new Set(template.leaves);
  for (let index = 0; index < found.detections.length; index++) {
    const parts = Object.entries(found.detections[index].parts).filter(([name]) => leaves.has(name));
    const hit = parts.reverse().find(([, part]) => inside(point, part.polygon));
    if (hit) return { index, part: hit[0] };
  }
  return null;
}

const hasDetections = () => Boolean(getState().results.get(getState().scene)?.data?.detections.length);

function highlight(found) {
  const last = getState().highlight;
  if (found?.index !== last?.index || found?.part !== last?.part) update({ highlight: found });
}

export const inspectorTool = {
  name: "inspector",
  get hint() {
    return hasDetections() ? "Point at a detection to highlight its parts." : "";
  },

  get touchHint() {
    return hasDetections() ? "Tap a detection to highlight its parts." : "";
  },

  get cursor() {
    return getState().highlight ? "pointer" : "grab";
  },

  hover({ point }) {
    highlight(detectionAt(point));
  },

  click({ point }) {
    highlight(detectionAt(point));
  },

  leave() {
    highlight(null);
  },

  cancel() {
    highlight(null);
  },
};
