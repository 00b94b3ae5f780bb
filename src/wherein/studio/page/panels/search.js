// What is looked for: rotations, scales, the least score; every change is looked at at once.
import { $, h } from "../dom.js";
import { clamp } from "../geometry.js";
import { now, update, watch } from "../store.js";

const field = (name) => $(`#search [data-field="${name}"]`);
const set = (patch) => update({ settings: { ...now().settings, ...patch } });

const GROUNDS = {
  measured: "Scores are calibrated for this template and range.",
  borrowed: "Provisional: judged by an earlier calibration.",
  guessed: "A first guess, before anything is measured.",
};

const percent = (share) => `${Math.round(100 * share)}\u00a0%`;

function show({ settings, results, scene, calibration }) {
  const found = results.get(scene)?.data;
  const { rotation, scale, threshold, max_instances: most } = settings;
  const valued = (input, value) => document.activeElement !== input && (input.value = value);
  valued(field("rotation"), rotation);
  valued(field("degrees"), rotation);
  valued(field("low"), scale[0]);
  valued(field("high"), scale[1]);
  const least = threshold ?? found?.calibrated ?? 0.5;
  valued(field("threshold"), least);
  valued(field("score"), Number(least.toFixed(3)));
  valued(field("most"), most ?? "");
  $("#calibrated").hidden = threshold === null;
  $("#calibrated").textContent = found?.calibrated
    ? `back to calibrated, ${found.calibrated.toFixed(2)}`
    : "back to calibrated";
  for (const chip of document.querySelectorAll("#scales button"))
    chip.setAttribute("aria-pressed", String(chip.dataset.scale === scale.join(" ")));
  showGround(found, calibration);
}

function showGround(found, calibration) {
  const node = $("#ground");
  node.hidden = !found && !calibration.running;
  const ground = found?.ground ?? "guessed";
  node.dataset.ground = ground;
  const words = calibration.running
    ? `Measuring what scores mean, once for this template and range: ${calibration.what}, ${percent(calibration.share)}.`
    : calibration.error || "";
  $("#ground-words").replaceChildren(
    h("b", {}, GROUNDS[ground]),
    words && ground !== "measured" ? ` ${words}` : "",
  );
  const bar = $("#ground-bar");
  bar.hidden = !calibration.running;
  bar.value = calibration.share;
}

/** A number that a person types, once it is one and allowed. */
function numbered(name, low, high, use) {
  const input = field(name);
  const take = () => {
    const value = Number(input.value);
    const right = input.value !== "" && Number.isFinite(value) && value >= low && value <= high;
    input.setAttribute("aria-invalid", String(!right));
    if (right) use(value);
  };
  input.addEventListener("input", take);
  input.addEventListener("blur", () => {
    input.setAttribute("aria-invalid", "false");
    show(now());
  });
}

field("rotation").addEventListener("input", () => set({ rotation: Number(field("rotation").value) }));
numbered("degrees", 0, 180, (rotation) => set({ rotation }));
numbered("low", 0.05, 20, (low) => set({ scale: [low, Math.max(low, now().settings.scale[1])] }));
numbered("high", 0.05, 20, (high) => set({ scale: [Math.min(high, now().settings.scale[0]), high] }));
field("threshold").addEventListener("input", () => set({ threshold: Number(field("threshold").value) }));
numbered("score", 0.01, 0.99, (threshold) => set({ threshold: clamp(threshold, 0.01, 0.99) }));
field("most").addEventListener("input", () => {
  const value = Number(field("most").value);
  set({ max_instances: field("most").value !== "" && value >= 1 ? Math.min(1000, Math.floor(value)) : null });
});
$("#calibrated").addEventListener("click", () => set({ threshold: null }));
for (const chip of document.querySelectorAll("#scales button"))
  chip.addEventListener("click", () => set({ scale: chip.dataset.scale.split(" ").map(Number) }));

watch(["settings", "results", "scene", "calibration"], show);
