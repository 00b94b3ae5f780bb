// What the page knows, and the steps by which a person got there. Whoever shows something watches it;
// whoever changes something says so here, and nowhere else.
import { emptyDraft } from "./draft.js";

const MOST = 200;

const state = {
  mode: "template",
  tool: "select",
  draft: emptyDraft(),
  saved: null, // the draft that was saved last
  selected: null, // the id of a part
  corner: null, // the index of a corner of its outline
  redrawn: null, // the id of a part whose outline is drawn anew
  pose: {}, // degrees by part, to try joints
  template: null, // what the server made of the draft: { id, leaves }
  problem: null, // why it could not
  findings: null, // what makes it hard to find
  checking: false,
  scenes: [],
  scene: null, // the id of the one that is shown
  settings: { rotation: 180, scale: [1, 1], threshold: null, max_instances: null },
  results: new Map(), // by scene: { key, data } or { key, error }
  calibration: { running: false, share: 0, what: "", error: "" },
  highlight: null, // { index, part } of what was found
  limits: { upload: Infinity, scenes: Infinity },
  save: null,
};

const watchers = [];
const past = [];
let future = [];
let waiting = null;

export const now = () => state;

/** Call `show` after any of these keys has changed, once for all changes of a moment; and once at first. */
export function watch(keys, show) {
  watchers.push({ keys: new Set(keys), show });
  show(state);
}

/** Change what is known; watchers are told before the next picture is painted. */
export function update(patch) {
  const changed = Object.keys(patch).filter((key) => state[key] !== patch[key]);
  if (!changed.length) return;
  Object.assign(state, patch);
  if (waiting) return changed.forEach((key) => waiting.add(key));
  waiting = new Set(changed);
  queueMicrotask(() => {
    const keys = waiting;
    waiting = null;
    for (const watcher of watchers) if ([...keys].some((key) => watcher.keys.has(key))) watcher.show(state);
  });
}

/** Change the draft, as a step that can be undone. Steps of one `gesture` in a row are one. */
export function edit(label, draft, { gesture = null, ...also } = {}) {
  if (draft === state.draft) return;
  const last = past.at(-1);
  if (!(gesture && last?.gesture === gesture)) {
    past.push({ label, gesture, draft: state.draft, selected: state.selected });
    if (past.length > MOST) past.shift();
  }
  future = [];
  update({ draft, pose: {}, ...also });
}

/** The gesture is over: the next step is another, even if it is alike. */
export function settle() {
  if (past.length) past.at(-1).gesture = null;
}

function step(from, to) {
  const entry = from.pop();
  if (!entry) return null;
  to.push({ label: entry.label, gesture: null, draft: state.draft, selected: state.selected });
  const there = entry.draft.parts.some((part) => part.id === entry.selected);
  update({ draft: entry.draft, selected: there ? entry.selected : null, corner: null, pose: {} });
  return entry.label;
}

export const undo = () => step(past, future);

export const redo = () => step(future, past);

export const history = () => ({ undo: past.at(-1)?.label ?? null, redo: future.at(-1)?.label ?? null });

/** Begin with another draft, with nothing to undo to. */
export function restart(draft) {
  past.length = 0;
  future = [];
  update({ draft, selected: null, corner: null, pose: {} });
}
