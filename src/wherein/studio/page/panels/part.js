// The chosen part: its name, what it hangs on, its joint, its layer.
import { $, h } from "../dom.js";
import {
  changePart,
  childrenOf,
  colorOf,
  hang,
  hangsBelow,
  isBody,
  listed,
  moves,
  partOf,
  relayer,
} from "../draft.js";
import { clamp } from "../geometry.js";
import { edit, now, settle, update, watch } from "../store.js";
import { remove } from "../tools/select.js";
import { setName } from "./tree.js";

const fields = Object.fromEntries(
  [...document.querySelectorAll("#part [data-field]")].map((e) => [e.dataset.field, e]),
);
let swinging = 0;

const chosen = () => partOf(now().draft, now().selected);

/** Change the chosen part, as a step; what a slider passes through on its way is one step. */
function change(label, patch, gesture = null) {
  const part = chosen();
  if (part) edit(label, changePart(now().draft, part.id, patch), { gesture });
}

const valued = (field, value) => {
  if (document.activeElement !== field || field.type === "range") field.value = value;
};

function show({ draft, selected, pose }) {
  const part = partOf(draft, selected);
  $("#part").hidden = !part;
  if (!part) return;
  const body = isBody(draft, part);
  const turns = moves(draft, part);
  $("#part").style.setProperty("--c", colorOf(part.id));
  $("#part-title").textContent = part.name;
  valued(fields.name, part.name);
  showParents(draft, part);
  fields.turns.checked = !part.static;
  $("#part-moves").hidden = body;
  $("#part-body").hidden = !body;
  $("#part-joint").hidden = body || part.static;
  valued(fields.turn, part.turn);
  valued(fields.degrees, part.turn);
  valued(fields.x, part.pivot?.[0] ?? "");
  valued(fields.y, part.pivot?.[1] ?? "");
  fields.try.min = -part.turn;
  fields.try.max = part.turn;
  fields.try.value = pose[part.id] ?? 0;
  fields.try.disabled = $("#swing").disabled = !turns;
  showLayer(draft, part);
  $("#redraw").hidden = !part.points;
}

function showParents(draft, part) {
  const hosts = listed(draft).filter(({ part: other }) => !hangsBelow(draft, other.id, part.id));
  const options = hosts.map(({ part: other, depth }) =>
    h("option", { value: other.id }, `${"  ".repeat(depth)}${other.name}`),
  );
  fields.parent.replaceChildren(h("option", { value: "" }, "the object itself"), ...options);
  fields.parent.value = part.parent ?? "";
}

function showLayer(draft, part) {
  const place = draft.order.indexOf(part.id);
  const count = draft.order.length;
  $("#part-layer").hidden = place < 0 || count < 2;
  $("#layer").textContent = `${place + 1} of ${count} from below`;
  $("#lower").disabled = place <= 0;
  $("#raise").disabled = place === count - 1;
}

/** Turn the part to and fro once, to see whether the joint is right. */
function swing() {
  const part = chosen();
  if (!part || swinging) return;
  const began = performance.now();
  const turns = [...childrenOf(now().draft, part.id)].filter((child) => moves(now().draft, child));
  const step = (time) => {
    const share = Math.min(1, (time - began) / 1800);
    const wave = Math.sin(2 * Math.PI * share);
    const pose =
      share < 1
        ? Object.fromEntries(
            [part, ...turns].map((one) => [one.id, one.turn * wave * (one === part ? 1 : 0.5)]),
          )
        : {};
    update({ pose });
    swinging = share < 1 && chosen()?.id === part.id ? requestAnimationFrame(step) : 0;
  };
  swinging = requestAnimationFrame(step);
}

function number(field, low, high, use) {
  const value = Number(field.value);
  if (field.value !== "" && Number.isFinite(value)) use(clamp(value, low, high));
}

fields.name.addEventListener("change", () => chosen() && setName(chosen().id, fields.name.value.trim()));
fields.name.addEventListener("blur", () => chosen() && (fields.name.value = chosen().name));
fields.name.addEventListener("keydown", (event) => event.key === "Enter" && fields.name.blur());
fields.parent.addEventListener("change", () => {
  const parent = fields.parent.value === "" ? null : Number(fields.parent.value);
  edit("hang it elsewhere", hang(now().draft, chosen().id, parent));
});
fields.turns.addEventListener("change", () => {
  const label = fields.turns.checked ? "let it turn" : "fix it";
  change(label, { static: !fields.turns.checked, turn: chosen().turn || 30 });
});
fields.turn.addEventListener("input", () =>
  change("change how far it turns", { turn: Number(fields.turn.value) }, "turn"),
);
fields.turn.addEventListener("change", settle);
fields.degrees.addEventListener("input", () =>
  number(fields.degrees, 0, 180, (turn) => change("change how far it turns", { turn }, "turn")),
);
fields.degrees.addEventListener("change", settle);
for (const [axis, field] of [fields.x, fields.y].entries()) {
  field.addEventListener("input", () => {
    const { width, height } = now().draft.picture;
    number(field, -0.5, (axis ? height : width) - 0.5, (value) =>
      change("move a joint", { pivot: (chosen().pivot ?? [0, 0]).with(axis, value) }, "joint"),
    );
  });
  field.addEventListener("change", settle);
}
fields.try.addEventListener("input", () => update({ pose: { [chosen().id]: Number(fields.try.value) } }));
$("#swing").addEventListener("click", swing);
$("#place-joint").addEventListener("click", () => {
  update({ tool: "joint" });
  $("#canvas").focus();
});
$("#lower").addEventListener("click", () => edit("send it back", relayer(now().draft, chosen().id, -1)));
$("#raise").addEventListener("click", () => edit("bring it forward", relayer(now().draft, chosen().id, 1)));
$("#redraw").addEventListener("click", () => {
  update({ redrawn: chosen().id, tool: "outline" });
  $("#canvas").focus();
});
$("#remove-part").addEventListener("click", () => remove(chosen().id));

watch(["draft", "selected", "pose"], show);
