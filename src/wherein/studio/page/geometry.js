// Points are [x, y] in pixels of the picture, whose centres are at whole numbers. A polygon is a list of points.

export const distance = ([ax, ay], [bx, by]) => Math.hypot(bx - ax, by - ay);

export const midpoint = ([ax, ay], [bx, by]) => [(ax + bx) / 2, (ay + by) / 2];

/** Twice the signed area; positive where the corners turn from x towards y. */
function signedDoubleArea(polygon) {
  let sum = 0;
  for (let k = 0; k < polygon.length; k++) {
    const [ax, ay] = polygon[k];
    const [bx, by] = polygon[(k + 1) % polygon.length];
    sum += ax * by - bx * ay;
  }
  return sum;
}

export const area = (polygon) => Math.abs(signedDoubleArea(polygon)) / 2;

/** The centre of gravity; for a polygon without area, the mean of its corners. */
export function centroid(polygon) {
  const total = signedDoubleArea(polygon);
  if (Math.abs(total) < 1e-6) {
    const sum = polygon.reduce(([sx, sy], [x, y]) => [sx + x, sy + y], [0, 0]);
    return [sum[0] / polygon.length, sum[1] / polygon.length];
  }
  let [x, y] = [0, 0];
  for (let k = 0; k < polygon.length; k++) {
    const [ax, ay] = polygon[k];
    const [bx, by] = polygon[(k + 1) % polygon.length];
    const cross = ax * by - bx * ay;
    x += (ax + bx) * cross;
    y += (ay + by) * cross;
  }
  return [x / (3 * total), y / (3 * total)];
}

export function bounds(points) {
  const xs = points.map(([x]) => x);
  const ys = points.map(([, y]) => y);
  return { left: Math.min(...xs), top: Math.min(...ys), right: Math.max(...xs), bottom: Math.max(...ys) };
}

/** The rectangle between two opposite corners. */
export const rectangle = ([ax, ay], [bx, by]) => [
  [ax, ay],
  [bx, ay],
  [bx, by],
  [ax, by],
];

const CHORD_ERROR = 0.5; // maximum error of an ellipse's polygon in pixels: edges of pictures are not sharper
const MIN_CHORDS = 12;

/** The ellipse between two opposite corners, as a polygon of the same area. */
export function ellipse([ax, ay], [bx, by]) {
  const [rx, ry] = [Math.abs(bx - ax) / 2, Math.abs(by - ay) / 2];
  // A chord over the angle 2t is r (1 − cos t) ≈ r t² / 2 away from its arc.
  const count = Math.max(MIN_CHORDS, Math.ceil(Math.PI / Math.sqrt((2 * CHORD_ERROR) / Math.max(rx, ry))));
  const angle = (2 * Math.PI) / count;
  const grow = Math.sqrt(angle / Math.sin(angle)); // a polygon with corners on the ellipse has a smaller area
  return Array.from({ length: count }, (_, k) => [
    rounded((ax + bx) / 2 + grow * rx * Math.cos(k * angle)),
    rounded((ay + by) / 2 + grow * ry * Math.sin(k * angle)),
  ]);
}

/** Whether a point is inside a polygon, by the even-odd rule: outlines are filled by the same rule. */
export function inside([x, y], polygon) {
  let result = false;
  for (let k = 0, before = polygon.length - 1; k < polygon.length; before = k++) {
    const [ax, ay] = polygon[k];
    const [bx, by] = polygon[before];
    if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) result = !result;
  }
  return result;
}

function distanceToSegment([x, y], [ax, ay], [bx, by]) {
  const [dx, dy] = [bx - ax, by - ay];
  const length = dx * dx + dy * dy;
  const along = length ? Math.max(0, Math.min(1, ((x - ax) * dx + (y - ay) * dy) / length)) : 0;
  return Math.hypot(x - ax - along * dx, y - ay - along * dy);
}

/** Whether two edges of a polygon that are not neighbours cross. */
export function selfIntersects(polygon) {
  const side = ([ax, ay], [bx, by], [x, y]) => Math.sign((bx - ax) * (y - ay) - (by - ay) * (x - ax));
  const cross = (a, b, c, d) => side(a, b, c) * side(a, b, d) < 0 && side(c, d, a) * side(c, d, b) < 0;
  const edges = polygon.map((corner, k) => [corner, polygon[(k + 1) % polygon.length]]);
  return edges.some(([a, b], k) => edges.slice(k + 2).some(([c, d]) => cross(a, b, c, d)));
}

/** The nearest edge of a polygon: the index of its first corner, and its distance. */
export function nearestEdge(point, polygon) {
  let best = { index: -1, distance: Infinity };
  polygon.forEach((corner, index) => {
    const distance = distanceToSegment(point, corner, polygon[(index + 1) % polygon.length]);
    if (distance < best.distance) best = { index, distance };
  });
  return best;
}

/** A line with fewer points: removed points are within `tolerance` of it (Douglas–Peucker). */
export function simplified(line, tolerance) {
  if (line.length < 3) return line;
  const kept = new Set([0, line.length - 1]);
  const pending = [[0, line.length - 1]];
  while (pending.length) {
    const [first, last] = pending.pop();
    let [worst, at] = [tolerance, -1];
    for (let k = first + 1; k < last; k++) {
      const distance = distanceToSegment(line[k], line[first], line[last]);
      if (distance > worst) [worst, at] = [distance, k];
    }
    if (at >= 0) {
      kept.add(at);
      pending.push([first, at], [at, last]);
    }
  }
  return line.filter((_, k) => kept.has(k));
}

const degrees = (radians) => (radians * 180) / Math.PI;

export const radians = (degrees) => (degrees * Math.PI) / 180;

/** The direction from one point to another, in radians; positive from x towards y. */
export const direction = ([ax, ay], [bx, by]) => Math.atan2(by - ay, bx - ax);

/** The angle between two directions, in degrees from 0 to 180. */
export function angleBetween(a, b) {
  const angle = Math.abs(degrees(a - b)) % 360;
  return angle > 180 ? 360 - angle : angle;
}

/** The identity, as the six numbers of a canvas transform. */
export const IDENTITY = [1, 0, 0, 1, 0, 0];

/** A rotation about a point, in degrees, as the six numbers of a canvas transform. */
export function rotationAbout(angle, [x, y]) {
  const [c, s] = [Math.cos(radians(angle)), Math.sin(radians(angle))];
  return [c, s, -s, c, x - c * x + s * y, y - s * x - c * y];
}

/** The product of two transforms: first `b`, then `a`. */
export function multiply([a0, a1, a2, a3, a4, a5], [b0, b1, b2, b3, b4, b5]) {
  return [
    a0 * b0 + a2 * b1,
    a1 * b0 + a3 * b1,
    a0 * b2 + a2 * b3,
    a1 * b2 + a3 * b3,
    a0 * b4 + a2 * b5 + a4,
    a1 * b4 + a3 * b5 + a5,
  ];
}

export const rounded = (value, digits = 1) => Number(value.toFixed(digits));

export const clamp = (value, low, high) => Math.max(low, Math.min(high, value));
