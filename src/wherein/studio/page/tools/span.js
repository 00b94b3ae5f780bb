// The box tool and the ellipse tool: drag from one corner of the bounding box to the opposite corner.
import { view } from "../canvas.js";
import { clampToPicture } from "../draft.js";
import { ellipse, rectangle } from "../geometry.js";
import { stroke, tracePath } from "../paint/shapes.js";
import { notify } from "../status.js";
import { getState, update } from "../store.js";
import { Crosshair } from "./crosshair.js";
import { DRAWN, finishOutline } from "./finish.js";

const MIN_SIDE = 3; // minimum side in screen pixels: a shorter drag is a click, not a box

const onPicture = (point) => clampToPicture(getState().draft.picture, point);

class SpanTool {
  cursor = "crosshair";
  #shape; // two opposite corners → the points of the outline
  #start = null;
  #end = null;
  #crosshair = new Crosshair();

  constructor(name, [hint, touchHint], shape) {
    Object.assign(this, { name, hint, touchHint });
    this.#shape = shape;
  }

  down({ point }) {
    this.cancel();
    this.#start = onPicture(point);
    return true;
  }

  drag({ point, shift }) {
    this.#end = onPicture(shift ? squareCorner(this.#start, point) : point);
  }

  up() {
    this.#finish();
  }

  /** The arrow keys move the crosshair; Space sets a corner, and Space or Enter the opposite one. */
  key(event) {
    const { picture } = getState().draft;
    const point = this.#crosshair.point;
    if (this.#crosshair.key(event, picture)) this.#end = this.#start && this.#crosshair.point;
    else if ([" ", "Enter"].includes(event.key) && this.#start) this.#finish();
    else if (event.key === " " && point) this.#start = point;
    else if (event.key === "Escape") {
      if (!this.#start) update({ tool: "select" });
      this.cancel();
    } else return false;
    return true;
  }

  #finish() {
    const [start, end] = [this.#start, this.#end];
    this.cancel();
    const sides = end ? [end[0] - start[0], end[1] - start[1]] : [0, 0];
    if (sides.some((side) => Math.abs(side) * view.scale < MIN_SIDE))
      notify("Press at one corner, and drag to the opposite corner.");
    else finishOutline(this.#shape(start, end).map(onPicture)); // an ellipse's polygon is larger than its box
  }

  cancelGesture() {
    this.cancel();
  }

  cancel() {
    this.#start = this.#end = this.#crosshair.point = null;
  }

  paint(context) {
    if (this.#start && this.#end) {
      tracePath(context, this.#shape(this.#start, this.#end));
      stroke(context, view, DRAWN, 2);
    }
    this.#crosshair.paint(context, DRAWN);
  }
}

/** The corner of the square from `start` towards a point, as large as the longer side. */
function squareCorner([ax, ay], [bx, by]) {
  const side = Math.max(Math.abs(bx - ax), Math.abs(by - ay));
  return [ax + side * Math.sign(bx - ax), ay + side * Math.sign(by - ay)];
}

/** The hints for a mouse with a keyboard, and for fingers. */
const hints = (hint, withKeys) => [hint + withKeys, hint];

export const boxTool = new SpanTool(
  "box",
  hints("Drag from one corner of the part to the opposite one.", " With Shift: a square."),
  rectangle,
);

export const ellipseTool = new SpanTool(
  "ellipse",
  hints("Drag from one corner of the ellipse's box to the opposite one.", " With Shift: a circle."),
  ellipse,
);
