// The picture with the outlines of the draft; or, while a joint is previewed, the parts in their pose.
import { colorOf } from "../colors.js";
import { outlinedParts, partById, poseTransforms, rotates } from "../draft.js";
import { IDENTITY, centroid, distance, midpoint } from "../geometry.js";
import { paintArc } from "./arc.js";
import { drawDot, drawJoint, drawLabel, drawPicture, drawPlus, fill, stroke, tracePath } from "./shapes.js";

const MIN_EDGE = 44; // pixels of the screen: a shorter edge has no handle in its middle
const FRAME = "rgb(128 128 128 / 0.6)";
const SHADE = "rgb(8 10 14 / 0.45)"; // over the background of the object
const POSE_SHADE = "rgb(8 10 14 / 0.72)"; // over the picture behind a pose

export function paintDraft(context, view, { draft, selected, corner, pose }, bitmap, hovered) {
  if (!draft.picture) return;
  paintPicture(context, view, draft.picture, bitmap);
  if (Object.values(pose).some(Boolean)) return paintPose(context, view, draft, pose, bitmap, selected);
  shadeBackground(context, draft);
  for (const id of draft.paintOrder) {
    tracePath(context, partById(draft, id).points);
    fill(context, colorOf(id), id === selected ? 0.22 : id === hovered ? 0.26 : 0.1);
    stroke(context, view, colorOf(id), id === selected ? 2.6 : 1.8);
  }
  const selectedPart = partById(draft, selected);
  for (const part of draft.parts)
    if (part.pivot && rotates(draft, part) && part !== selectedPart)
      drawDot(context, view, part.pivot, colorOf(part.id), { radius: 3.5, ring: 1.6 });
  if (selectedPart) paintHandles(context, view, draft, selectedPart, corner);
  const hoveredPart = partById(draft, hovered);
  if (hoveredPart?.points && hoveredPart !== selectedPart)
    drawLabel(context, view, centroid(hoveredPart.points), hoveredPart.name, colorOf(hovered));
}

function paintPicture(context, view, picture, bitmap) {
  drawPicture(context, view, bitmap, picture);
  context.strokeStyle = FRAME;
  context.lineWidth = 1 / view.scale;
  context.strokeRect(-0.5, -0.5, picture.width, picture.height);
}

/** Darken everything outside the outlines. */
function shadeBackground(context, draft) {
  const parts = outlinedParts(draft);
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
  context.fillStyle = SHADE;
  context.fillRect(-0.5, -0.5, width, height);
  context.restore();
}

/** The corners, the plus signs between them, the joint and its arc. */
function paintHandles(context, view, draft, part, corner) {
  const color = colorOf(part.id);
  const hasJoint = part.pivot && rotates(draft, part);
  if (hasJoint) paintArc(context, view, draft, part, color);
  const points = part.points ?? [];
  points.forEach((point, k) => {
    const next = points[(k + 1) % points.length];
    if (distance(point, next) * view.scale > MIN_EDGE)
      drawPlus(context, view, midpoint(point, next), color);
  });
  points.forEach((point, k) =>
    drawDot(context, view, point, color, { radius: k === corner ? 6.5 : 4.5, filled: k === corner }),
  );
  if (hasJoint) drawJoint(context, view, part.pivot, "white");
}

/** The parts cut out and rotated, above the darkened picture. */
function paintPose(context, view, draft, pose, bitmap, selected) {
  const { width, height } = draft.picture;
  context.fillStyle = POSE_SHADE;
  context.fillRect(-0.5, -0.5, width, height);
  const transforms = poseTransforms(draft, pose);
  for (const id of draft.paintOrder) {
    const { points } = partById(draft, id);
    context.save();
    context.transform(...transforms.get(id));
    tracePath(context, points);
    context.save();
    context.clip("evenodd");
    if (bitmap) context.drawImage(bitmap, -0.5, -0.5, width, height);
    context.restore();
    tracePath(context, points);
    stroke(context, view, colorOf(id), id === selected ? 2.2 : 1.2);
    context.restore();
  }
  const selectedPart = partById(draft, selected);
  if (selectedPart?.pivot) {
    context.save();
    context.transform(...(transforms.get(selectedPart.parent) ?? IDENTITY));
    drawJoint(context, view, selectedPart.pivot, "white");
    context.restore();
  }
}
