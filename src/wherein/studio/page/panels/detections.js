// The detections in the shown scene: a card for each, with its parts.
import { $, h, icon } from "../dom.js";
import { getState, update, watch } from "../store.js";
import { formatNumber, formatValue, sentence } from "../text.js";

let expanded = 0; // the index of the detection whose parts are listed; −1: none

/** The reading of a part, such as “70.1 °C”; empty if it has none. */
const readingText = ({ value, unit }) =>
  value === null || value === undefined ? "" : `${formatValue(value)} ${unit}`.trim();

function partRow(name, part, index, color) {
  const highlight = () => update({ highlight: { index, part: name } });
  return h(
    "li",
    {
      className: part.found ? "" : "missing",
      color,
      tabIndex: 0,
      "data-part": name,
      onpointerenter: highlight,
      onfocus: highlight,
    },
    h("i", { className: "swatch" }),
    h("span", { className: "name" }, name),
    readingText(part) && h("b", { className: "value" }, readingText(part)),
    h("span", { className: "value" }, part.found ? part.score.toFixed(2) : "not found"),
    h("span", { className: "value" }, `${formatNumber(part.angle, 1)}°`),
  );
}

function cardHead(detection, index, facts) {
  const meter = h("span", { className: "meter" }, h("i", {}));
  meter.firstChild.style.width = `${Math.round(100 * detection.score)}%`;
  const open = index === expanded;
  const highlight = () => update({ highlight: { index, part: null } });
  const toggle = () => {
    expanded = open ? -1 : index;
    show(getState());
  };
  return h(
    "button",
    {
      type: "button",
      className: "head",
      "aria-expanded": String(open),
      onclick: toggle,
      onpointerenter: highlight,
      onfocus: highlight,
    },
    h("span", { className: "number" }, String(index + 1)),
    h("span", { className: "score" }, detection.score.toFixed(3)),
    meter,
    icon(open ? "up" : "down"),
    h("span", { className: "facts" }, facts),
  );
}

function card(detection, index, template) {
  const leaves = new Set(template.leaves);
  const parts = Object.entries(detection.parts).filter(([name]) => leaves.has(name));
  const found = parts.filter(([, part]) => part.found).length;
  const facts = [
    `${formatNumber(detection.angle, 1)}°`,
    `× ${detection.scale.toFixed(3)}`,
    ...(detection.matrix.length === 3 ? [`tilt ${formatNumber(detection.tilt, 1)}°`] : []),
    ...(parts.length > 1 ? [`${found} of ${parts.length} parts`] : []),
    ...Object.values(detection.parts).map(readingText).filter(Boolean),
  ].join(" · ");
  const head = cardHead(detection, index, facts);
  if (index !== expanded) return h("li", { className: "found" }, head);
  const rarity =
    detection.rarity &&
    h("p", { className: "soft" }, `False alarms with this score or more: ${detection.rarity}.`);
  const rows = parts.map(([name, part]) => partRow(name, part, index, template.colors[name]));
  return h("li", { className: "found" }, head, rarity, h("ul", { className: "found-parts" }, rows));
}

/** One line about the search, or why there is no result. */
function summary({ results, scene: id, scenes, uploads, template, templateError }) {
  const result = results.get(id);
  const scene = scenes.find((one) => one.id === id);
  if (result?.error) return result.error;
  if (result?.data && scene) {
    const { detections, seconds } = result.data;
    const count = detections.length === 1 ? "1 detection" : `${detections.length || "No"} detections`;
    return `${count} in ${scene.width} × ${scene.height} pixels, ${seconds.toFixed(2)} s`;
  }
  if (templateError) return `Cannot make a template: ${templateError}`;
  if (!template) return "There is no template yet. Outline the object first.";
  if (!scene) return uploads.length ? "Loading scenes…" : "Add scenes to search.";
  return "Searching…";
}

/** The best candidate below the threshold, if nothing was found. */
function candidateText({ best_candidate: score, threshold }) {
  if (score === null) return "";
  const limit = threshold.toFixed(3);
  return `Best candidate: ${score.toFixed(3)} (threshold ${limit}). Lower the threshold to see it.`;
}

function show(state) {
  const { results, scene, template } = state;
  const found = results.get(scene)?.data;
  $("#results-summary").textContent = summary(state);
  $("#results").replaceChildren(
    ...(found && template ? found.detections.map((detection, k) => card(detection, k, template)) : []),
  );
  const nothing = Boolean(found) && found.detections.length === 0;
  $("#no-detections").hidden = !nothing;
  $("#best-candidate").textContent = nothing ? candidateText(found) : "";
  $("#best-candidate").hidden = !$("#best-candidate").textContent;
  $("#warnings").replaceChildren(
    ...(found?.warnings ?? []).map((text) => h("li", {}, icon("warning"), sentence(text))),
  );
}

$("#results").addEventListener("pointerleave", () => update({ highlight: null }));
$("#results").addEventListener("focusout", () => update({ highlight: null }));

watch(["results", "scene", "scenes", "uploads", "template", "templateError"], show);
