// The canvas: its size, its repainting, and pointer gestures. The current tool interprets gestures; panning and
// zooming work with every tool.
import { $ } from "./dom.js";
import { View } from "./view.js";

const CLICK_DISTANCE = 6; // maximum movement of a click, in pixels
const LONG_PRESS = 550; // milliseconds
const REACH = { touch: 20, other: 9 }; // maximum distance to a handle: a finger is less precise than a mouse
const MARGIN = 30; // minimum distance of a revealed point from the edge of the canvas, in pixels

export const view = new View();

const frame = $("#stage");
const canvas = $("#canvas");
const context = canvas.getContext("2d");
const pointers = new Map(); // the pressed pointers, by id

let size = { width: 1, height: 1 };
let paint = () => {};
let tool = null;
let suspended = null; // the tool that continues after a temporary one
let gesture = null; // { kind: "tool" | "wait" | "pan" | "pinch" | "done", … } of the pressed pointers
let spaceHeld = false;
let scheduled = false; // whether a repaint is scheduled
let fitted = null; // the picture that is shown as a whole, until the user pans or zooms
let shownId = null; // the id of the picture that was fitted last
let presses = []; // the last two presses: tool and position

const apart = ([ax, ay], [bx, by]) => Math.hypot(bx - ax, by - ay);

/** Repaint with the next frame; several calls before it cause one repaint. */
export function repaint() {
  if (scheduled) return;
  scheduled = true;
  requestAnimationFrame(() => {
    scheduled = false;
    const ratio = devicePixelRatio || 1;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, size.width, size.height);
    paint(context, ratio);
    canvas.style.cursor =
      gesture?.kind === "pan" ? "grabbing" : spaceHeld ? "grab" : (tool?.cursor ?? "default");
  });
}

export function setPainter(painter) {
  paint = painter;
  repaint();
}

/** Change the tool. A temporary tool suspends the last one; any other cancels it. */
export function setTool(next) {
  if (tool === next) return;
  if (next.temporary) suspended ??= tool;
  else {
    for (const left of new Set([tool, suspended])) if (left !== next) left?.cancel?.();
    suspended = null;
  }
  tool = next;
  repaint();
}

export const currentTool = () => tool;

/** The tool whose work is shown: the suspended one while a temporary tool is in use. */
export const paintedTool = () => suspended ?? tool;

/** Show the whole picture; unless `always`, only if it is not the same picture as before. */
export function fit(picture, always = true) {
  if (!picture || (!always && shownId === picture.id)) return;
  shownId = picture.id;
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

/** Pan until a point is visible: with the keyboard, it can be moved out of the canvas. */
export function reveal(point) {
  const [x, y] = view.toScreen(point);
  const dx = Math.max(0, MARGIN - x) - Math.max(0, x - size.width + MARGIN);
  const dy = Math.max(0, MARGIN - y) - Math.max(0, y - size.height + MARGIN);
  if (dx || dy) pan(dx, dy);
  repaint();
}

/** The point of the picture in the middle of the canvas. */
export const visibleCenter = () => view.toPicture([size.width / 2, size.height / 2]);

/** A pointer event for tools: its position on the screen and in the picture, and the reach of handles. */
function toPointer(event) {
  const box = canvas.getBoundingClientRect();
  const at = [event.clientX - box.left, event.clientY - box.top];
  const touch = event.pointerType === "touch";
  const reach = (touch ? REACH.touch : REACH.other) / view.scale;
  return { at, point: view.toPicture(at), reach, touch, shift: event.shiftKey };
}

function press(event) {
  if (event.pointerType === "mouse" && event.button === 2) return;
  canvas.focus({ preventScroll: true });
  canvas.setPointerCapture(event.pointerId);
  const pointer = toPointer(event);
  presses = [...presses.slice(-1), { tool, at: pointer.at }];
  pointers.set(event.pointerId, pointer);
  if (pointers.size === 2) return beginPinch();
  if (pointers.size > 2) return;
  if (event.button === 1 || spaceHeld) {
    gesture = { kind: "pan", from: pointer.at };
  } else {
    gesture = { kind: tool?.down?.(pointer) ? "tool" : "wait", from: pointer.at, moved: false, timer: 0 };
    if (pointer.touch) gesture.timer = setTimeout(() => longPress(pointer), LONG_PRESS);
  }
  repaint();
}

function longPress(pointer) {
  if (!gesture || gesture.moved || !tool?.menu) return;
  tool.cancelGesture?.();
  gesture = { kind: "done", from: pointer.at };
  tool.menu(pointer);
}

function beginPinch() {
  clearTimeout(gesture?.timer);
  tool?.cancelGesture?.();
  gesture = { kind: "pinch" };
}

function pinch(event) {
  const before = [...pointers.values()].map((pointer) => pointer.at);
  pointers.set(event.pointerId, toPointer(event));
  const after = [...pointers.values()].map((pointer) => pointer.at);
  const gap = ([p, q]) => apart(p, q) || 1;
  const middle = ([p, q]) => [(p[0] + q[0]) / 2, (p[1] + q[1]) / 2];
  const [from, to] = [middle(before), middle(after)];
  pan(to[0] - from[0], to[1] - from[1]);
  zoom(gap(after) / gap(before), to);
}

function move(event) {
  const pointer = toPointer(event);
  if (!pointers.has(event.pointerId)) {
    tool?.hover?.(pointer);
    return repaint();
  }
  if (gesture?.kind === "pinch") return pointers.size === 2 && pinch(event);
  const last = pointers.get(event.pointerId);
  pointers.set(event.pointerId, pointer);
  if (!gesture || gesture.kind === "done") return;
  if (apart(pointer.at, gesture.from) > CLICK_DISTANCE && !gesture.moved) {
    gesture.moved = true;
    clearTimeout(gesture.timer);
    if (gesture.kind === "wait") gesture.kind = "pan"; // the tool has nothing to drag here
  }
  if (gesture.kind === "pan") pan(pointer.at[0] - last.at[0], pointer.at[1] - last.at[1]);
  if (gesture.kind === "tool" && gesture.moved) tool.drag?.(pointer);
  repaint();
}

function release(event) {
  if (!pointers.delete(event.pointerId)) return;
  clearTimeout(gesture?.timer);
  const pointer = toPointer(event);
  const ended = gesture;
  if (ended?.kind === "pinch") {
    if (!pointers.size) gesture = null;
    return;
  }
  gesture = null;
  if (event.type === "pointercancel") tool?.cancelGesture?.();
  else if (ended?.kind === "tool") tool.up?.(pointer, ended.moved);
  else if (ended?.kind === "wait") tool?.click?.(pointer);
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
  // The browser counts two quick clicks as one double click even if the tool changed in between, or if the
  // second is several pixels away.
  const [first, second] = presses;
  if (first.tool !== tool || second.tool !== tool || apart(first.at, second.at) > CLICK_DISTANCE) return;
  tool.doubleClick?.(toPointer(event));
});
canvas.addEventListener("contextmenu", (event) => {
  event.preventDefault();
  if (!pointers.size) tool?.menu?.(toPointer(event));
});
canvas.addEventListener(
  "wheel",
  (event) => {
    event.preventDefault();
    const pixels = event.deltaMode === 1 ? 16 : 1; // per unit, which is a line or a pixel
    // A pinch on a touchpad arrives as a wheel with Ctrl, in smaller steps.
    zoom(Math.exp(-event.deltaY * pixels * (event.ctrlKey ? 0.01 : 0.0016)), toPointer(event).at);
  },
  { passive: false },
);

/** While the space bar is held, dragging pans with every tool. */
export function holdSpace(down) {
  if (spaceHeld === down) return;
  spaceHeld = down;
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
