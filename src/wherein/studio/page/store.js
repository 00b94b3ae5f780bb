// The state of the page and its undo history. Views watch the state; all changes are made by this module.
import { emptyDraft } from "./draft.js";

const MAX_STEPS = 200; // maximum length of the undo history

const state = {
  mode: "template", // or "detect"
  tool: "select",
  draft: emptyDraft(),
  saved: null, // the draft that was saved last
  selected: null, // the id of a part
  corner: null, // the index of a corner of its outline
  redrawing: null, // the id of a part whose outline is being redrawn
  pose: {}, // degrees by part, to preview joints
  template: null, // compiled from the draft by the server: { id, leaves, colors }
  templateError: null, // why the draft cannot be compiled
  findings: null, // about the template, from the server
  checking: false, // whether findings have been requested
  colors: {}, // CSS colours by part id, from the server
  scenes: [],
  scene: null, // the id of the scene that is shown
  searching: null, // the id of the scene that is being searched
  uploads: [], // names of scenes that are still to be uploaded; the first is being uploaded
  settings: {
    rotation: 180,
    scale: [0.5, 2],
    tilt: 40,
    threshold: null,
    max_instances: null,
    overlap: null,
    polarity: "same",
    region: null, // x, y, width, height
  },
  results: new Map(), // by scene id: { key, data } or { key, error }
  calibration: { running: false, fraction: 0, step: "", error: "" },
  highlight: null, // { index, part } of a detection
  connection: "open", // to the server; "none": it does not answer; "other": it belongs to another session
  maxUpload: Infinity, // bytes
  defaultTurn: null, // degrees, from the server
  saveName: null, // of the folder or .zip that Save writes; null: Save downloads
};

const watchers = [];
const past = [];
let future = [];
let changedKeys = null; // the keys that changed since the watchers were last called

export const getState = () => state;

/** The picture or scene on the canvas; null if there is none. */
export function shownPicture() {
  const { mode, draft, scenes, scene } = state;
  return mode === "detect" ? (scenes.find(({ id }) => id === scene) ?? null) : draft.picture;
}

/** Call `show` now and after each change of these keys; several changes at once cause one call. */
export function watch(keys, show) {
  watchers.push({ keys: new Set(keys), show });
  show(state);
}

/** Change the state. Watchers are called before the browser paints. */
export function update(patch) {
  const changed = Object.keys(patch).filter((key) => state[key] !== patch[key]);
  if (!changed.length) return;
  Object.assign(state, patch);
  if (changedKeys) return changed.forEach((key) => changedKeys.add(key));
  changedKeys = new Set(changed);
  queueMicrotask(() => {
    const keys = changedKeys;
    changedKeys = null;
    for (const watcher of watchers) if ([...keys].some((key) => watcher.keys.has(key))) watcher.show(state);
  });
}

/** Change the draft as a step that can be undone. Consecutive steps of the same `gesture` are one step. */
export function edit(label, draft, { gesture = null, ...patch } = {}) {
  if (draft === state.draft) return;
  const last = past.at(-1);
  if (!(gesture && last?.gesture === gesture)) {
    past.push({ label, gesture, draft: state.draft, selected: state.selected });
    if (past.length > MAX_STEPS) past.shift();
  }
  future = [];
  update({ draft, pose: {}, ...patch });
}

/** End a gesture: the next step is separate, even if it has the same name. */
export function endGesture() {
  if (past.length) past.at(-1).gesture = null;
}

function step(from, to) {
  const entry = from.pop();
  if (!entry) return null;
  to.push({ label: entry.label, gesture: null, draft: state.draft, selected: state.selected });
  const exists = entry.draft.parts.some((part) => part.id === entry.selected);
  update({ draft: entry.draft, selected: exists ? entry.selected : null, corner: null, pose: {} });
  return entry.label;
}

export const undo = () => step(past, future);

export const redo = () => step(future, past);

/** The labels of the next undo and redo steps; null if there is none. */
export const history = () => ({ undo: past.at(-1)?.label ?? null, redo: future.at(-1)?.label ?? null });

/** Start with a draft and an empty history. */
export function reset(draft) {
  past.length = 0;
  future = [];
  update({ draft, selected: null, corner: null, pose: {} });
}
