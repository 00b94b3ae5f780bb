// A scene with the outline of every part that was found in it; dashed where one should be and is not seen.
import { fill, label, stroke, trace } from "./shapes.js";

export function paintScene(context, view, scene, bitmap, found, colors, leaves, highlight) {
  context.imageSmoothingEnabled = view.scale < 3;
  context.imageSmoothingQuality = "high";
  if (bitmap) context.drawImage(bitmap, -0.5, -0.5, scene.width, scene.height);
  if (!found) return;
  found.detections.forEach((item, index) => {
    const dimmed = highlight !== null && highlight.index !== index;
    context.globalAlpha = dimmed ? 0.35 : 1;
    for (const seen of [false, true])
      for (const [name, part] of Object.entries(item.parts))
        if (part.found === seen && leaves.has(name))
          outline(context, view, part, colors(name), isLit(highlight, index, name));
    context.globalAlpha = 1;
  });
  found.detections.forEach((item, index) => number(context, view, item, index, leaves));
}

const isLit = (highlight, index, name) => highlight?.index === index && highlight.part === name;

function outline(context, view, part, color, lit) {
  trace(context, part.polygon);
  if (part.found) {
    fill(context, color, lit ? 0.45 : 0.12);
    stroke(context, view, color, lit ? 4 : 2.2);
  } else {
    if (lit) fill(context, "white", 0.25);
    stroke(context, view, "rgb(235 235 235)", lit ? 3 : 1.4, [5, 5]);
  }
}

function number(context, view, item, index, leaves) {
  const corners = Object.entries(item.parts)
    .filter(([name]) => leaves.has(name))
    .flatMap(([, part]) => part.polygon);
  if (!corners.length) return;
  const xs = corners.map(([x]) => x);
  const top = Math.min(...corners.map(([, y]) => y));
  const at = [(Math.min(...xs) + Math.max(...xs)) / 2, Math.max(top - 14 / view.scale, 10 / view.scale)];
  label(context, view, at, `${index + 1} · ${item.score.toFixed(2)}`, "white");
}
