// A crosshair that is moved by the arrow keys, for drawing outlines without a mouse.
import { reveal, view, visibleCenter } from "../canvas.js";
import { clamp } from "../geometry.js";
import { stroke } from "../paint/shapes.js";
import { ARROWS } from "./arrows.js";

const STEP = 8; // pixels of the screen per key press
const ARM = 14; // pixels of the screen

export class Crosshair {
  point = null;

  /** Move by an arrow key, with Shift by one pixel of the picture; returns whether the key was an arrow. */
  key(event, picture) {
    const step = ARROWS[event.key];
    if (!step) return false;
    this.point ??= visibleCenter().map(Math.round);
    const by = event.shiftKey ? 1 : Math.max(1, Math.round(STEP / view.scale));
    this.point = [
      clamp(this.point[0] + step[0] * by, 0, picture.width - 1),
      clamp(this.point[1] + step[1] * by, 0, picture.height - 1),
    ];
    reveal(this.point);
    return true;
  }

  paint(context, color) {
    if (!this.point) return;
    const [x, y] = this.point;
    const arm = ARM / view.scale;
    context.beginPath();
    context.moveTo(x - arm, y);
    context.lineTo(x + arm, y);
    context.moveTo(x, y - arm);
    context.lineTo(x, y + arm);
    stroke(context, view, color, 1.6);
  }
}
