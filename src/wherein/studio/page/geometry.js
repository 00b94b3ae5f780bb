// Places are [x, y] in picture pixels, whose centres are at whole numbers; a polygon is a list of places.

export const distance = ([ax, ay], [bx, by]) => Math.hypot(bx - ax, by - ay);

export const middle = ([ax, ay], [bx, by]) => [(ax + bx) / 2, (ay + by) / 2];

/** Twice the signed area: positive where the corners go round from x towards y. */
function doubled(polygon) {
  let sum = 0;
  for (let k = 0; k < polygon.length; k++) {
    const [ax, ay] = polygon[k];
    const [bx, by] = polygon[(k + 1) % polygon.length];
    sum += ax * by - bx * ay;
  }
  return sum;
}

export const area = (polygon) => Math.abs(doubled(polygon)) / 2;

/** The centre of gravity; of a polygon without an inside, the mean of its corners. */
export function centroid(polygon) {
  const total = doubled(polygon);
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

/** By the even-odd rule, as outlines are filled. */
export function inside([x, y], polygon) {
  let is = false;
  for (let k = 0, before = polygon.length - 1; k < polygon.length; before = k++) {
    const [ax, ay] = polygon[k];
    const [bx, by] = polygon[before];
    if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) is = !is;
  }
  return is;
}

function fromSegment([x, y], [ax, ay], [bx, by]) {
  const [dx, dy] = [bx - ax, by - ay];
  const length = dx * dx + dy * dy;
  const along = length ? Math.max(0, Math.min(1, ((x - ax) * dx + (y - ay) * dy) / length)) : 0;
  return Math.hypot(x - ax - along * dx, y - ay - along * dy);
}

/** Whether two edges of a polygon that are not neighbours cross. */
export function crossesItself(polygon) {
  const side = ([ax, ay], [bx, by], [x, y]) => Math.sign((bx - ax) * (y - ay) - (by - ay) * (x - ax));
  const cross = (a, b, c, d) => side(a, b, c) * side(a, b, d) < 0 && side(c, d, a) * side(c, d, b) < 0;
  const edges = polygon.map((corner, k) => [corner, polygon[(k + 1) % polygon.length]]);
  return edges.some(([a, b], k) => edges.slice(k + 2).some(([c, d]) => cross(a, b, c, d)));
}

/** The edge that lies nearest: the index of its first corner, and how far away it is. */
export function nearestEdge(place, polygon) {
  let best = { index: -1, distance: Infinity };
  polygon.forEach((corner, index) => {
    const off = fromSegment(place, corner, polygon[(index + 1) % polygon.length]);
    if (off < best.distance) best = { index, distance: off };
  });
  return best;
}

/** A line with fewer corners, none left out that is further from it than `tolerance`: Douglas and Peucker. */
export function simplified(line, tolerance) {
  if (line.length < 3) return line;
  const kept = new Set([0, line.length - 1]);
  const waiting = [[0, line.length - 1]];
  while (waiting.length) {
    const [first, last] = waiting.pop();
    let [worst, at] = [tolerance, -1];
    for (let k = first + 1; k < last; k++) {
      const off = fromSegment(line[k], line[first], line[last]);
      if (off > worst) [worst, at] = [off, k];
    }
    if (at >= 0) {
      kept.add(at);
      waiting.push([first, at], [at, last]);
    }
  }
  return line.filter((_, k) => kept.has(k));
}

export const degrees = (radians) => (radians * 180) / Math.PI;

export const radians = (angle) => (angle * Math.PI) / 180;

/** The direction from one place to another, in radians; positive from x towards y. */
export const direction = ([ax, ay], [bx, by]) => Math.atan2(by - ay, bx - ax);

/** How far two directions are apart, in degrees from 0 to 180. */
export function between(a, b) {
  const turn = Math.abs(degrees(a - b)) % 360;
  return turn > 180 ? 360 - turn : turn;
}

/** A turn about a place, as the six numbers of a canvas's transform. */
export function turnAbout(angle, [x, y]) {
  const [c, s] = [Math.cos(radians(angle)), Math.sin(radians(angle))];
  return [c, s, -s, c, x - c * x + s * y, y - s * x - c * y];
}

/** First `b`, then `a`. */
export function after([a0, a1, a2, a3, a4, a5], [b0, b1, b2, b3, b4, b5]) {
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
