// The picture with what is outlined on it; or, while joints are tried, the object as it would turn.
import { colorOf, frames, moves, outlined, partOf } from "../draft.js";
import { centroid, distance, middle } from "../geometry.js";
import { paintFan } from "./fan.js";
import { dot, fill, joint, label, plus, stroke, trace } from "./shapes.js";

const ROOM = 44; // pixels of the screen that an edge must have for a handle in its middle

export function paintTemplate(context, view, { draft, selected, corner, pose }, bitmap, hovered) {
  if (!draft.picture) return;
  paintPicture(context, view, draft.picture, bitmap);
  if (Object.values(pose).some(Boolean)) return paintPosed(context, view, draft, pose, bitmap, selected);
  spotlight(context, draft);
  for (const id of draft.order) {
    const part = partOf(draft, id);
    trace(context, part.points);
    fill(context, colorOf(id), id === selected ? 0.22 : id === hovered ? 0.26 : 0.1);
    stroke(context, view, colorOf(id), id === selected ? 2.6 : 1.8);
  }
  const shown = partOf(draft, selected);
  for (const part of draft.parts)
    if (part.pivot && moves(draft, part) && part !== shown) smallJoint(context, view, part);
  if (shown) paintHandles(context, view, draft, shown, corner);
  const named = partOf(draft, hovered);
  if (named?.points && named !== shown)
    label(context, view, centroid(named.points), named.name, colorOf(named.id));
}

function paintPicture(context, view, picture, bitmap) {
  context.imageSmoothingEnabled = view.scale < 3;
  context.imageSmoothingQuality = "high";
  if (bitmap) context.drawImage(bitmap, -0.5, -0.5, picture.width, picture.height);
  context.strokeStyle = "rgb(128 128 128 / 0.6)";
  context.lineWidth = 1 / view.scale;
  context.strokeRect(-0.5, -0.5, picture.width, picture.height);
}

/** What belongs to the object is as bright as it is, the rest is not. */
function spotlight(context, draft) {
  const parts = outlined(draft);
  if (!parts.length) return;
  const { width, height } = draft.picture;
  context.save();
  context.beginPath();
  context.rect(-0.5, -0.5, width, height);
  context.clip();
  for (const { points } of parts) {
    const hole = new Path2D();
    hole.rect(-0.5, -0.5, width, height);
    points.forEach(([x, y], k) => (k ? hole.lineTo(x, y) : hole.moveTo(x, y)));
    hole.closePath();
    context.clip(hole, "evenodd");
  }
  context.fillStyle = "rgb(8 10 14 / 0.45)";
  context.fillRect(-0.5, -0.5, width, height);
  context.restore();
}

function smallJoint(context, view, part) {
  dot(context, view, part.pivot, colorOf(part.id), { radius: 3.5, ring: 1.6 });
}

function paintHandles(context, view, draft, part, corner) {
  const color = colorOf(part.id);
  const turns = part.pivot && moves(draft, part);
  if (turns) paintFan(context, view, draft, part, color);
  const points = part.points ?? [];
  points.forEach((point, k) => {
    const next = points[(k + 1) % points.length];
    if (distance(point, next) * view.scale > ROOM) plus(context, view, middle(point, next), color);
  });
  points.forEach((point, k) =>
    dot(context, view, point, color, { radius: k === corner ? 6.5 : 4.5, filled: k === corner }),
  );
  if (turns) joint(context, view, part.pivot, "white");
}

/** Cut out and turned, above the picture in the dark. */
function paintPosed(context, view, draft, pose, bitmap, selected) {
  const { width, height } = draft.picture;
  context.fillStyle = "rgb(8 10 14 / 0.72)";
  context.fillRect(-0.5, -0.5, width, height);
  const turned = frames(draft, pose);
  for (const id of draft.order) {
    const { points } = partOf(draft, id);
    context.save();
    context.transform(...turned.get(id));
    trace(context, points);
    context.save();
    context.clip("evenodd");
    if (bitmap) context.drawImage(bitmap, -0.5, -0.5, width, height);
    context.restore();
    trace(context, points);
    stroke(context, view, colorOf(id), id === selected ? 2.2 : 1.2);
    context.restore();
  }
  const shown = partOf(draft, selected);
  if (shown?.pivot) {
    context.save();
    context.transform(...(turned.get(shown.parent) ?? [1, 0, 0, 1, 0, 0]));
    joint(context, view, shown.pivot, "white");
    context.restore();
  }
}
