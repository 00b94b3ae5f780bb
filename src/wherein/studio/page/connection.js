// Checks regularly whether the server still answers, so that the user knows before the next step.
import * as api from "./api.js";
import { update } from "./store.js";

const INTERVAL = 4000; // milliseconds; a choice: most users take longer for a step

let timer = 0;

async function check() {
  clearTimeout(timer);
  await api.calibration().catch(() => {}); // api.js reports for every request whether it was answered
  timer = setTimeout(check, INTERVAL);
}

/** Check now, and then regularly. Browsers slow down timers of hidden tabs: a tab also checks when it is shown. */
export function watchConnection() {
  api.onAnswer((connection) => update({ connection }));
  document.addEventListener("visibilitychange", () => !document.hidden && check());
  check();
}
