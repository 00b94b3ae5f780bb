// Shapes whose line width and handle size are in pixels of the screen, at any zoom. Lines have a dark edge, so
// that they are visible on any picture.

const EDGE = "rgb(0 0 0 / 0.65)";
const LABEL_BACKGROUND = "rgb(12 14 18 / 0.82)";

/** Paint a whole picture; enlarged pixels stay sharp. */
export function drawPicture(context, view, bitmap, { width, height }) {
  context.imageSmoothingEnabled = view.scale < 3;
  context.imageSmoothingQuality = "high";
  if (bitmap) context.drawImage(bitmap, -0.5, -0.5, width, height);
}

/** Start a path along points. */
export function tracePath(context, points, closed = true) {
  context.beginPath();
  points.forEach(([x, y], k) => (k ? context.lineTo(x, y) : context.moveTo(x, y)));
  if (closed) context.closePath();
}

/** Stroke the current path. */
export function stroke(context, view, color, width = 2, dash = null) {
  context.lineJoin = context.lineCap = "round";
  context.setLineDash(dash ? dash.map((d) => d / view.scale) : []);
  context.lineWidth = (width + 2) / view.scale;
  context.strokeStyle = EDGE;
  context.stroke();
  context.lineWidth = width / view.scale;
  context.strokeStyle = color;
  context.stroke();
  context.setLineDash([]);
}

/** Fill the current path, by the even-odd rule as the server does. */
export function fill(context, color, alpha) {
  context.save();
  context.globalAlpha = alpha;
  context.fillStyle = color;
  context.fill("evenodd");
  context.restore();
}

/** A round handle. */
export function drawDot(context, view, [x, y], color, { radius = 5, filled = false, ring = 2 } = {}) {
  context.beginPath();
  context.arc(x, y, radius / view.scale, 0, 2 * Math.PI);
  context.fillStyle = filled ? color : "white";
  context.fill();
  stroke(context, view, filled ? "white" : color, ring);
}

/** The plus sign where a corner can be inserted. */
export function drawPlus(context, view, [x, y], color) {
  const arm = 3.2 / view.scale;
  context.globalAlpha = 0.85;
  context.beginPath();
  context.arc(x, y, 6 / view.scale, 0, 2 * Math.PI);
  context.fillStyle = "rgb(0 0 0 / 0.55)";
  context.fill();
  context.beginPath();
  context.moveTo(x - arm, y);
  context.lineTo(x + arm, y);
  context.moveTo(x, y - arm);
  context.lineTo(x, y + arm);
  context.lineWidth = 1.6 / view.scale;
  context.strokeStyle = color;
  context.stroke();
  context.globalAlpha = 1;
}

/** A joint: a ring with a cross. */
export function drawJoint(context, view, [x, y], color) {
  const [inner, outer] = [6 / view.scale, 10 / view.scale];
  context.beginPath();
  context.arc(x, y, inner, 0, 2 * Math.PI);
  for (const [dx, dy] of [
    [1, 0],
    [0, 1],
    [-1, 0],
    [0, -1],
  ]) {
    context.moveTo(x + dx * inner, y + dy * inner);
    context.lineTo(x + dx * outer, y + dy * outer);
  }
  stroke(context, view, color, 2.4);
  context.beginPath();
  context.arc(x, y, 2 / view.scale, 0, 2 * Math.PI);
  context.fillStyle = "white";
  context.fill();
}

/** Text on a dark label, centred at a point. */
export function drawLabel(context, view, [x, y], text, color) {
  const size = 12 / view.scale;
  context.font = `600 ${size}px system-ui, sans-serif`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  const width = context.measureText(text).width + size;
  context.beginPath();
  context.roundRect(x - width / 2, y - size * 0.85, width, size * 1.7, size * 0.45);
  context.fillStyle = LABEL_BACKGROUND;
  context.fill();
  context.fillStyle = color;
  context.fillText(text, x, y);
}
