// The selected part: its name, parent, joint and layer.
import { colorOf } from "../colors.js";
import { $, h } from "../dom.js";
import {
  changeLayer,
  changePart,
  childrenOf,
  isBody,
  isInSubtree,
  partById,
  rotates,
  setParent,
  treeOrder,
} from "../draft.js";
import { clamp } from "../geometry.js";
import { edit, endGesture, getState, update, watch } from "../store.js";
import { deletePart, duplicate, mirror } from "../tools/selection.js";
import { setName } from "./tree.js";

const PREVIEW_TIME = 1800; // duration of one rotation back and forth, in milliseconds
const CHILD_SHARE = 0.5; // share of their range by which children rotate too, to show that they move with the part

const fields = Object.fromEntries(
  [...document.querySelectorAll("#part [data-field]")].map((e) => [e.dataset.field, e]),
);
let animation = 0; // the request id of the next frame; 0: none is running

const selectedPart = () => partById(getState().draft, getState().selected);

/** Change the selected part as a step; all changes of one gesture, such as a moved slider, are one step. */
function change(label, patch, gesture = null) {
  const part = selectedPart();
  if (part) edit(label, changePart(getState().draft, part.id, patch), { gesture });
}

/** Set a field, unless the user is typing in it. */
function setField(field, value) {
  if (document.activeElement !== field || field.type === "range") field.value = value;
}

function show({ draft, selected, pose }) {
  const part = partById(draft, selected);
  $("#part").hidden = !part;
  if (!part) return;
  const body = isBody(draft, part);
  $("#part .swatch").hidden = !part.points; // groups have no colour
  $("#part-title").textContent = part.name;
  setField(fields.name, part.name);
  showParents(draft, part);
  fields.rotates.checked = !part.static;
  $("#part-rotates").hidden = body;
  $("#part-body").hidden = !body;
  $("#part-joint").hidden = body || part.static;
  setField(fields.turn, part.turn);
  setField(fields.degrees, part.turn);
  setField(fields.x, part.pivot?.[0] ?? "");
  setField(fields.y, part.pivot?.[1] ?? "");
  fields.angle.min = -part.turn;
  fields.angle.max = part.turn;
  fields.angle.value = pose[part.id] ?? 0;
  fields.angle.disabled = $("#play-joint").disabled = !rotates(draft, part);
  showLayer(draft, part);
  $("#redraw").hidden = !part.points;
}

function showParents(draft, part) {
  const allowed = treeOrder(draft).filter(({ part: other }) => !isInSubtree(draft, other.id, part.id));
  const options = allowed.map(({ part: other, depth }) =>
    h("option", { value: other.id }, `${"  ".repeat(depth)}${other.name}`),
  );
  fields.parent.replaceChildren(h("option", { value: "" }, "none (the object)"), ...options);
  fields.parent.value = part.parent ?? "";
}

function showLayer(draft, part) {
  const index = draft.paintOrder.indexOf(part.id);
  const count = draft.paintOrder.length;
  $("#part-layer").hidden = index < 0 || count < 2;
  $("#layer").textContent = `${index + 1} of ${count}${index ? "" : " (bottom)"}`;
  $("#lower").disabled = index <= 0;
  $("#raise").disabled = index === count - 1;
}

/** Rotate the part back and forth once, to preview its joint. */
function playJoint() {
  const part = selectedPart();
  if (!part || animation) return;
  const began = performance.now();
  const children = childrenOf(getState().draft, part.id).filter((child) => rotates(getState().draft, child));
  const step = (time) => {
    const share = Math.min(1, (time - began) / PREVIEW_TIME);
    const wave = Math.sin(2 * Math.PI * share);
    const angles = [[part.id, part.turn * wave]];
    for (const child of children) angles.push([child.id, child.turn * wave * CHILD_SHARE]);
    update({ pose: share < 1 ? Object.fromEntries(angles) : {} });
    animation = share < 1 && selectedPart()?.id === part.id ? requestAnimationFrame(step) : 0;
  };
  animation = requestAnimationFrame(step);
}

/** Use the number in a field, if it is one. */
function useNumber(field, low, high, use) {
  const value = Number(field.value);
  if (field.value !== "" && Number.isFinite(value)) use(clamp(value, low, high));
}

const setTurn = (turn) => change("change a rotation range", { turn }, "turn");

fields.name.addEventListener(
  "change",
  () => selectedPart() && setName(selectedPart().id, fields.name.value.trim()),
);
fields.name.addEventListener("blur", () => selectedPart() && (fields.name.value = selectedPart().name));
fields.name.addEventListener("keydown", (event) => event.key === "Enter" && fields.name.blur());
fields.parent.addEventListener("change", () => {
  const parent = fields.parent.value === "" ? null : Number(fields.parent.value);
  edit("change a parent", setParent(getState().draft, selectedPart().id, parent));
});
fields.rotates.addEventListener("change", () => {
  const label = fields.rotates.checked ? "make a part rotate" : "fix a part";
  const turn = selectedPart().turn || getState().defaultTurn;
  change(label, { static: !fields.rotates.checked, turn });
});
fields.turn.addEventListener("input", () => setTurn(Number(fields.turn.value)));
fields.turn.addEventListener("change", endGesture);
fields.degrees.addEventListener("input", () => useNumber(fields.degrees, 0, 180, setTurn));
fields.degrees.addEventListener("change", endGesture);
for (const [axis, field] of [fields.x, fields.y].entries()) {
  field.addEventListener("input", () => {
    const { width, height } = getState().draft.picture;
    useNumber(field, -0.5, (axis ? height : width) - 0.5, (value) =>
      change("move a joint", { pivot: (selectedPart().pivot ?? [0, 0]).with(axis, value) }, "joint"),
    );
  });
  field.addEventListener("change", endGesture);
}
fields.angle.addEventListener("input", () =>
  update({ pose: { [selectedPart().id]: Number(fields.angle.value) } }),
);
$("#play-joint").addEventListener("click", playJoint);
$("#place-joint").addEventListener("click", () => {
  update({ tool: "joint" });
  $("#canvas").focus();
});
$("#lower").addEventListener("click", () =>
  edit("move a part down", changeLayer(getState().draft, selectedPart().id, -1)),
);
$("#raise").addEventListener("click", () =>
  edit("move a part up", changeLayer(getState().draft, selectedPart().id, 1)),
);
$("#redraw").addEventListener("click", () => {
  update({ redrawing: selectedPart().id, tool: "outline" });
  $("#canvas").focus();
});
$("#duplicate").addEventListener("click", () => duplicate(selectedPart().id));
$("#mirror").addEventListener("click", () => mirror(selectedPart().id));
$("#delete-part").addEventListener("click", () => deletePart(selectedPart().id));

watch(["draft", "selected", "pose"], show);
watch(["selected", "colors"], ({ selected }) => $("#part").style.setProperty("--c", colorOf(selected)));
