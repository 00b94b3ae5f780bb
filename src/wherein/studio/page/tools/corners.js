// Tools that outline a part corner by corner: with straight lines, or with lines that the server routes.
import { repaint, view } from "../canvas.js";
import { clampToPicture } from "../draft.js";
import { distance } from "../geometry.js";
import { drawDot, stroke, tracePath } from "../paint/shapes.js";
import { getState, update, watch } from "../store.js";
import { Crosshair } from "./crosshair.js";
import { DRAWN, finishOutline } from "./finish.js";

const CLOSE_COLOR = "#3450f0"; // colour of the first corner when a click on it would close the outline

const KEY_REACH = 9; // reach of corners that are set by the keyboard, in screen pixels: the same as of a mouse

const onPicture = (point) => clampToPicture(getState().draft.picture, point);

/**
 * A tool with clicked corners. Each is { point, path, reach, ready }: its position, the points from the corner
 * before it up to itself, how far it may be moved to an edge, and a promise that point and path are final.
 */
export class CornerTool {
  cursor = "crosshair";
  corners = [];
  pointer = null; // the point under the mouse or the crosshair
  #crosshair = new Crosshair();
  #picture = null; // the picture on which the corners are

  constructor(name, hint, touchHint) {
    Object.assign(this, { name, hint, touchHint });
    watch(["draft"], ({ draft }) => {
      if (draft.picture === this.#picture) return;
      this.#picture = draft.picture;
      this.cancel();
    });
  }

  /** Change the position of a new corner and the path to it. Straight lines need no change. */
  async route(_before, _corner) {}

  /** The points from the last corner to the pointer. */
  get preview() {
    return this.pointer ? [this.pointer] : [];
  }

  #add(point, reach) {
    const before = this.corners.at(-1) ?? null;
    const corner = { point, path: [point], reach, ready: null };
    corner.ready = this.route(before, corner).then(repaint);
    this.corners.push(corner);
    repaint();
  }

  async #close() {
    const { corners } = this;
    const encloses = corners.length > 2;
    this.#crosshair.point = this.pointer = null;
    await corners.at(-1).ready; // each corner waits for the one before, so that now all are ready
    if (encloses && this.corners === corners) this.#add(corners[0].point, 0);
    const count = corners.length;
    await corners.at(-1)?.ready;
    if (this.corners !== corners || corners.length !== count) return; // cancelled or undone meanwhile
    this.corners = [];
    const points = corners.flatMap((corner) => corner.path);
    finishOutline(encloses ? points.slice(0, -1) : points); // the last point repeats the first
  }

  /** Remove the last corner; returns whether there was one. */
  undoStep = () => this.corners.pop() !== undefined;

  menu = this.undoStep;

  #closes({ point, reach }) {
    return this.corners.length > 2 && distance(point, this.corners[0].point) <= reach * 1.3;
  }

  down() {
    return true;
  }

  drag({ point }) {
    this.pointer = point;
  }

  up(event) {
    this.#crosshair.point = null;
    if (this.#closes(event)) return this.#close();
    this.#add(onPicture(event.point), event.reach);
    this.pointer = event.point;
  }

  hover(event) {
    this.pointer = this.#closes(event) ? this.corners[0].point : event.point;
  }

  leave() {
    this.pointer = null;
  }

  doubleClick() {
    if (this.corners.length < 4) return; // both clicks of the double click added a corner, at the same point
    this.corners.pop();
    this.#close();
  }

  key(event) {
    const { picture } = getState().draft;
    if (this.#crosshair.key(event, picture)) this.pointer = this.#crosshair.point;
    else if (event.key === " " && this.#crosshair.point) this.#add(this.#crosshair.point, KEY_REACH / view.scale);
    else if (event.key === "Enter" && this.corners.length) this.#close();
    else if (event.key === "Backspace" && this.corners.length) this.undoStep();
    else if (event.key === "Escape") {
      if (!this.corners.length) update({ tool: "select" });
      this.corners = [];
      this.#crosshair.point = null;
    } else return false;
    return true;
  }

  cancel() {
    this.corners = [];
    this.pointer = this.#crosshair.point = null;
  }

  paint(context) {
    const points = this.corners.flatMap((corner) => corner.path);
    const line = points.length ? [...points, ...this.preview] : points;
    if (line.length > 1) {
      tracePath(context, line, false);
      stroke(context, view, DRAWN, 2);
    }
    for (const { point } of this.corners.slice(1)) drawDot(context, view, point, DRAWN, { radius: 3.5 });
    const filled = this.corners.length > 2;
    if (this.corners.length)
      drawDot(context, view, this.corners[0].point, filled ? CLOSE_COLOR : DRAWN, { radius: 6.5, filled });
    this.#crosshair.paint(context, DRAWN);
  }
}
