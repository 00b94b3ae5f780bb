// Moving, duplicating and mirroring parts. As in draft.js, each function returns a new draft.
import {
  changePart,
  clampToPicture,
  isInSubtree,
  nameBody,
  nextId,
  partById,
  treeOrder,
  uniqueName,
} from "./draft.js";
import { bounds, clamp } from "./geometry.js";

const COPY_SHIFT = 0.15; // shift of a copy from the original as a share of its size, so that it is visible

/** The nearest shift that keeps points within the picture. */
function allowedShift({ width, height }, points, [dx, dy]) {
  if (!points.length) return [dx, dy];
  const box = bounds(points);
  return [
    clamp(dx, -0.5 - box.left, width - 0.5 - box.right),
    clamp(dy, -0.5 - box.top, height - 0.5 - box.bottom),
  ];
}

/** Move a part by a shift from where it was `before`; its joint moves with it. */
export function movePart(draft, before, shift) {
  const [dx, dy] = allowedShift(draft.picture, before.points, shift);
  const place = ([x, y]) => clampToPicture(draft.picture, [x + dx, y + dy]);
  const { points, pivot } = before;
  return changePart(draft, before.id, {
    points: points.map(place),
    pivot: pivot && place(pivot),
    pixels_from: null,
  });
}

const subtree = (draft, id) =>
  treeOrder(draft)
    .map(({ part }) => part)
    .filter((part) => isInSubtree(draft, part.id, id));

const cornersOf = (parts) => parts.flatMap((part) => part.points ?? []);

/** Copy a subtree, with `place` for the points and `change` for the rest; returns the draft and the copy's id. */
function copySubtree(before, id, place, change = (part) => part) {
  const draft = nameBody(before);
  const copied = subtree(draft, id);
  const ids = new Map(copied.map((part, k) => [part.id, nextId(draft) + k]));
  let copy = draft;
  for (const part of copied) {
    const { name, ...changed } = change(part);
    const added = {
      ...changed,
      id: ids.get(part.id),
      name: uniqueName(copy, name.replace(/ \d+$/, "")),
      parent: ids.get(part.parent) ?? part.parent,
      points: part.points?.map(place) ?? null,
      pivot: part.pivot && place(part.pivot),
      pixels_from: null, // the pixels are cut out at the place of the copy
    };
    copy = { ...copy, parts: [...copy.parts, added] };
  }
  const paintOrder = draft.paintOrder.flatMap((other) => (ids.has(other) ? [other, ids.get(other)] : [other]));
  return [{ ...copy, paintOrder }, ids.get(id)];
}

/** The shift of a copy with these points: a little to the side where the picture has room. */
function asideShift(picture, points) {
  if (!points.length) return [0, 0];
  const { left, top, right, bottom } = bounds(points);
  const aside = Math.max(2, COPY_SHIFT * Math.max(right - left, bottom - top));
  const shift = (low, high, size) => (high + aside <= size - 0.5 || low - aside < -0.5 ? aside : -aside);
  return allowedShift(picture, points, [shift(left, right, picture.width), shift(top, bottom, picture.height)]);
}

/** Duplicate a subtree, a little to the side; returns the draft and the copy's id. */
export function duplicatePart(draft, id) {
  const [dx, dy] = asideShift(draft.picture, cornersOf(subtree(draft, id)));
  return copySubtree(draft, id, ([x, y]) => clampToPicture(draft.picture, [x + dx, y + dy]));
}

/** The nearest part above that has an outline; null if there is none. */
function outlinedAncestor(draft, part) {
  for (let at = partById(draft, part.parent); at; at = partById(draft, at.parent)) if (at.points) return at;
  return null;
}

const OTHER_SIDE = { left: "right", right: "left", Left: "Right", Right: "Left", LEFT: "RIGHT", RIGHT: "LEFT" };

/** The changes of a mirrored part: it turns the other way, and has the name of the other side. */
function mirroredPart(part) {
  const at = part.reading?.at.map(([turn, value]) => [turn === null ? null : -turn, value]).reverse();
  const name = part.name.replace(/left|right/i, (side) => OTHER_SIDE[side] ?? side);
  return { ...part, name, reading: part.reading && { ...part.reading, at } };
}

/** Copy a subtree to the other side of its parent; without a parent, a little to the side. */
export function mirrorPart(draft, id) {
  const corners = cornersOf(subtree(draft, id));
  if (!corners.length) return copySubtree(draft, id, (point) => point, mirroredPart);
  const body = outlinedAncestor(draft, partById(draft, id));
  const { left, right } = bounds(body?.points ?? corners);
  const mirrored = ([x, y]) => [left + right - x, y];
  const shift = body
    ? allowedShift(draft.picture, corners.map(mirrored), [0, 0])
    : asideShift(draft.picture, corners.map(mirrored));
  const place = (point) => {
    const [x, y] = mirrored(point);
    return clampToPicture(draft.picture, [x + shift[0], y + shift[1]]);
  };
  return copySubtree(draft, id, place, mirroredPart);
}
