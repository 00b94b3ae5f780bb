// The findings: properties of the template that make it hard to detect.
import { $, h, icon } from "../dom.js";
import { outlinedParts } from "../draft.js";
import { selfIntersects } from "../geometry.js";
import { getState, update, watch } from "../store.js";
import { sentence } from "../text.js";

const SEVERITIES = { problem: "Problem", warning: "Warning", note: "Note" };

function card(severity, title, text, advice, partName) {
  const part = getState().draft.parts.find(({ name }) => name === partName);
  const body = [
    icon(severity),
    h("div", {}, h("b", {}, title), h("p", {}, text), advice && h("p", { className: "advice" }, advice)),
  ];
  const select = () => update({ selected: part.id, corner: null, mode: "template" });
  return h(
    "li",
    { className: `finding ${severity}` },
    part ? h("button", { type: "button", onclick: select }, body) : body,
  );
}

/** Findings about outlines, which are checked here: the server checks the template, which has masks instead. */
const outlineFindings = (draft) =>
  outlinedParts(draft)
    .filter((part) => !part.pixels_from && selfIntersects(part.points))
    .map(({ name }) => ({
      severity: "warning",
      part: name,
      words: "the outline crosses itself: areas that it encloses twice are left out",
      advice: "move its corners apart, or redraw it",
    }));

function findingCard({ severity, part, words, advice }) {
  const title = part ? `${SEVERITIES[severity]}: ${part}` : SEVERITIES[severity];
  return card(severity, title, sentence(words), sentence(advice), part);
}

function show({ draft, findings, templateError, checking }) {
  const hasParts = draft.parts.length > 0;
  const cards = templateError
    ? [card("problem", "Cannot make a template", sentence(templateError), null, null)]
    : [...outlineFindings(draft), ...(findings ?? [])].map(findingCard);
  $("#findings").replaceChildren(...(hasParts ? cards : []));
  $("#findings-state").textContent = hasParts && checking ? "Checking…" : "";
  $("#findings-none").hidden = !hasParts || Boolean(templateError) || !findings || cards.length > 0;
  $("#findings-empty").hidden = hasParts;
}

watch(["draft", "findings", "templateError", "checking"], show);
