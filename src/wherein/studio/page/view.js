// Which part of a picture is seen, and how large. A pixel's centre is at a whole number, so the picture
// begins half a pixel before 0.
import { clamp } from "./geometry.js";

const SMALLEST = 0.02;
const LARGEST = 64;
const ABOVE = 46; // pixels of the screen above a whole picture, for the hint, and below it
const BELOW = 20;

export class View {
  scale = 1;
  x = 0;
  y = 0;

  toScreen([x, y]) {
    return [(x + 0.5) * this.scale + this.x, (y + 0.5) * this.scale + this.y];
  }

  toPicture([sx, sy]) {
    return [(sx - this.x) / this.scale - 0.5, (sy - this.y) / this.scale - 0.5];
  }

  /** The whole picture, in the middle of a window. */
  fit(picture, width, height) {
    const side = Math.min(24, width * 0.03);
    const room = Math.min((width - 2 * side) / picture.width, (height - ABOVE - BELOW) / picture.height);
    this.scale = clamp(room, SMALLEST, 8);
    this.x = (width - picture.width * this.scale) / 2;
    this.y = (height - picture.height * this.scale + ABOVE - BELOW) / 2;
  }

  /** Larger or smaller, with what lies under a place of the screen staying there. */
  zoom(factor, [sx, sy]) {
    const scale = clamp(this.scale * factor, SMALLEST, LARGEST);
    this.x = sx - ((sx - this.x) * scale) / this.scale;
    this.y = sy - ((sy - this.y) * scale) / this.scale;
    this.scale = scale;
  }

  pan(dx, dy) {
    this.x += dx;
    this.y += dy;
  }

  /** Let a canvas be drawn on in picture pixels. */
  apply(context, ratio) {
    const s = this.scale * ratio;
    context.setTransform(s, 0, 0, s, ratio * (this.x + this.scale / 2), ratio * (this.y + this.scale / 2));
  }
}
