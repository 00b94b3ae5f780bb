// A draft: the picture, the parts outlined on it, and the tree of parts. No function changes a draft: each
// returns a new one, so that the undo history is a list of drafts.
import {
  IDENTITY,
  area,
  bounds,
  centroid,
  clamp,
  distance,
  inside,
  multiply,
  rotationAbout,
  rounded,
} from "./geometry.js";

export const emptyDraft = () => ({ name: "", picture: null, parts: [], paintOrder: [] });

export const partById = (draft, id) => draft.parts.find((part) => part.id === id) ?? null;

export const childrenOf = (draft, id) => draft.parts.filter((part) => part.parent === id);

export const outlinedParts = (draft) => draft.parts.filter((part) => part.points);

/** The nearest point within the picture, to a tenth of a pixel. */
export function clampToPicture({ width, height }, [x, y]) {
  return [rounded(clamp(x, -0.5, width - 0.5)), rounded(clamp(y, -0.5, height - 0.5))];
}

/** Parts with their depth in tree order: each part is followed by its children. */
export function treeOrder(draft, parent = null, depth = 0) {
  return childrenOf(draft, parent).flatMap((part) => [
    { part, depth },
    ...treeOrder(draft, part.id, depth + 1),
  ]);
}

/** Whether a part is the only one without a parent: it is the object itself, and has no joint. */
export const isBody = (draft, part) => part.parent === null && childrenOf(draft, null).length === 1;

/** Whether a part rotates about a joint. */
export const rotates = (draft, part) => !isBody(draft, part) && !part.static && part.turn > 0;

/** Whether a part is `ancestor` or a descendant of it. */
export function isInSubtree(draft, id, ancestor) {
  for (let at = id; at !== null; at = partById(draft, at).parent) if (at === ancestor) return true;
  return false;
}

/** Why a part cannot have a name; null if it can. */
export function nameError(draft, id, name) {
  if (!name.trim()) return "A part needs a name.";
  if (draft.parts.some((part) => part.id !== id && part.name === name))
    return `There is already a part called “${name}”.`;
  return null;
}

/** A name that no part has: the stem, with a number if necessary. */
export function uniqueName(draft, stem) {
  const taken = new Set(draft.parts.map((part) => part.name));
  if (!taken.has(stem)) return stem;
  let number = 2;
  while (taken.has(`${stem} ${number}`)) number++;
  return `${stem} ${number}`;
}

const BODY = "body"; // the name of the first part, if there are others

/** Call the only part as the object, as other ways of making a template do. */
function nameOnlyPart(draft) {
  const [part] = draft.parts;
  return draft.parts.length === 1 && part.name === BODY ? changePart(draft, part.id, { name: draft.name }) : draft;
}

/** Call the only part “body” if it has the name of the object: with a further part, the object is a group. */
export function nameBody(draft) {
  const [part] = draft.parts;
  return draft.parts.length === 1 && part.name === draft.name ? changePart(draft, part.id, { name: BODY }) : draft;
}

/**
 * Give the object another name, and its only part too if both have the same. In an opened template the part keeps
 * its name: if only the name of a template changes, its calibration remains valid.
 */
export function renameObject(draft, name) {
  const opened = draft.parts.some((part) => part.pixels_from);
  return opened ? { ...draft, name } : nameOnlyPart({ ...nameBody(draft), name });
}

export const nextId = (draft) => 1 + Math.max(0, ...draft.parts.map((part) => part.id));

export function changePart(draft, id, patch) {
  return { ...draft, parts: draft.parts.map((part) => (part.id === id ? { ...part, ...patch } : part)) };
}

/** Change an outline. The part no longer keeps the pixels of an opened template: it is cut out again. */
export const setPoints = (draft, id, points) => changePart(draft, id, { points, pixels_from: null });

/** Add a part with guessed parent, joint and layer, which the user can correct; returns the draft and its id. */
export function addPart(before, points, turn) {
  const draft = nameBody(before);
  const id = nextId(draft);
  const parent = guessParent(draft, points);
  const part = {
    id,
    name: draft.parts.length ? uniqueName(draft, "part") : draft.name,
    parent: parent?.id ?? null,
    points,
    pixels_from: null,
    pivot: parent ? guessJoint(points, parent.points) : null,
    turn,
    static: !parent,
    reading: null,
  };
  const paintOrder = draft.paintOrder.toSpliced(guessLayer(draft, part), 0, id);
  return [{ ...draft, parts: [...draft.parts, part], paintOrder }, id];
}

/** The guessed layer of a new part: above its parent, and above all larger parts. */
function guessLayer(draft, part) {
  const smaller = draft.paintOrder.findIndex((id) => area(partById(draft, id).points) < area(part.points));
  const aboveParent = draft.paintOrder.indexOf(part.parent) + 1;
  return Math.max(aboveParent, smaller < 0 ? draft.paintOrder.length : smaller);
}

/** The guessed parent: the part with the largest overlap (of several, the smallest); else the first part. */
function guessParent(draft, points) {
  const parts = outlinedParts(draft);
  const overlap = (part) =>
    points.filter((point) => inside(point, part.points)).length +
    part.points.filter((point) => inside(point, points)).length;
  const overlapping = parts.filter((part) => overlap(part) > 0);
  overlapping.sort((a, b) => overlap(b) - overlap(a) || area(a.points) - area(b.points));
  return overlapping[0] ?? parts[0] ?? null;
}

/** The guessed joint: the centre of the overlap with the parent; else the corner nearest to the parent. */
function guessJoint(points, parent) {
  const overlap = [...points.filter((p) => inside(p, parent)), ...parent.filter((p) => inside(p, points))];
  const center = centroid(parent);
  const nearest = points.reduce((best, p) => (distance(p, center) < distance(best, center) ? p : best));
  const joined = overlap.length === points.length ? [centroid(points)] : overlap;
  const [x, y] = joined.length ? centroid(joined) : nearest;
  return [rounded(x), rounded(y)];
}

/** Add a group, which has no outline and contains parts that rotate together; returns the draft and its id. */
export function addGroup(before, parent, turn) {
  const draft = nameBody(before);
  const id = nextId(draft);
  const name = uniqueName(draft, "group");
  const pivot = outlinesCenter(draft);
  const joint = { pivot, turn, static: false, reading: null };
  const group = { id, name, parent, points: null, pixels_from: null, ...joint };
  return [{ ...draft, parts: [...draft.parts, group] }, id];
}

function outlinesCenter(draft) {
  const corners = outlinedParts(draft).flatMap((part) => part.points);
  if (!corners.length) return [0, 0];
  const box = bounds(corners);
  return [rounded((box.left + box.right) / 2), rounded((box.top + box.bottom) / 2)];
}

/** Remove a part. Its parent becomes the parent of its children. */
export function removePart(draft, id) {
  const removed = partById(draft, id);
  const parts = draft.parts
    .filter((part) => part.id !== id)
    .map((part) => (part.parent === id ? { ...part, parent: removed.parent } : part));
  return nameOnlyPart({ ...draft, parts, paintOrder: draft.paintOrder.filter((other) => other !== id) });
}

/** Give a part another parent (null: the object), before one of its children or after all of them. */
export function setParent(draft, id, parent, before = null) {
  if (parent !== null && isInSubtree(draft, parent, id)) return draft;
  const part = partById(draft, id);
  const center = () => (part.points ? centroid(part.points).map((v) => rounded(v)) : outlinesCenter(draft));
  const moved = { ...part, parent, pivot: part.pivot ?? center() };
  const others = draft.parts.filter((other) => other.id !== id);
  const index = before === null ? others.length : others.findIndex((other) => other.id === before);
  return { ...draft, parts: others.toSpliced(index, 0, moved) };
}

/** Move a part up (+1) or down (−1) in the paint order. */
export function changeLayer(draft, id, by) {
  const from = draft.paintOrder.indexOf(id);
  const to = from + by;
  if (from < 0 || to < 0 || to >= draft.paintOrder.length) return draft;
  return { ...draft, paintOrder: draft.paintOrder.toSpliced(from, 1).toSpliced(to, 0, id) };
}

/** The transform of every part in a pose (degrees by id); each part moves with its parent. */
export function poseTransforms(draft, pose) {
  const transforms = new Map();
  for (const { part } of treeOrder(draft)) {
    const above = transforms.get(part.parent) ?? IDENTITY;
    const angle = rotates(draft, part) && part.pivot ? (pose[part.id] ?? 0) : 0;
    transforms.set(part.id, angle ? multiply(above, rotationAbout(angle, part.pivot)) : above);
  }
  return transforms;
}

/** A reading with the complete points (turn and value); null if there are fewer than two. */
export function completeReading(reading) {
  const at = (reading?.at ?? []).filter(([turn, value]) => turn !== null && value !== null);
  return at.length < 2 ? null : { unit: reading.unit, at };
}

/** The draft as a request to the server, which refers to parts by name. */
export function toMessage(draft) {
  const name = (id) => (id === null ? null : partById(draft, id).name);
  return {
    name: draft.name.trim() || "object",
    picture: draft.picture.id,
    parts: draft.parts.map(({ id, ...part }) => ({
      ...part,
      parent: name(part.parent),
      static: part.static || isBody(draft, { ...part, id }),
      reading: rotates(draft, { ...part, id }) ? completeReading(part.reading) : null,
    })),
    paint_order: draft.paintOrder.map(name),
  };
}

/** The draft from an answer of the server, on a picture. */
export function fromMessage(message, picture) {
  const ids = new Map(message.parts.map((part, k) => [part.name, k + 1]));
  return {
    name: message.name,
    picture,
    parts: message.parts.map((part) => ({
      ...part,
      id: ids.get(part.name),
      parent: part.parent === null ? null : ids.get(part.parent),
    })),
    paintOrder: message.paint_order.map((name) => ids.get(name)),
  };
}
