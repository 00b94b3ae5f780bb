// In a scene: see what was found by pointing at it.
import { inside } from "../geometry.js";
import { now, update } from "../store.js";

/** What was found at a place: the part that was drawn last. */
function foundAt(place) {
  const { results, scene, template } = now();
  const found = results.get(scene)?.data;
  if (!found || !template) return null;
  const leaves = new Set(template.leaves);
  for (let index = 0; index < found.detections.length; index++) {
    const parts = Object.entries(found.detections[index].parts).filter(([name]) => leaves.has(name));
    const hit = parts.reverse().find(([, part]) => inside(place, part.polygon));
    if (hit) return { index, part: hit[0] };
  }
  return null;
}

function light(found) {
  const { highlight } = now();
  if (found?.index !== highlight?.index || found?.part !== highlight?.part) update({ highlight: found });
}

export const lookTool = {
  name: "look",
  hint: "Point at what was found to see which part it is.",

  get cursor() {
    return now().highlight ? "pointer" : "grab";
  },

  hover({ place }) {
    light(foundAt(place));
  },

  click({ place }) {
    light(foundAt(place));
  },

  leave() {
    light(null);
  },

  cancel() {
    light(null);
  },
};
