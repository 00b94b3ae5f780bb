// A draft: the picture, the parts outlined on it, and who hangs on whom. Nothing here changes a draft:
// every function gives a new one, so that undo is a list of them.
import { after, area, bounds, centroid, clamp, distance, inside, rounded, turnAbout } from "./geometry.js";

const TURN = 30;

export const emptyDraft = () => ({ name: "", picture: null, parts: [], order: [] });

export const partOf = (draft, id) => draft.parts.find((part) => part.id === id) ?? null;

export const childrenOf = (draft, id) => draft.parts.filter((part) => part.parent === id);

/** A place within the picture, to a tenth of a pixel. */
export function within({ width, height }, [x, y]) {
  return [rounded(clamp(x, -0.5, width - 0.5)), rounded(clamp(y, -0.5, height - 0.5))];
}

export const outlined = (draft) => draft.parts.filter((part) => part.points);

/** Parts with their depth, each followed by those that hang on it. */
export function listed(draft, parent = null, depth = 0) {
  return childrenOf(draft, parent).flatMap((part) => [{ part, depth }, ...listed(draft, part.id, depth + 1)]);
}

/** Whether it is what the whole object hangs on: it moves with the object, and has no joint. */
export const isBody = (draft, part) => part.parent === null && childrenOf(draft, null).length === 1;

export const moves = (draft, part) => !isBody(draft, part) && !part.static && part.turn > 0;

export function hangsBelow(draft, id, ancestor) {
  for (let at = id; at !== null; at = partOf(draft, at).parent) if (at === ancestor) return true;
  return false;
}

export function nameProblem(draft, id, name) {
  if (!name.trim()) return "A part needs a name.";
  if (draft.parts.some((part) => part.id !== id && part.name === name))
    return `Another part is called “${name}”.`;
  return null;
}

function freeName(draft, stem) {
  const taken = new Set(draft.parts.map((part) => part.name));
  if (!taken.has(stem)) return stem;
  let number = 2;
  while (taken.has(`${stem} ${number}`)) number++;
  return `${stem} ${number}`;
}

const nextId = (draft) => 1 + Math.max(0, ...draft.parts.map((part) => part.id));

export function changePart(draft, id, patch) {
  return { ...draft, parts: draft.parts.map((part) => (part.id === id ? { ...part, ...patch } : part)) };
}

/** An outline that a person draws is cut anew: what the opened template knew of it no longer counts. */
export const setPoints = (draft, id, points) => changePart(draft, id, { points, kept: null });

/** A new part: it hangs on what it lies on, about where they meet, and larger ones lie below. */
export function addPart(draft, points) {
  const id = nextId(draft);
  const host = hostOf(draft, points);
  const part = {
    id,
    name: freeName(draft, draft.parts.length ? "part" : "body"),
    parent: host?.id ?? null,
    points,
    kept: null,
    pivot: host ? meeting(points, host.points) : null,
    turn: TURN,
    static: !host,
  };
  return [
    { ...draft, parts: [...draft.parts, part], order: draft.order.toSpliced(layer(draft, part), 0, id) },
    id,
  ];
}

/** Above what it hangs on, and above all that are larger. */
function layer(draft, part) {
  const smaller = draft.order.findIndex((id) => area(partOf(draft, id).points) < area(part.points));
  const above = draft.order.indexOf(part.parent) + 1;
  return Math.max(above, smaller < 0 ? draft.order.length : smaller);
}

/** The smallest part that shares the most corners with an outline, or else the first that has one. */
function hostOf(draft, points) {
  const hosts = outlined(draft);
  const shared = (part) =>
    points.filter((place) => inside(place, part.points)).length +
    part.points.filter((place) => inside(place, points)).length;
  const touching = hosts.filter((part) => shared(part) > 0);
  touching.sort((a, b) => shared(b) - shared(a) || area(a.points) - area(b.points));
  return touching[0] ?? hosts[0] ?? null;
}

/** Where a part is joined to what it hangs on: in the middle of what they share, or at its nearest corner. */
function meeting(points, host) {
  const shared = [...points.filter((p) => inside(p, host)), ...host.filter((p) => inside(p, points))];
  const heart = centroid(host);
  const nearest = points.reduce((best, p) => (distance(p, heart) < distance(best, heart) ? p : best));
  const within = shared.length === points.length ? [centroid(points)] : shared;
  const [x, y] = within.length ? centroid(within) : nearest;
  return [rounded(x), rounded(y)];
}

/** A group holds parts together that have no picture between them: a head of eyes alone, say. */
export function addGroup(draft, parent) {
  const id = nextId(draft);
  const part = { id, name: freeName(draft, "group"), parent, points: null, kept: null, turn: TURN };
  return [{ ...draft, parts: [...draft.parts, { ...part, pivot: heartOf(draft), static: false }] }, id];
}

function heartOf(draft) {
  const corners = outlined(draft).flatMap((part) => part.points);
  if (!corners.length) return [0, 0];
  const box = bounds(corners);
  return [rounded((box.left + box.right) / 2), rounded((box.top + box.bottom) / 2)];
}

/** Without a part; what hung on it hangs on what it hung on. */
export function removePart(draft, id) {
  const gone = partOf(draft, id);
  const parts = draft.parts
    .filter((part) => part.id !== id)
    .map((part) => (part.parent === id ? { ...part, parent: gone.parent } : part));
  return { ...draft, parts, order: draft.order.filter((other) => other !== id) };
}

/** Hang a part on another (null: on the object itself), before one of its children or after all of them. */
export function hang(draft, id, parent, before = null) {
  if (parent !== null && hangsBelow(draft, parent, id)) return draft;
  const part = partOf(draft, id);
  const jointed = part.pivot ?? (part.points ? centroid(part.points).map((v) => rounded(v)) : heartOf(draft));
  const moved = { ...part, parent, pivot: jointed };
  const rest = draft.parts.filter((other) => other.id !== id);
  const place = before === null ? rest.length : rest.findIndex((other) => other.id === before);
  return { ...draft, parts: rest.toSpliced(place, 0, moved) };
}

/** Paint a part later (+1) or earlier (−1). */
export function relayer(draft, id, by) {
  const from = draft.order.indexOf(id);
  const to = from + by;
  if (from < 0 || to < 0 || to >= draft.order.length) return draft;
  return { ...draft, order: draft.order.toSpliced(from, 1).toSpliced(to, 0, id) };
}

/** Of every part the transform that it has in a pose: degrees by id, each part moving with what it hangs on. */
export function frames(draft, pose) {
  const made = new Map();
  for (const { part } of listed(draft)) {
    const above = made.get(part.parent) ?? [1, 0, 0, 1, 0, 0];
    const turn = moves(draft, part) && part.pivot ? (pose[part.id] ?? 0) : 0;
    made.set(part.id, turn ? after(above, turnAbout(turn, part.pivot)) : above);
  }
  return made;
}

/** As the studio's server takes it: parts by name. */
export function toMessage(draft) {
  const name = (id) => (id === null ? null : partOf(draft, id).name);
  return {
    name: draft.name.trim() || "object",
    picture: draft.picture.id,
    parts: draft.parts.map(({ id, ...part }) => ({
      ...part,
      parent: name(part.parent),
      static: part.static || isBody(draft, { ...part, id }),
    })),
    order: draft.order.map(name),
  };
}

/** A draft from the server's message, on a picture. */
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
    order: message.order.map((name) => ids.get(name)),
  };
}

/** A colour of its own for every part, far from that of the parts before and after it. */
export const colorOf = (id) => `hsl(${Math.round(id * 137.508 + 60) % 360} 90% 62%)`;
