// What was found in the scene that is shown: a card for each object, with its parts.
import { $, h, icon } from "../dom.js";
import { colorOf } from "../draft.js";
import { now, update, watch } from "../store.js";

let opened = 0; // the object whose parts are shown

const minus = (words) => words.replace("-", "−");

/** The colour of a part by its name, the same as where it was outlined. */
export function colorNamed(draft) {
  const ids = new Map(draft.parts.map((part) => [part.name, part.id]));
  return (name) => colorOf(ids.get(name) ?? 0);
}

function partRow(name, part, index, color) {
  const lit = () => update({ highlight: { index, part: name } });
  return h(
    "li",
    {
      className: part.found ? "" : "missing",
      color,
      tabIndex: 0,
      "data-part": name,
      onpointerenter: lit,
      onfocus: lit,
    },
    h("i", { className: "swatch" }),
    h("span", { className: "name" }, name),
    h("span", { className: "value" }, part.found ? part.score.toFixed(2) : "not seen"),
    h("span", { className: "value" }, minus(`${part.angle.toFixed(1)}°`)),
  );
}

function card(item, index, leaves, colors) {
  const parts = Object.entries(item.parts).filter(([name]) => leaves.has(name));
  const seen = parts.filter(([, part]) => part.found).length;
  const open = index === opened;
  const facts = [
    `${minus(item.angle.toFixed(1))}°`,
    `× ${item.scale.toFixed(3)}`,
    `${seen} of ${parts.length} parts`,
  ];
  const meter = h("span", { className: "meter" }, h("i", {}));
  meter.firstChild.style.width = `${Math.round(100 * item.score)}%`;
  const head = h(
    "button",
    {
      type: "button",
      className: "head",
      "aria-expanded": String(open),
      onclick: () => {
        opened = open ? -1 : index;
        show(now());
      },
      onpointerenter: () => update({ highlight: { index, part: null } }),
      onfocus: () => update({ highlight: { index, part: null } }),
    },
    h("span", { className: "number" }, String(index + 1)),
    h("span", { className: "score" }, item.score.toFixed(3)),
    meter,
    icon(open ? "up" : "down"),
    h("span", { className: "facts" }, facts.join(" · ")),
  );
  const rows = h(
    "ul",
    { className: "found-parts" },
    parts.map(([name, part]) => partRow(name, part, index, colors(name))),
  );
  const chance =
    item.chance && h("p", { className: "soft" }, `A score as high comes by chance ${item.chance}.`);
  return h("li", { className: "found" }, head, open && chance, open && rows);
}

function summary(found, scene) {
  const count = found.detections.length;
  return `${count ? `${count} found` : "Nothing found"} in ${scene.width} × ${scene.height} px, ${found.seconds.toFixed(2)} s`;
}

/** What came close where nothing was found. */
function nearly({ missed, threshold }) {
  return missed === null
    ? ""
    : `What came nearest has score ${missed.toFixed(3)}, below the least of ${threshold.toFixed(3)}: lower that to see it.`;
}

function show({ results, scene, scenes, draft, template, problem }) {
  const result = results.get(scene);
  const shown = scenes.find((one) => one.id === scene);
  const found = result?.data;
  $("#results-summary").textContent =
    result?.error ??
    (found && shown
      ? summary(found, shown)
      : problem
        ? `The template cannot be cut out yet: ${problem}`
        : !template
          ? "There is no template yet: outline one first."
          : !shown
            ? "Drop scenes on the page, and what is found is drawn on them."
            : "Looking…");
  const leaves = new Set(template?.leaves ?? []);
  const colors = colorNamed(draft);
  $("#results").replaceChildren(
    ...(found && template ? found.detections.map((item, k) => card(item, k, leaves, colors)) : []),
  );
  const nothing = Boolean(found) && found.detections.length === 0;
  $("#nothing").hidden = !nothing;
  $("#nearly").textContent = nothing ? nearly(found) : "";
  $("#nearly").hidden = !$("#nearly").textContent;
  $("#doubts").replaceChildren(
    ...(found?.doubts ?? []).map((words) => h("li", {}, icon("note"), `Mind that ${words}.`)),
  );
}

$("#results").addEventListener("pointerleave", () => update({ highlight: null }));
$("#results").addEventListener("focusout", () => update({ highlight: null }));

watch(["results", "scene", "scenes", "draft", "template", "problem"], show);
