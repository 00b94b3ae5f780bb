// The rotation range of a part, as an arc about its joint. Its two ends are handles that can be dragged.
import { partById } from "../draft.js";
import { angleBetween, centroid, direction, distance, radians } from "../geometry.js";
import { drawDot, fill, stroke } from "./shapes.js";

const MIN_RADIUS = 46; // pixels of the screen

/** The direction of the arc's middle, its radius, and its two ends. */
export function arcOf(draft, part, view) {
  const center = centerOf(draft, part);
  const apart = distance(center, part.pivot);
  const heading = apart > 1e-6 ? direction(part.pivot, center) : -Math.PI / 2;
  const radius = Math.max(1.25 * apart, MIN_RADIUS / view.scale);
  const end = (sign) => {
    const angle = heading + sign * radians(part.turn);
    return [part.pivot[0] + radius * Math.cos(angle), part.pivot[1] + radius * Math.sin(angle)];
  };
  return { heading, radius, ends: [end(-1), end(1)] };
}

/** The centre of a part; for a group, of the first outlined part below it. */
function centerOf(draft, part) {
  if (part.points) return centroid(part.points);
  const pending = draft.parts.filter((other) => other.parent === part.id);
  while (pending.length) {
    const next = pending.shift();
    if (next.points) return centroid(next.points);
    pending.push(...draft.parts.filter((other) => other.parent === next.id));
  }
  return part.pivot;
}

/** The rotation range whose arc ends in the direction of a point, in degrees. */
export function turnAt(draft, id, point, view) {
  const part = partById(draft, id);
  return Math.round(angleBetween(direction(part.pivot, point), arcOf(draft, part, view).heading));
}

export function paintArc(context, view, draft, part, color) {
  const { heading, radius, ends } = arcOf(draft, part, view);
  const [x, y] = part.pivot;
  const turn = radians(Math.min(part.turn, 179.9)); // at ±180° both ends coincide, and nothing would be drawn
  context.beginPath();
  context.moveTo(x, y);
  context.arc(x, y, radius, heading - turn, heading + turn);
  context.closePath();
  fill(context, color, 0.2);
  stroke(context, view, color, 1.4, [5, 4]);
  for (const end of ends) drawDot(context, view, end, color, { radius: 5.5, filled: true });
}
