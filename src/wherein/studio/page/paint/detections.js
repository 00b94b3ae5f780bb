// A scene with the outlines of all detected parts; dashed where a part was not found.
import { drawLabel, drawPicture, fill, stroke, tracePath } from "./shapes.js";

const NOT_FOUND = "rgb(235 235 235)";

/** Paint a scene and, if it was searched, the detections `found`, with the colours and leaves of a template. */
export function paintScene(context, view, scene, bitmap, found, template, highlight) {
  drawPicture(context, view, bitmap, scene);
  if (!found || !template) return;
  const leaves = new Set(template.leaves);
  found.detections.forEach((detection, index) => {
    const parts = Object.entries(detection.parts).filter(([name]) => leaves.has(name));
    context.globalAlpha = highlight !== null && highlight.index !== index ? 0.35 : 1;
    // Found parts are painted last: a dashed outline must not cover them.
    for (const isFound of [false, true])
      for (const [name, part] of parts)
        if (part.found === isFound)
          paintPart(context, view, part, template.colors[name], isHighlighted(highlight, index, name));
    context.globalAlpha = 1;
  });
  found.detections.forEach((detection, index) => paintNumber(context, view, detection, index, leaves));
}

const isHighlighted = (highlight, index, name) => highlight?.index === index && highlight.part === name;

function paintPart(context, view, part, color, highlighted) {
  tracePath(context, part.polygon);
  if (part.found) {
    fill(context, color, highlighted ? 0.45 : 0.12);
    stroke(context, view, color, highlighted ? 4 : 2.2);
  } else {
    if (highlighted) fill(context, "white", 0.25);
    stroke(context, view, NOT_FOUND, highlighted ? 3 : 1.4, [5, 5]);
  }
}

/** The number and score of a detection, above it. */
function paintNumber(context, view, detection, index, leaves) {
  const corners = Object.entries(detection.parts)
    .filter(([name]) => leaves.has(name))
    .flatMap(([, part]) => part.polygon);
  if (!corners.length) return;
  const xs = corners.map(([x]) => x);
  const top = Math.min(...corners.map(([, y]) => y));
  const at = [(Math.min(...xs) + Math.max(...xs)) / 2, Math.max(top - 14 / view.scale, 10 / view.scale)];
  drawLabel(context, view, at, `${index + 1} · ${detection.score.toFixed(2)}`, "white");
}
