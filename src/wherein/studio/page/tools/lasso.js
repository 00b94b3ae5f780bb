// The lasso: outline a part in one stroke.
import { view } from "../canvas.js";
import { clampToPicture } from "../draft.js";
import { simplified } from "../geometry.js";
import { stroke, tracePath } from "../paint/shapes.js";
import { getState } from "../store.js";
import { DRAWN, finishOutline } from "./finish.js";

const TOLERANCE = 1.5; // tolerance of the simplification in screen pixels: hands shake

let line = [];

const onPicture = (point) => clampToPicture(getState().draft.picture, point);

export const lassoTool = {
  name: "lasso",
  cursor: "crosshair",
  hint: "Press and draw around the part in one stroke. Release to close the outline.",

  down({ point }) {
    line = [onPicture(point)];
    return true;
  },

  drag({ point }) {
    line.push(onPicture(point));
  },

  up() {
    const points = simplified(line, TOLERANCE / view.scale);
    line = [];
    if (points.length > 2) finishOutline(points);
  },

  cancelGesture() {
    line = [];
  },

  cancel() {
    line = [];
  },

  paint(context) {
    if (line.length < 2) return;
    tracePath(context, line, false);
    stroke(context, view, DRAWN, 2);
  },
};
