// Light, dark, or as the system has it.
import { $ } from "./dom.js";

const KEPT = "wherein.theme";
const dark = matchMedia("(prefers-color-scheme: dark)");

function show() {
  const chosen = localStorage.getItem(KEPT);
  if (chosen) document.documentElement.dataset.theme = chosen;
  const isDark = chosen ? chosen === "dark" : dark.matches;
  $("#theme").setAttribute("aria-pressed", String(isDark));
}

export function switchTheme() {
  const isDark = $("#theme").getAttribute("aria-pressed") === "true";
  localStorage.setItem(KEPT, isDark ? "light" : "dark");
  show();
}

dark.addEventListener("change", show);
$("#theme").addEventListener("click", switchTheme);
show();
