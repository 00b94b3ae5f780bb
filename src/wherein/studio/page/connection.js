// Whether the server still answers. Asked regularly, so that the user learns it before the next step.
import * as api from "./api.js";
import { update } from "./store.js";

const INTERVAL = 4000; // milliseconds; a choice: most users take longer for a step

let timer = 0;

async function check() {
  clearTimeout(timer);
  await api.calibration().catch(() => {}); // every request reports whether it was answered
  timer = setTimeout(check, INTERVAL);
}

/** Ask now, and then regularly. Browsers slow this down in hidden tabs, so a tab asks when it is shown again. */
export function watchConnection() {
  api.onAnswer((connection) => update({ connection }));
  document.addEventListener("visibilitychange", () => !document.hidden && check());
  check();
}
