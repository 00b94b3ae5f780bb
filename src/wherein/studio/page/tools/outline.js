// The outline tool: outline a part corner by corner.
import { repaint, view } from "../canvas.js";
import { addPart, clampToPicture, partById, setPoints } from "../draft.js";
import { area, distance, selfIntersects } from "../geometry.js";
import { drawDot, stroke, tracePath } from "../paint/shapes.js";
import { notify } from "../status.js";
import { edit, getState, update, watch } from "../store.js";
import { Crosshair } from "./crosshair.js";

const MIN_AREA = 12; // square pixels of a part; smaller is taken for a slip
const COLOR = "white"; // of an unfinished outline: the server chooses the colour of the part
const CLOSE_COLOR = "#3450f0"; // of the first corner, once a click on it closes the outline

let corners = [];
let pointer = null; // the point under the mouse or the crosshair
let picture = null; // that the corners are on
const crosshair = new Crosshair();

/** Make a new part of an outline, or replace the outline of the part that is being redrawn. */
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
  update({ tool: "select", redrawing: null });
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

function addCorner(point) {
  corners.push(clampToPicture(getState().draft.picture, point));
  repaint();
}

function close() {
  const points = corners;
  corners = [];
  crosshair.point = null;
  finishOutline(points);
}

/** Remove the last corner; whether there was one. */
const undoStep = () => corners.pop() !== undefined;

const closes = ({ point, reach }) => corners.length > 2 && distance(point, corners[0]) <= reach * 1.3;

export const outlineTool = {
  name: "outline",
  cursor: "crosshair",
  hint: "Click around the part, corner by corner. Click the first corner or press Enter to close the outline.",
  undoStep,

  down: () => true,

  drag({ point }) {
    pointer = point;
  },

  up(event) {
    crosshair.point = null;
    if (closes(event)) return close();
    addCorner(event.point);
    pointer = event.point;
  },

  hover(event) {
    pointer = closes(event) ? corners[0] : event.point;
  },

  leave() {
    pointer = null;
  },

  doubleClick() {
    if (corners.length < 4) return; // both clicks of it added a corner, at the same point
    corners.pop();
    close();
  },

  menu: undoStep,

  key(event) {
    const { draft } = getState();
    if (!draft.picture) return false;
    if (crosshair.key(event, draft.picture)) pointer = crosshair.point;
    else if (event.key === " " && crosshair.point) addCorner(crosshair.point);
    else if (event.key === "Enter" && corners.length) close();
    else if (event.key === "Backspace" && corners.length) undoStep();
    else if (event.key === "Escape") {
      if (!corners.length) update({ tool: "select", redrawing: null });
      corners = [];
      crosshair.point = null;
    } else return false;
    repaint();
    return true;
  },

  cancel() {
    corners = [];
    pointer = crosshair.point = null;
  },

  paint(context) {
    const line = pointer && corners.length ? [...corners, pointer] : corners;
    if (line.length > 1) {
      tracePath(context, line, false);
      stroke(context, view, COLOR, 2);
    }
    corners.slice(1).forEach((corner) => drawDot(context, view, corner, COLOR, { radius: 3.5 }));
    const filled = corners.length > 2;
    if (corners.length)
      drawDot(context, view, corners[0], filled ? CLOSE_COLOR : COLOR, { radius: 6.5, filled });
    crosshair.paint(context, COLOR);
  },
};

watch(["draft"], ({ draft }) => {
  if (draft.picture === picture) return;
  picture = draft.picture;
  outlineTool.cancel();
});
