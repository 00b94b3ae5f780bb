// Choose a part, and move what it has: the corners of its outline, its joint, and the rim of its fan.
import { changePart, childrenOf, isBody, moves, partOf, removePart, setPoints, within } from "../draft.js";
import { distance, inside, middle, nearestEdge } from "../geometry.js";
import { openMenu } from "../menu.js";
import { fanOf, turnAt } from "../paint/fan.js";
import { reveal, view } from "../stage.js";
import { tell } from "../status.js";
import { edit, now, settle, undo, update } from "../store.js";

const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

let grabbed = null;
let hovered = null;
let cursor = "default";

/** The topmost part at a place. */
export function partAt(place, draft = now().draft) {
  const order = [...draft.order].reverse();
  return order.find((id) => inside(place, partOf(draft, id).points)) ?? null;
}

/** What of the chosen part lies within reach of a place: what is smallest goes first. */
function handleAt({ place, reach }) {
  const { draft, selected } = now();
  const part = partOf(draft, selected);
  if (!part) return null;
  const near = (other) => distance(place, other) <= reach;
  if (part.pivot && moves(draft, part)) {
    if (fanOf(draft, part, view).ends.some(near)) return { kind: "fan", id: part.id };
    if (near(part.pivot)) return { kind: "joint", id: part.id };
  }
  const points = part.points ?? [];
  const index = points.findIndex(near);
  if (index >= 0) return { kind: "corner", id: part.id, index };
  const edge = points.findIndex((point, k) => near(middle(point, points[(k + 1) % points.length])));
  return edge >= 0 ? { kind: "edge", id: part.id, index: edge } : null;
}

const onPicture = (place) => within(now().draft.picture, place);

function moveCorner(id, index, place, gesture) {
  const { draft } = now();
  const points = partOf(draft, id).points.with(index, onPicture(place));
  edit("move a corner", setPoints(draft, id, points), { gesture, corner: index });
}

function insertCorner(id, index, place) {
  const { draft } = now();
  const points = partOf(draft, id).points.toSpliced(index + 1, 0, onPicture(place));
  edit("add a corner", setPoints(draft, id, points), { gesture: "corner", corner: index + 1 });
}

function removeCorner(id, index) {
  const { draft } = now();
  const { points } = partOf(draft, id);
  if (points.length <= 3) return tell("An outline has three corners at least. To remove the part, press Remove.");
  edit("remove a corner", setPoints(draft, id, points.toSpliced(index, 1)), { corner: null });
}

export function remove(id) {
  const { draft } = now();
  const { name, parent } = partOf(draft, id);
  const next = childrenOf(draft, id)[0]?.id ?? parent;
  edit(`remove “${name}”`, removePart(draft, id), { selected: next, corner: null });
  tell(`Removed “${name}”.`, "note", { label: "Undo", act: undo });
}

export const selectTool = {
  name: "select",
  hint: "Choose a part; drag its corners, its joint and the rim of its fan.",

  get cursor() {
    return cursor;
  },

  get hovered() {
    return hovered;
  },

  down(point) {
    grabbed = handleAt(point);
    if (grabbed?.kind === "corner") update({ corner: grabbed.index });
    return grabbed !== null;
  },

  drag({ place }) {
    const { draft } = now();
    if (grabbed.kind === "edge") {
      insertCorner(grabbed.id, grabbed.index, place);
      grabbed = { kind: "corner", id: grabbed.id, index: grabbed.index + 1 };
    } else if (grabbed.kind === "corner") {
      moveCorner(grabbed.id, grabbed.index, place, "corner");
    } else if (grabbed.kind === "joint") {
      edit("move a joint", changePart(draft, grabbed.id, { pivot: onPicture(place) }), { gesture: "joint" });
    } else {
      const turn = turnAt(draft, grabbed.id, place, view);
      edit("change how far it turns", changePart(draft, grabbed.id, { turn }), { gesture: "fan" });
    }
  },

  up({ place }, moved) {
    if (grabbed.kind === "edge" && !moved) insertCorner(grabbed.id, grabbed.index, place);
    grabbed = null;
    settle();
  },

  click({ place, reach }) {
    const part = partOf(now().draft, now().selected);
    const onEdge = part?.points && nearestEdge(place, part.points).distance <= reach;
    update({ selected: onEdge ? part.id : partAt(place), corner: null, pose: {} });
  },

  hover(point) {
    const handle = handleAt(point);
    hovered = handle ? null : partAt(point.place);
    cursor = handle
      ? ({ edge: "copy", fan: "grab" }[handle.kind] ?? "move")
      : hovered
        ? "pointer"
        : "default";
  },

  leave() {
    hovered = null;
  },

  double({ place, reach }) {
    const { draft, selected } = now();
    const part = partOf(draft, selected);
    if (!part?.points) return;
    const index = part.points.findIndex((point) => distance(point, place) <= reach);
    if (index >= 0) return removeCorner(part.id, index);
    const edge = nearestEdge(place, part.points);
    if (edge.distance <= reach) {
      insertCorner(part.id, edge.index, place);
      settle();
    }
  },

  /** For a right click, or a finger that stays. */
  menu(point) {
    const handle = handleAt(point);
    const id = handle?.id ?? partAt(point.place);
    if (id === null) return;
    const { draft } = now();
    const part = partOf(draft, id);
    update({ selected: id, corner: handle?.kind === "corner" ? handle.index : null });
    const choices = [];
    if (handle?.kind === "corner") choices.push(["Remove this corner", () => removeCorner(id, handle.index)]);
    if (handle?.kind === "edge")
      choices.push(["Add a corner here", () => insertCorner(id, handle.index, point.place)]);
    if (!isBody(draft, part))
      choices.push([
        "Put the joint here",
        () => edit("move a joint", changePart(draft, id, { pivot: onPicture(point.place), static: false })),
      ]);
    choices.push([`Remove “${part.name}”`, () => remove(id)]);
    const box = document.querySelector("#canvas").getBoundingClientRect();
    openMenu(box.left + point.at[0], box.top + point.at[1], choices, document.querySelector("#canvas"));
  },

  /** Corners by keys; whether the key meant something here. */
  key(event) {
    const { draft, selected, corner } = now();
    const part = partOf(draft, selected);
    if (!part) return false;
    const count = part.points?.length ?? 0;
    const step = STEPS[event.key];
    if (count && (event.key === "]" || event.key === "["))
      update({ corner: corner === null ? 0 : (corner + (event.key === "]" ? 1 : count - 1)) % count });
    else if (corner !== null && step) {
      const by = event.shiftKey ? 10 : 1;
      const [x, y] = part.points[corner];
      moveCorner(part.id, corner, [x + step[0] * by, y + step[1] * by], `keys ${corner}`);
    } else if (corner !== null && event.key.toLowerCase() === "i") {
      insertCorner(part.id, corner, middle(part.points[corner], part.points[(corner + 1) % count]));
      settle();
    } else if (event.key === "Delete" || event.key === "Backspace")
      corner === null ? remove(part.id) : removeCorner(part.id, corner);
    else if (event.key === "Escape") update(corner === null ? { selected: null } : { corner: null });
    else return false;
    const moved = partOf(now().draft, selected)?.points?.[now().corner];
    if (moved) reveal(moved);
    return true;
  },

  cancelGesture() {
    grabbed = null;
    settle();
  },

  cancel() {
    hovered = grabbed = null;
    cursor = "default";
  },
};
