// The joint tool: place the joint of the selected part.
import { reveal } from "../canvas.js";
import { changePart, clampToPicture, isBody, partById } from "../draft.js";
import { notify } from "../status.js";
import { edit, endGesture, getState, update } from "../store.js";
import { arrowMove } from "./arrows.js";
import { partAt } from "./selection.js";

function placeJoint(point) {
  const { draft, selected } = getState();
  const pivot = clampToPicture(draft.picture, point);
  edit("move a joint", changePart(draft, selected, { pivot, static: false }), { gesture: "joint" });
}

/** Select the part at a point unless one is selected; null if there is none, or if it has no joint. */
function ensureSelection(point) {
  const { draft, selected } = getState();
  const id = selected ?? partAt(point);
  const part = partById(draft, id);
  if (!part) return null;
  if (isBody(draft, part)) {
    notify(`“${part.name}” is the body and has no joint. Select a part that is attached to it.`);
    return null;
  }
  update({ selected: id });
  return part;
}

export const jointTool = {
  name: "joint",
  cursor: "crosshair",
  hint: "Click where the selected part rotates. The arrow keys move the joint by a pixel.",
  touchHint: "Tap where the selected part rotates.",

  down({ point }) {
    if (!ensureSelection(point)) return false;
    placeJoint(point);
    return true;
  },

  drag({ point }) {
    placeJoint(point);
  },

  up() {
    endGesture();
  },

  click({ point }) {
    if (getState().selected === null) update({ selected: partAt(point) });
  },

  key(event) {
    if (event.key === "Escape" || event.key === "Enter") {
      update({ tool: "select" });
      return true;
    }
    const part = partById(getState().draft, getState().selected);
    const moved = part?.pivot ? arrowMove(event, part.pivot) : null;
    if (!moved || !ensureSelection(part.pivot)) return false;
    placeJoint(moved);
    reveal(partById(getState().draft, part.id).pivot);
    return true;
  },

  cancelGesture: endGesture,
};
