// The snap tool: outline a part corner by corner; the line between two corners follows edges of the picture.
import * as api from "../api.js";
import { repaint } from "../canvas.js";
import { rounded } from "../geometry.js";
import { reportError } from "../status.js";
import { getState } from "../store.js";
import { CornerTool } from "./corners.js";

const MAX_REACH = 200; // maximum reach that the server accepts, in picture pixels

/** The path along edges from `start` (null: none) to an edge near `end`. */
async function edgePath(start, end, reach) {
  const wanted = { start, end, reach: Math.min(reach, MAX_REACH) };
  const { path } = await api.edgePath(getState().draft.picture.id, wanted);
  return path.map((point) => point.map((value) => rounded(value)));
}

class SnapTool extends CornerTool {
  #followed = null; // { from, path }: the last path to the pointer from the server
  #asking = false;

  async route(before, corner) {
    await before?.ready; // it may still move to an edge
    try {
      const path = await edgePath(before?.point ?? null, corner.point, corner.reach);
      corner.path = before ? path.slice(1) : path;
      corner.point = path.at(-1);
    } catch (error) {
      reportError(error); // the line stays straight
    }
  }

  get preview() {
    const isCurrent = this.pointer && this.#followed && this.#followed.from === this.corners.at(-1)?.point;
    return isCurrent ? this.#followed.path : super.preview;
  }

  hover(event) {
    super.hover(event);
    this.#follow(event.reach);
  }

  /** Show the path to the pointer, with one request at a time: the pointer moves faster than paths are found. */
  async #follow(reach) {
    const last = this.corners.at(-1);
    if (this.#asking || !last || !this.pointer) return;
    this.#asking = true;
    const { pointer } = this;
    try {
      await last.ready;
      this.#followed = { from: last.point, path: (await edgePath(last.point, pointer, reach)).slice(1) };
      repaint();
    } catch {
      this.#followed = null; // the error is reported when the user clicks
    }
    this.#asking = false;
    if (this.#followed && this.pointer && this.pointer !== pointer) this.#follow(reach);
  }
}

export const snapTool = new SnapTool(
  "snap",
  "Click along the edge of the part: the line follows it. Click the first corner to close the outline.",
  "Tap along the edge of the part: the line follows it. Tap the first corner to close the outline.",
);
