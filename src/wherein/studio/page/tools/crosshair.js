// A place that is moved by keys: for those who draw without a mouse.
import { clamp } from "../geometry.js";
import { centre, reveal, view } from "../stage.js";
import { stroke } from "../paint/shapes.js";

const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

export class Crosshair {
  place = null;

  /** Move it as an arrow says: by 8 pixels of the screen, with Shift by one of the picture. */
  key(event, picture, start = null) {
    const step = STEPS[event.key];
    if (!step) return false;
    this.place ??= start ?? centre().map(Math.round);
    const by = event.shiftKey ? 1 : Math.max(1, Math.round(8 / view.scale));
    this.place = [
      clamp(this.place[0] + step[0] * by, 0, picture.width - 1),
      clamp(this.place[1] + step[1] * by, 0, picture.height - 1),
    ];
    reveal(this.place);
    return true;
  }

  paint(context, color) {
    if (!this.place) return;
    const [x, y] = this.place;
    const arm = 14 / view.scale;
    context.beginPath();
    context.moveTo(x - arm, y);
    context.lineTo(x + arm, y);
    context.moveTo(x, y - arm);
    context.lineTo(x, y + arm);
    stroke(context, view, color, 1.6);
  }
}
