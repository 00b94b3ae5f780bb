// The search settings: rotation, scale, tilt, threshold and more. Every change starts a search.
import { $, h } from "../dom.js";
import { getState, update, watch } from "../store.js";

const DEFAULT_THRESHOLD = 0.5; // of the slider, before the first result

const regionFields = [...document.querySelectorAll("#region [data-region]")];

const field = (name) => $(`#search [data-field="${name}"]`);
const set = (patch) => update({ settings: { ...getState().settings, ...patch } });

const CALIBRATIONS = {
  measured: "Calibrated for this template and search range.",
  reused: "Provisional: uses the calibration of another search range or an earlier template.",
  default: "Provisional: not calibrated yet.",
};

const percent = (fraction) => `${Math.round(100 * fraction)}\u00a0%`;

function show({ settings, results, scene, calibration }) {
  const found = results.get(scene)?.data;
  const { rotation, scale, threshold, max_instances: maximum } = settings;
  const setField = (input, value) => document.activeElement !== input && (input.value = value);
  setField(field("rotation"), rotation);
  setField(field("degrees"), rotation);
  setField(field("tilt"), settings.tilt);
  setField(field("tiltDegrees"), settings.tilt);
  setField(field("overlap"), settings.overlap ?? "");
  field("inverted").checked = settings.polarity === "any";
  setField(field("low"), scale[0]);
  setField(field("high"), scale[1]);
  const calibrated = found?.calibrated_threshold;
  const shown = threshold ?? calibrated ?? DEFAULT_THRESHOLD;
  setField(field("threshold"), shown);
  setField(field("score"), Number(shown.toFixed(3)));
  setField(field("maximum"), maximum ?? "");
  $("#calibrated").hidden = threshold === null;
  const value = calibrated ? ` (${calibrated.toFixed(2)})` : "";
  $("#calibrated").textContent = `Reset to the calibrated threshold${value}`;
  for (const chip of document.querySelectorAll("#scales button"))
    chip.setAttribute("aria-pressed", String(chip.dataset.scale === scale.join(" ")));
  showCalibration(found, calibration);
}

function showCalibration(found, calibration) {
  const node = $("#calibration");
  node.hidden = !found && !calibration.running;
  const kind = found?.calibration_kind ?? "default";
  node.dataset.kind = kind;
  const text = calibration.running
    ? `Calibrating, once per template and search range: ${calibration.step}, ${percent(calibration.fraction)}.`
    : calibration.error;
  $("#calibration-text").replaceChildren(
    h("b", {}, CALIBRATIONS[kind]),
    text && kind !== "measured" ? ` ${text}` : "",
  );
  const bar = $("#calibration-bar");
  bar.hidden = !calibration.running;
  bar.value = calibration.fraction;
}

/** Use the number that the user types, as soon as it is valid. */
function onNumber(name, low, high, use) {
  const input = field(name);
  input.addEventListener("input", () => {
    const value = Number(input.value);
    const valid = input.value !== "" && Number.isFinite(value) && value >= low && value <= high;
    input.setAttribute("aria-invalid", String(!valid));
    if (valid) use(value);
  });
  input.addEventListener("blur", () => {
    input.setAttribute("aria-invalid", "false");
    show(getState());
  });
}

field("rotation").addEventListener("input", () => set({ rotation: Number(field("rotation").value) }));
onNumber("degrees", 0, 180, (rotation) => set({ rotation }));
field("tilt").addEventListener("input", () => set({ tilt: Number(field("tilt").value) }));
onNumber("tiltDegrees", 0, 70, (tilt) => set({ tilt }));
field("inverted").addEventListener("change", () =>
  set({ polarity: field("inverted").checked ? "any" : "same" }),
);
field("overlap").addEventListener("input", () => {
  const value = Number(field("overlap").value);
  set({ overlap: field("overlap").value !== "" && value >= 0 && value <= 1 ? value : null });
});
for (const input of regionFields)
  input.addEventListener("input", () => {
    const region = regionFields.map(({ value }) => (value === "" ? NaN : Number(value)));
    // A region needs all four numbers; without them the whole scene is searched.
    set({ region: region.every(Number.isFinite) && region[2] >= 1 && region[3] >= 1 ? region : null });
  });
onNumber("low", 0.05, 20, (low) => set({ scale: [low, Math.max(low, getState().settings.scale[1])] }));
onNumber("high", 0.05, 20, (high) => set({ scale: [Math.min(high, getState().settings.scale[0]), high] }));
field("threshold").addEventListener("input", () => set({ threshold: Number(field("threshold").value) }));
onNumber("score", 0.01, 0.99, (threshold) => set({ threshold }));
field("maximum").addEventListener("input", () => {
  const value = Number(field("maximum").value);
  const valid = field("maximum").value !== "" && value >= 1;
  set({ max_instances: valid ? Math.min(1000, Math.floor(value)) : null });
});
$("#calibrated").addEventListener("click", () => set({ threshold: null }));
for (const chip of document.querySelectorAll("#scales button"))
  chip.addEventListener("click", () => set({ scale: chip.dataset.scale.split(" ").map(Number) }));

watch(["settings", "results", "scene", "calibration"], show);
