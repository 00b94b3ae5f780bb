// Outline a part in one stroke; a hand shakes, so the line is made simpler than it was drawn.
import { within } from "../draft.js";
import { simplified } from "../geometry.js";
import { stroke, trace } from "../paint/shapes.js";
import { view } from "../stage.js";
import { now } from "../store.js";
import { finish } from "./outline.js";

const TOLERANCE = 1.5; // pixels of the screen

let line = [];

const onPicture = (place) => within(now().draft.picture, place);

export const lassoTool = {
  name: "lasso",
  cursor: "crosshair",
  hint: "Press and draw around the part in one stroke; let go to close it.",

  down({ place }) {
    line = [onPicture(place)];
    return true;
  },

  drag({ place }) {
    line.push(onPicture(place));
  },

  up() {
    const points = simplified(line, TOLERANCE / view.scale);
    line = [];
    if (points.length > 2) finish(points);
  },

  cancelGesture() {
    line = [];
  },

  cancel() {
    line = [];
  },

  paint(context) {
    if (line.length < 2) return;
    trace(context, line, false);
    stroke(context, view, "white", 2);
  },
};
