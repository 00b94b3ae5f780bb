// The select tool: select a part, and drag its handles (corners, joint, and the ends of its arc).
import { reveal, view } from "../canvas.js";
import { $ } from "../dom.js";
import {
  changePart,
  childrenOf,
  clampToPicture,
  isBody,
  partById,
  removePart,
  rotates,
  setPoints,
} from "../draft.js";
import { distance, inside, midpoint, nearestEdge } from "../geometry.js";
import { openMenu } from "../menu.js";
import { arcOf, turnAt } from "../paint/arc.js";
import { duplicatePart, mirrorPart, movePart } from "../placement.js";
import { notify } from "../status.js";
import { edit, endGesture, getState, undo, update } from "../store.js";
import { arrowMove } from "./arrows.js";

const CURSORS = { corner: "move", joint: "move", edge: "copy", arc: "grab", part: "move" };

let dragged = null; // the handle; of a whole part also `from`, the pressed point, and `before`, the part then
let hovered = null; // the id of a part
let cursor = "default";

/** The id of the topmost part at a point; null if there is none. */
export function partAt(point, draft = getState().draft) {
  const topFirst = [...draft.paintOrder].reverse();
  return topFirst.find((id) => inside(point, partById(draft, id).points)) ?? null;
}

/**
 * The handle of the selected part within reach; handles that are harder to hit have priority. The part itself
 * comes last, unless it keeps the pixels of an opened template, which cannot be moved.
 */
function handleAt({ point, reach }) {
  const { draft, selected } = getState();
  const part = partById(draft, selected);
  if (!part) return null;
  const near = (other) => distance(point, other) <= reach;
  if (part.pivot && rotates(draft, part)) {
    if (arcOf(draft, part, view).ends.some(near)) return { kind: "arc", id: part.id };
    if (near(part.pivot)) return { kind: "joint", id: part.id };
  }
  const points = part.points ?? [];
  const index = points.findIndex(near);
  if (index >= 0) return { kind: "corner", id: part.id, index };
  const edge = points.findIndex((corner, k) => near(midpoint(corner, points[(k + 1) % points.length])));
  if (edge >= 0) return { kind: "edge", id: part.id, index: edge };
  const isOnPart = part.points && !part.pixels_from && partAt(point) === part.id;
  return isOnPart ? { kind: "part", id: part.id, from: point, before: part } : null;
}

const onPicture = (point) => clampToPicture(getState().draft.picture, point);

function moveCorner(id, index, point, gesture) {
  const { draft } = getState();
  const points = partById(draft, id).points.with(index, onPicture(point));
  edit("move a corner", setPoints(draft, id, points), { gesture, corner: index });
}

function insertCorner(id, index, point) {
  const { draft } = getState();
  const points = partById(draft, id).points.toSpliced(index + 1, 0, onPicture(point));
  edit("insert a corner", setPoints(draft, id, points), { gesture: "corner", corner: index + 1 });
}

function deleteCorner(id, index) {
  const { draft } = getState();
  const { points } = partById(draft, id);
  if (points.length <= 3)
    return notify("An outline needs at least three corners. To delete the part, use the Delete button.");
  edit("delete a corner", setPoints(draft, id, points.toSpliced(index, 1)), { corner: null });
}

function moveJoint(id, point, options = {}) {
  const patch = { pivot: onPicture(point), static: false };
  edit("move a joint", changePart(getState().draft, id, patch), options);
}

/** Drag a whole part from the pressed point. */
function dragPart({ from, before }, [x, y]) {
  const moved = movePart(getState().draft, before, [x - from[0], y - from[1]]);
  edit(`move “${before.name}”`, moved, { gesture: "part", corner: null });
}

/** Copy a part with `copy`, duplicatePart or mirrorPart, and select the copy. */
function addCopy(id, copy, action) {
  const { draft } = getState();
  const [next, added] = copy(draft, id);
  edit(`${action} “${partById(draft, id).name}”`, next, { selected: added, corner: null });
  update({ tool: "select" });
  notify(`“${partById(next, added).name}” is a copy. Drag it to its place.`);
}

export const duplicate = (id) => addCopy(id, duplicatePart, "duplicate");

export const mirror = (id) => addCopy(id, mirrorPart, "mirror");

export function deletePart(id) {
  const { draft } = getState();
  const { name, parent } = partById(draft, id);
  const next = childrenOf(draft, id)[0]?.id ?? parent;
  edit(`delete “${name}”`, removePart(draft, id), { selected: next, corner: null });
  notify(`Deleted “${name}”.`, "note", { label: "Undo", act: undo });
}

/** The actions of the context menu for a part and the handle that was hit, if any. */
function menuChoices(draft, id, handle, point) {
  const part = partById(draft, id);
  const choices = [];
  if (handle?.kind === "corner") choices.push(["Delete corner", () => deleteCorner(id, handle.index)]);
  if (handle?.kind === "edge")
    choices.push(["Insert corner here", () => insertCorner(id, handle.index, point)]);
  if (!isBody(draft, part)) choices.push(["Place joint here", () => moveJoint(id, point)]);
  choices.push(["Duplicate", () => duplicate(id)], ["Mirrored copy", () => mirror(id)]);
  choices.push([`Delete “${part.name}”`, () => deletePart(id)]);
  return choices;
}

export const selectTool = {
  name: "select",
  hint: "Click a part to select it. Drag it, its corners, its joint, or the ends of its arc.",
  touchHint: "Tap a part to select it. Drag it, its corners, its joint, or the ends of its arc.",

  get cursor() {
    return cursor;
  },

  get hovered() {
    return hovered;
  },

  down(pointer) {
    dragged = handleAt(pointer);
    if (dragged?.kind === "corner") update({ corner: dragged.index });
    return dragged !== null;
  },

  drag({ point }) {
    const { draft } = getState();
    if (dragged.kind === "edge") {
      insertCorner(dragged.id, dragged.index, point);
      dragged = { kind: "corner", id: dragged.id, index: dragged.index + 1 };
    } else if (dragged.kind === "corner") moveCorner(dragged.id, dragged.index, point, "corner");
    else if (dragged.kind === "joint") moveJoint(dragged.id, point, { gesture: "joint" });
    else if (dragged.kind === "part") dragPart(dragged, point);
    else {
      const turn = turnAt(draft, dragged.id, point, view);
      edit("change a rotation range", changePart(draft, dragged.id, { turn }), { gesture: "arc" });
    }
  },

  up(pointer, moved) {
    if (dragged.kind === "edge" && !moved) insertCorner(dragged.id, dragged.index, pointer.point);
    if (dragged.kind === "part" && !moved) this.click(pointer);
    dragged = null;
    endGesture();
  },

  click({ point, reach }) {
    const part = partById(getState().draft, getState().selected);
    const onEdge = part?.points && nearestEdge(point, part.points).distance <= reach;
    update({ selected: onEdge ? part.id : partAt(point), corner: null, pose: {} });
  },

  hover(pointer) {
    const handle = handleAt(pointer);
    hovered = handle ? null : partAt(pointer.point);
    cursor = handle ? CURSORS[handle.kind] : hovered ? "pointer" : "default";
  },

  leave() {
    hovered = null;
  },

  /** On a corner: delete it; on an edge: insert one. */
  doubleClick({ point, reach }) {
    const part = partById(getState().draft, getState().selected);
    if (!part?.points) return;
    const index = part.points.findIndex((corner) => distance(corner, point) <= reach);
    if (index >= 0) return deleteCorner(part.id, index);
    const edge = nearestEdge(point, part.points);
    if (edge.distance <= reach) {
      insertCorner(part.id, edge.index, point);
      endGesture();
    }
  },

  menu(pointer) {
    const handle = handleAt(pointer);
    const id = handle?.id ?? partAt(pointer.point);
    if (id === null) return;
    update({ selected: id, corner: handle?.kind === "corner" ? handle.index : null });
    const box = $("#canvas").getBoundingClientRect();
    const [x, y] = [box.left + pointer.at[0], box.top + pointer.at[1]];
    openMenu(x, y, menuChoices(getState().draft, id, handle, pointer.point), $("#canvas"));
  },

  /** Edit corners with the keyboard; returns whether the key was handled. */
  key(event) {
    const { draft, selected, corner } = getState();
    const part = partById(draft, selected);
    if (!part) return false;
    const count = part.points?.length ?? 0;
    const moved = corner === null ? null : arrowMove(event, part.points[corner]);
    const shift = event.altKey && part.points ? arrowMove(event, [0, 0]) : null;
    if (count && (event.key === "]" || event.key === "["))
      update({ corner: corner === null ? 0 : (corner + (event.key === "]" ? 1 : count - 1)) % count });
    else if (shift) edit(`move “${part.name}”`, movePart(draft, part, shift), { gesture: `keys ${part.name}` });
    else if (moved) moveCorner(part.id, corner, moved, `keys ${corner}`);
    else if (corner !== null && event.key.toLowerCase() === "i") {
      insertCorner(part.id, corner, midpoint(part.points[corner], part.points[(corner + 1) % count]));
      endGesture();
    } else if (event.key === "Delete" || event.key === "Backspace")
      corner === null ? deletePart(part.id) : deleteCorner(part.id, corner);
    else if (event.key === "Escape") update(corner === null ? { selected: null } : { corner: null });
    else return false;
    const shown = partById(getState().draft, selected)?.points?.[getState().corner];
    if (shown) reveal(shown);
    return true;
  },

  cancelGesture() {
    dragged = null;
    endGesture();
  },

  cancel() {
    hovered = dragged = null;
    cursor = "default";
  },
};
