// It says what it is doing, at all times: a line at the bottom, and words that stay where something failed.
import { $, button, h } from "./dom.js";
import { StudioError } from "./api.js";

const line = $("#status");
const bar = $("#progress");
const toasts = $("#toasts");
const running = new Map();
let resting = "";
let number = 0;

function show() {
  const [words] = [...running.values()].slice(-1);
  line.textContent = words ?? resting;
  document.body.classList.toggle("busy", running.size > 0);
}

/** What is said while nothing is being done. */
export function rest(words) {
  resting = words;
  show();
}

/** Say what is being done, until it is; failures are told in words, and give `undefined`. */
export async function doing(words, work) {
  const key = number++;
  running.set(key, words);
  show();
  try {
    return await work();
  } catch (error) {
    if (error.name !== "AbortError") complain(error);
    return undefined;
  } finally {
    running.delete(key);
    show();
  }
}

/** How far something in the background is: a share, or null where there is nothing. */
export function progress(share) {
  bar.hidden = share === null;
  if (share !== null) bar.value = share;
}

export function complain(error) {
  const known = error instanceof StudioError;
  if (!known) console.error(error);
  tell(
    known ? error.message : "Something went wrong in this page. Undo may help; loading it anew will.",
    "error",
  );
}

/** Words that stay for a while, or until they are put away. */
export function tell(words, kind = "note", action = null) {
  const remove = () => toast.remove();
  const toast = h(
    "div",
    { className: `toast ${kind}`, role: kind === "error" ? "alert" : "status" },
    h("span", {}, words),
    action &&
      h(
        "button",
        { type: "button", className: "link", onclick: () => (remove(), action.act()) },
        action.label,
      ),
    button("close", "Put away", remove, { className: "quiet" }),
  );
  // The newest note says what is next; errors stay beside it.
  for (const old of [...toasts.children]) if (!old.classList.contains("error")) old.remove();
  while (toasts.children.length > 2) toasts.firstChild.remove();
  toasts.append(toast);
  setTimeout(remove, kind === "error" ? 15000 : 5000);
}
