// The last step of all drawing tools: an outline becomes a part.
import { addPart, partById, setPoints } from "../draft.js";
import { area, selfIntersects } from "../geometry.js";
import { notify } from "../status.js";
import { edit, getState, update } from "../store.js";

const MIN_AREA = 12; // minimum area of a part in square pixels; a smaller outline is probably a slip

/** The colour of an unfinished outline: the server chooses the colour of the part. */
export const DRAWN = "white";

/** Make a new part from an outline, or replace the outline of the part that is being redrawn. */
export function finishOutline(points) {
  const { draft, redrawing, defaultTurn } = getState();
  if (points.length < 3 || area(points) < MIN_AREA) {
    notify(
      selfIntersects(points)
        ? "The outline crosses itself and encloses nothing. Draw around the part."
        : "The outline is too small. It needs at least three corners.",
    );
    return update({ redrawing: null });
  }
  const redrawn = partById(draft, redrawing);
  if (redrawn)
    edit(`redraw “${redrawn.name}”`, setPoints(draft, redrawing, points), {
      selected: redrawing,
      corner: null,
    });
  else addOutlinedPart(...addPart(draft, points, defaultTurn));
  update({ tool: "select" });
}

function addOutlinedPart(draft, id) {
  const { name, parent } = partById(draft, id);
  edit(`outline “${name}”`, draft, { selected: id, corner: null });
  notify(
    parent === null
      ? "Part added. Outline the parts that move on it, one at a time, or go to Detect."
      : `Part added, attached to “${partById(draft, parent).name}”. Drag its joint to where it rotates.`,
  );
}
