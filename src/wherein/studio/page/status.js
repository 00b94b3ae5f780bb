// The status bar at the bottom, and notifications.
import { StudioError } from "./api.js";
import { $, h, iconButton } from "./dom.js";
import { getState, watch } from "./store.js";

const NOTE_TIME = 5000; // duration of a notification in milliseconds
const ERROR_TIME = 15000;
const DISCONNECTED = {
  none: "No connection to the studio. Check that it is still running in the terminal.",
  other: "The studio was started again. Open the address that it printed.",
};

const line = $("#status");
const bar = $("#progress");
const toasts = $("#toasts");
const running = new Map(); // texts of running tasks, by number
let note = null; // the last one: { remove, action, mode, draft }
let idleText = "";
let nextNumber = 0;

function show() {
  const [text] = [...running.values()].slice(-1);
  const problem = DISCONNECTED[getState().connection];
  line.textContent = problem ?? text ?? idleText;
  document.body.classList.toggle("busy", running.size > 0 && !problem);
  document.body.classList.toggle("disconnected", Boolean(problem));
}

watch(["connection"], show);

/** Set the text for when no task is running. */
export function setIdleStatus(text) {
  idleText = text;
  show();
}

/** Show a text while a task runs. If the task fails, the error is shown, and the result is `undefined`. */
export async function withStatus(text, task) {
  const number = nextNumber++;
  running.set(number, text);
  show();
  try {
    return await task();
  } catch (error) {
    if (error.name !== "AbortError") reportError(error);
    return undefined;
  } finally {
    running.delete(number);
    show();
  }
}

/** Show the progress of a background task, 0 to 1; null: there is none. */
export function showProgress(fraction) {
  bar.hidden = fraction === null;
  if (fraction !== null) bar.value = fraction;
}

export function reportError(error) {
  const known = error instanceof StudioError;
  if (!known) console.error(error);
  notify(known ? error.message : "Unexpected error. Undo the last step or reload the page.", "error");
}

/**
 * Show a notification, optionally with an action { label, act }. A note refers to what is on the screen: it
 * disappears when the mode changes and, if it has an action such as Undo, when the draft changes.
 */
export function notify(text, kind = "note", action = null) {
  const remove = () => toast.remove();
  const toast = h(
    "div",
    { className: `toast ${kind}`, role: kind === "error" ? "alert" : "status" },
    h("span", {}, text),
    action &&
      h(
        "button",
        { type: "button", className: "link", onclick: () => (remove(), action.act()) },
        action.label,
      ),
    iconButton("close", "Dismiss", remove, { className: "quiet" }),
  );
  // A new note replaces the last one; errors stay beside it.
  for (const old of [...toasts.children]) if (!old.classList.contains("error")) old.remove();
  while (toasts.children.length > 2) toasts.firstChild.remove();
  toasts.append(toast);
  if (kind !== "error") note = { remove, action, mode: getState().mode, draft: getState().draft };
  setTimeout(remove, kind === "error" ? ERROR_TIME : NOTE_TIME);
}

watch(["mode", "draft"], ({ mode, draft }) => {
  if (note && (note.mode !== mode || (note.action && note.draft !== draft))) note.remove();
});
