// Put the joint of the chosen part where it turns.
import { changePart, isBody, partOf, within } from "../draft.js";
import { reveal } from "../stage.js";
import { tell } from "../status.js";
import { edit, now, settle, update } from "../store.js";
import { partAt } from "./select.js";

const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

function put(place) {
  const { draft, selected } = now();
  const pivot = within(draft.picture, place);
  edit("move a joint", changePart(draft, selected, { pivot, static: false }), { gesture: "joint" });
}

/** The part whose joint it is; what is pressed on where none is chosen. */
function chosen(place) {
  const { draft, selected } = now();
  const id = selected ?? partAt(place);
  const part = partOf(draft, id);
  if (!part) return null;
  if (isBody(draft, part)) {
    tell(`“${part.name}” is what everything hangs on: it has no joint. Choose a part that moves on it.`);
    return null;
  }
  update({ selected: id });
  return part;
}

export const jointTool = {
  name: "joint",
  cursor: "crosshair",
  hint: "Press where the chosen part turns; arrow keys move its joint by a pixel.",

  down({ place }) {
    if (!chosen(place)) return false;
    put(place);
    return true;
  },

  drag({ place }) {
    put(place);
  },

  up() {
    settle();
  },

  click({ place }) {
    if (now().selected === null) update({ selected: partAt(place) });
  },

  key(event) {
    const part = partOf(now().draft, now().selected);
    if (event.key === "Escape" || event.key === "Enter") {
      update({ tool: "select" });
      return true;
    }
    const step = STEPS[event.key];
    if (!step || !part?.pivot || !chosen(part.pivot)) return false;
    const by = event.shiftKey ? 10 : 1;
    put([part.pivot[0] + step[0] * by, part.pivot[1] + step[1] * by]);
    reveal(partOf(now().draft, part.id).pivot);
    return true;
  },

  cancelGesture: settle,
};
