// The reading of the selected part: the values that its rotation shows, such as a thermometer's degrees.
import { $, h, iconButton } from "../dom.js";
import { changePart, completeReading, partById, rotates } from "../draft.js";
import { rounded } from "../geometry.js";
import { edit, endGesture, getState, watch } from "../store.js";
import { formatNumber, formatValue } from "../text.js";

const TURN = 0; // the index of the rotation in a point of a reading
const VALUE = 1; // the index of the value

const unit = $('[data-reading="unit"]');

const selectedPart = () => partById(getState().draft, getState().selected);
const currentTurn = (part) => rounded(getState().pose[part.id] ?? 0);

/** Change the reading as a step. The preview keeps its rotation, unlike after other steps. */
function change(label, patch, gesture = null) {
  const { draft, pose } = getState();
  const part = selectedPart();
  const reading = { unit: "", at: [], ...part.reading, ...patch };
  const isEmpty = !reading.unit && !reading.at.length;
  edit(label, changePart(draft, part.id, { reading: isEmpty ? null : reading }), { gesture, pose });
}

function numberField(point, index, place, label) {
  const input = h("input", { type: "number", step: "any", value: point[place] ?? "", "aria-label": label });
  input.addEventListener("input", () => {
    const value = input.value === "" ? null : Number(input.value);
    const { at } = selectedPart().reading;
    change("change a reading", { at: at.with(index, at[index].with(place, value)) }, "reading");
  });
  input.addEventListener("change", endGesture);
  return input;
}

function row(point, index) {
  const remove = () => change("remove a reading", { at: selectedPart().reading.at.toSpliced(index, 1) });
  return h(
    "tr",
    {},
    h("td", {}, numberField(point, index, TURN, `Rotation of point ${index + 1} in degrees`)),
    h("td", {}, numberField(point, index, VALUE, `Value of point ${index + 1}`)),
    h("td", {}, iconButton("close", `Remove point ${index + 1}`, remove, { className: "quiet" })),
  );
}

/** The state of the reading, beside its title. */
function summary(part) {
  if (!part.reading) return "none";
  const complete = completeReading(part.reading);
  if (!complete) return "needs two values";
  const values = complete.at.map(([, value]) => value);
  const [low, high] = [Math.min(...values), Math.max(...values)].map(formatValue);
  return `${low} to ${high} ${complete.unit}`.trim();
}

/** Rows are replaced only if their number changes: otherwise the field in use would lose the focus. */
function showPoints(part) {
  const table = $("#reading-points");
  const points = part.reading?.at ?? [];
  if (table.rows.length !== points.length) table.replaceChildren(...points.map(row));
  points.forEach((point, index) => {
    for (const [place, field] of table.rows[index].querySelectorAll("input").entries())
      if (field !== document.activeElement) field.value = point[place] ?? "";
  });
}

function show({ draft, selected }) {
  const part = partById(draft, selected);
  $("#part-reading").hidden = !part || !rotates(draft, part);
  if (!part || !rotates(draft, part)) return;
  if (document.activeElement !== unit) unit.value = part.reading?.unit ?? "";
  $("#reading-summary").textContent = summary(part);
  showPoints(part);
  $("#add-reading span").textContent = `Add the current rotation (${formatNumber(currentTurn(part), 1)}°)`;
}

unit.addEventListener("input", () => change("change a unit", { unit: unit.value.trim() }, "unit"));
unit.addEventListener("change", endGesture);
$("#add-reading").addEventListener("click", () => {
  const part = selectedPart();
  change("add a reading", { at: [...(part.reading?.at ?? []), [currentTurn(part), null]] });
  // After the panel shows the new row: the value is what the user knows.
  setTimeout(() => $("#reading-points tr:last-child td:nth-child(2) input")?.focus());
});

watch(["draft", "selected", "pose"], show);
