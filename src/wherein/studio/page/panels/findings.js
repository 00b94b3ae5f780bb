// What will make the template hard to find.
import { $, h, icon } from "../dom.js";
import { outlined } from "../draft.js";
import { crossesItself } from "../geometry.js";
import { now, update, watch } from "../store.js";

const WORDS = { problem: "Problem", warning: "Warning", note: "Note" };

const sentence = (words) => words[0].toUpperCase() + words.slice(1);

function card(kind, title, words, advice, part) {
  const known = now().draft.parts.find((other) => other.name === part);
  const body = [
    icon(kind),
    h("div", {}, h("b", {}, title), h("p", {}, words), advice && h("p", { className: "advice" }, advice)),
  ];
  const choose = () => update({ selected: known.id, corner: null, mode: "template" });
  return h(
    "li",
    { className: `finding ${kind}` },
    known ? h("button", { type: "button", onclick: choose }, body) : body,
  );
}

/** What only the outline tells: a template has pixels, and knows nothing of how they were drawn. */
const crossed = (draft) =>
  outlined(draft)
    .filter((part) => !part.kept && crossesItself(part.points))
    .map(({ name }) => ({
      severity: "warning",
      part: name,
      words: "its outline crosses itself: what it winds around twice is left out",
      advice: "move its corners apart, or draw it anew",
    }));

function show({ draft, findings, problem, checking }) {
  const any = draft.parts.length > 0;
  const list = $("#findings");
  const told = [...crossed(draft), ...(findings ?? [])];
  const cards = problem
    ? [card("problem", "This cannot be cut out", sentence(problem), null, null)]
    : told.map((one) =>
        card(
          one.severity,
          one.part ? `${WORDS[one.severity]}: ${one.part}` : WORDS[one.severity],
          sentence(one.words),
          sentence(one.advice),
          one.part,
        ),
      );
  list.replaceChildren(...(any ? cards : []));
  $("#findings-state").textContent = !any ? "" : checking ? "checking…" : "";
  $("#findings-fine").hidden = !any || Boolean(problem) || !findings || cards.length > 0;
  $("#findings-empty").hidden = any;
}

watch(["draft", "findings", "problem", "checking"], show);
