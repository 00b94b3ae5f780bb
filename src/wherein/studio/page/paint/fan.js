// How far a part turns, as a fan about its joint: where it is drawn, and where it can be taken hold of.
import { partOf } from "../draft.js";
import { between, centroid, direction, distance, radians } from "../geometry.js";
import { dot, fill, stroke } from "./shapes.js";

const LEAST = 46; // pixels of the screen from the joint to the rim

/** Where the fan points, how far it reaches, and the two ends of its rim. */
export function fanOf(draft, part, view) {
  const heart = heartBelow(draft, part);
  const heading = distance(heart, part.pivot) > 1e-6 ? direction(part.pivot, heart) : -Math.PI / 2;
  const reach = Math.max(1.25 * distance(heart, part.pivot), LEAST / view.scale);
  const end = (sign) => {
    const turned = heading + sign * radians(part.turn);
    return [part.pivot[0] + reach * Math.cos(turned), part.pivot[1] + reach * Math.sin(turned)];
  };
  return { heading, reach, ends: [end(-1), end(1)] };
}

/** Of a group, that of the first part below it that has an outline. */
function heartBelow(draft, part) {
  if (part.points) return centroid(part.points);
  const waiting = draft.parts.filter((other) => other.parent === part.id);
  while (waiting.length) {
    const next = waiting.shift();
    if (next.points) return centroid(next.points);
    waiting.push(...draft.parts.filter((other) => other.parent === next.id));
  }
  return part.pivot;
}

/** The turn that a place on the rim stands for. */
export function turnAt(draft, id, place, view) {
  const part = partOf(draft, id);
  return Math.round(between(direction(part.pivot, place), fanOf(draft, part, view).heading));
}

export function paintFan(context, view, draft, part, color) {
  const { heading, reach, ends } = fanOf(draft, part, view);
  const [x, y] = part.pivot;
  const turn = radians(Math.min(part.turn, 179.9));
  context.beginPath();
  context.moveTo(x, y);
  context.arc(x, y, reach, heading - turn, heading + turn);
  context.closePath();
  fill(context, color, 0.2);
  stroke(context, view, color, 1.4, [5, 4]);
  for (const end of ends) dot(context, view, end, color, { radius: 5.5, filled: true });
}
