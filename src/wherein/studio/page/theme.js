// The light or dark theme: that of the system, until the user chooses one.
import { $ } from "./dom.js";

const KEY = "wherein.theme";
const systemDark = matchMedia("(prefers-color-scheme: dark)");

function show() {
  const chosen = localStorage.getItem(KEY);
  if (chosen) document.documentElement.dataset.theme = chosen;
  const isDark = chosen ? chosen === "dark" : systemDark.matches;
  $("#theme").setAttribute("aria-pressed", String(isDark));
}

export function switchTheme() {
  const isDark = $("#theme").getAttribute("aria-pressed") === "true";
  localStorage.setItem(KEY, isDark ? "light" : "dark");
  show();
}

systemDark.addEventListener("change", show);
$("#theme").addEventListener("click", switchTheme);
show();
