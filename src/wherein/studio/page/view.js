// The visible section of a picture and its magnification. Pixel centres are at whole numbers, so the picture
// begins at −0.5.
import { clamp } from "./geometry.js";

const MIN_SCALE = 0.02;
const MAX_SCALE = 64;
const MAX_FIT = 8; // maximum magnification of a small picture that is shown as a whole
const ABOVE = 46; // screen pixels above a picture that is shown as a whole, for the hint
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

  /** Show the whole picture, centred. */
  fit(picture, width, height) {
    const side = Math.min(24, width * 0.03);
    const scale = Math.min((width - 2 * side) / picture.width, (height - ABOVE - BELOW) / picture.height);
    this.scale = clamp(scale, MIN_SCALE, MAX_FIT);
    this.x = (width - picture.width * this.scale) / 2;
    this.y = (height - picture.height * this.scale + ABOVE - BELOW) / 2;
  }

  /** Zoom about a position of the screen, which stays fixed. */
  zoom(factor, [sx, sy]) {
    const scale = clamp(this.scale * factor, MIN_SCALE, MAX_SCALE);
    this.x = sx - ((sx - this.x) * scale) / this.scale;
    this.y = sy - ((sy - this.y) * scale) / this.scale;
    this.scale = scale;
  }

  pan(dx, dy) {
    this.x += dx;
    this.y += dy;
  }

  /** Set the transform of a canvas so that drawing coordinates are pixels of the picture. */
  apply(context, ratio) {
    const s = this.scale * ratio;
    context.setTransform(s, 0, 0, s, ratio * (this.x + this.scale / 2), ratio * (this.y + this.scale / 2));
  }
}
