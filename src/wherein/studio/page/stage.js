// The canvas: its size, when it is painted, and what fingers, mice and keys do on it. What they mean is the
// tool's business; moving the picture about is the same under every tool.
import { $ } from "./dom.js";
import { View } from "./view.js";

const STILL = 6; // pixels that a press may stray and still be a click
const LONG = 550; // milliseconds after which a touch is a long press

export const view = new View();

const frame = $("#stage");
const canvas = $("#canvas");
const context = canvas.getContext("2d");
const pointers = new Map();

let size = { width: 1, height: 1 };
let paint = () => {};
let tool = null;
let aside = null; // the tool that is taken up again once the picture was moved
let gesture = null; // { kind: "tool" | "pan" | "pinch" | "done", … } of what is pressed now
let held = false; // the space bar
let due = false;
let fitted = null; // the picture that is shown whole, until a person moves it
let shown = null; // the id of the picture that was fitted last
let presses = []; // the last two: the tool, and where

const apart = ([ax, ay], [bx, by]) => Math.hypot(bx - ax, by - ay);

/** Paint again, soon: however much has changed, once a frame. */
export function repaint() {
  if (due) return;
  due = true;
  requestAnimationFrame(() => {
    due = false;
    const ratio = devicePixelRatio || 1;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, size.width, size.height);
    paint(context, view, ratio, size);
    canvas.style.cursor = gesture?.kind === "pan" ? "grabbing" : held ? "grab" : (tool?.cursor ?? "default");
  });
}

/** Who paints, and which tool is in hand. */
export function setPainter(painter) {
  paint = painter;
  repaint();
}

export function setTool(next) {
  if (tool === next) return;
  if (next.inPassing) aside ??= tool;
  else {
    for (const left of new Set([tool, aside])) if (left !== next) left?.cancel?.();
    aside = null;
  }
  tool = next;
  repaint();
}

export const currentTool = () => tool;

/** What is worked with, also while the picture is moved in between. */
export const toolAtWork = () => aside ?? tool;

/** Show the whole picture; where it is the same as before, only if that is asked for. */
export function fit(picture, always = true) {
  if (!picture || (!always && shown === picture.id)) return;
  shown = picture.id;
  fitted = picture;
  view.fit(picture, size.width, size.height);
  repaint();
}

export function zoom(factor, at = [size.width / 2, size.height / 2]) {
  fitted = null;
  view.zoom(factor, at);
  repaint();
}

export function pan(dx, dy) {
  fitted = null;
  view.pan(dx, dy);
  repaint();
}

/** Keep a place in sight: whoever moves by keys must see where. */
export function reveal(place) {
  const [x, y] = view.toScreen(place);
  const margin = 30;
  const dx = Math.max(0, margin - x) - Math.max(0, x - size.width + margin);
  const dy = Math.max(0, margin - y) - Math.max(0, y - size.height + margin);
  if (dx || dy) pan(dx, dy);
  repaint();
}

export const centre = () => view.toPicture([size.width / 2, size.height / 2]);

const placeOf = (event) => {
  const box = canvas.getBoundingClientRect();
  const at = [event.clientX - box.left, event.clientY - box.top];
  const [x, y] = view.toPicture(at);
  // How near is near enough, in picture pixels: fingers are wider than they look.
  const reach = (event.pointerType === "touch" ? 20 : 9) / view.scale;
  return {
    at,
    x,
    y,
    place: [x, y],
    reach,
    shift: event.shiftKey,
    alt: event.altKey,
    touch: event.pointerType === "touch",
  };
};

function press(event) {
  if (event.pointerType === "mouse" && event.button === 2) return;
  canvas.focus({ preventScroll: true });
  canvas.setPointerCapture(event.pointerId);
  const point = placeOf(event);
  presses = [...presses.slice(-1), { tool, at: point.at }];
  pointers.set(event.pointerId, point);
  if (pointers.size === 2) return beginPinch();
  if (pointers.size > 2) return;
  if (event.button === 1 || held) {
    gesture = { kind: "pan", from: point.at };
  } else {
    gesture = { kind: tool?.down?.(point) ? "tool" : "wait", from: point.at, moved: false, timer: 0 };
    if (point.touch) gesture.timer = setTimeout(() => longPress(point), LONG);
  }
  repaint();
}

function longPress(point) {
  if (!gesture || gesture.moved || !tool?.menu) return;
  tool.cancelGesture?.();
  gesture = { kind: "done", from: point.at };
  tool.menu(point);
}

function beginPinch() {
  clearTimeout(gesture?.timer);
  tool?.cancelGesture?.();
  gesture = { kind: "pinch" };
}

function pinch(event) {
  const before = [...pointers.values()].map((point) => point.at);
  pointers.set(event.pointerId, placeOf(event));
  const [a, b] = [...pointers.values()].map((point) => point.at);
  const gap = ([p, q]) => apart(p, q) || 1;
  const mid = ([p, q]) => [(p[0] + q[0]) / 2, (p[1] + q[1]) / 2];
  const [from, to] = [mid(before), mid([a, b])];
  pan(to[0] - from[0], to[1] - from[1]);
  zoom(gap([a, b]) / gap(before), to);
}

function move(event) {
  const point = placeOf(event);
  if (!pointers.has(event.pointerId)) {
    tool?.hover?.(point);
    return repaint();
  }
  if (gesture?.kind === "pinch") return pointers.size === 2 && pinch(event);
  const last = pointers.get(event.pointerId);
  pointers.set(event.pointerId, point);
  if (!gesture || gesture.kind === "done") return;
  if (apart(point.at, gesture.from) > STILL && !gesture.moved) {
    gesture.moved = true;
    clearTimeout(gesture.timer);
    if (gesture.kind === "wait") gesture.kind = "pan"; // nothing to take hold of: the picture itself
  }
  if (gesture.kind === "pan") pan(point.at[0] - last.at[0], point.at[1] - last.at[1]);
  if (gesture.kind === "tool" && gesture.moved) tool.drag?.(point);
  repaint();
}

function release(event) {
  if (!pointers.delete(event.pointerId)) return;
  clearTimeout(gesture?.timer);
  const point = placeOf(event);
  const ended = gesture;
  if (ended?.kind === "pinch") {
    if (!pointers.size) gesture = null;
    return;
  }
  gesture = null;
  if (event.type === "pointercancel") tool?.cancelGesture?.();
  else if (ended?.kind === "tool") tool.up?.(point, ended.moved);
  else if (ended?.kind === "wait") tool?.click?.(point);
  repaint();
}

canvas.addEventListener("pointerdown", press);
canvas.addEventListener("pointermove", move);
canvas.addEventListener("pointerup", release);
canvas.addEventListener("pointercancel", release);
canvas.addEventListener("pointerleave", () => {
  tool?.leave?.();
  repaint();
});
canvas.addEventListener("dblclick", (event) => {
  // Of two clicks the first may have been the last of another tool, or, in haste, in another place.
  const [first, second] = presses;
  if (first.tool !== tool || second.tool !== tool || apart(first.at, second.at) > STILL) return;
  tool.double?.(placeOf(event));
});
canvas.addEventListener("contextmenu", (event) => {
  event.preventDefault();
  if (!pointers.size) tool?.menu?.(placeOf(event));
});
canvas.addEventListener(
  "wheel",
  (event) => {
    event.preventDefault();
    const lines = event.deltaMode === 1 ? 16 : 1;
    zoom(Math.exp(-event.deltaY * lines * (event.ctrlKey ? 0.01 : 0.0016)), placeOf(event).at);
  },
  { passive: false },
);

/** The space bar moves the picture as long as it is held, where the pointer is what works. */
export function holdSpace(down) {
  if (held === down) return;
  held = down;
  repaint();
}

new ResizeObserver(() => {
  const box = frame.getBoundingClientRect();
  if (!box.width || !box.height) return;
  view.pan((box.width - size.width) / 2, (box.height - size.height) / 2);
  size = { width: box.width, height: box.height };
  fit(fitted);
  canvas.width = Math.round(box.width * (devicePixelRatio || 1));
  canvas.height = Math.round(box.height * (devicePixelRatio || 1));
  repaint();
}).observe(frame);
