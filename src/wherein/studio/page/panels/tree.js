// The tree of parts, arranged by dragging or with the keyboard.
import { colorOf } from "../colors.js";
import { $, h, icon, iconButton } from "../dom.js";
import {
  addGroup,
  changePart,
  childrenOf,
  isBody,
  isInSubtree,
  nameError,
  partById,
  rotates,
  setParent,
  treeOrder,
} from "../draft.js";
import { notify } from "../status.js";
import { edit, getState, update, watch } from "../store.js";
import { deletePart } from "../tools/selection.js";

const EDGE = 0.28; // share of a row's height at its edges, where a part is dropped before or after it, not into it

const list = $("#tree");
let renaming = null; // the id of a part
let dragged = null; // { id, over, zone }

function badge(draft, part) {
  if (isBody(draft, part)) return "body";
  return rotates(draft, part) ? `±${part.turn}°` : "fixed";
}

function rowOf(draft, part, depth, selected) {
  const isSelected = part.id === selected;
  const isFirst = part === treeOrder(draft)[0].part;
  const row = h(
    "li",
    {
      role: "treeitem",
      className: "part",
      "aria-level": depth + 1,
      "aria-selected": String(isSelected),
      "aria-label": `${part.name}, ${badge(draft, part)}${part.points ? "" : ", group"}`,
      tabIndex: isSelected || (selected === null && isFirst) ? 0 : -1,
      "data-id": part.id,
      color: colorOf(part.id),
      onclick: () => update({ selected: part.id, corner: null, pose: {} }),
      ondblclick: () => rename(part.id),
      onkeydown: (event) => handleKey(event, part.id),
    },
    h(
      "span",
      {
        className: "grip",
        title: "Drag to another parent or position",
        onpointerdown: (event) => startDrag(event, part.id),
      },
      icon("grip"),
    ),
    part.points ? h("i", { className: "swatch" }) : icon("group"),
    part.id === renaming ? nameInput(part) : h("span", { className: "name" }, part.name),
    h("span", { className: "badge" }, badge(draft, part)),
    iconButton("trash", `Delete ${part.name}`, (event) => (event.stopPropagation(), deletePart(part.id)), {
      className: "quiet",
      tabIndex: -1,
    }),
  );
  row.style.setProperty("--depth", depth);
  return row;
}

const focusRow = (id) => list.querySelector(`[data-id="${id}"]`)?.focus();

/** Let the user type a new name for a part. */
export function rename(id) {
  renaming = id;
  show(getState());
  list.querySelector("input")?.select();
}

function nameInput(part) {
  const finish = (accept) => {
    if (renaming === null) return;
    renaming = null;
    const name = input.value.trim();
    if (accept && name !== part.name) setName(part.id, name);
    show(getState());
    focusRow(part.id);
  };
  const input = h("input", {
    value: part.name,
    maxLength: 80,
    "aria-label": "Name of the part",
    onblur: () => finish(true),
    onclick: (event) => event.stopPropagation(),
    onkeydown: (event) => {
      event.stopPropagation();
      if (event.key === "Enter") finish(true);
      if (event.key === "Escape") finish(false);
    },
  });
  return input;
}

/** Rename a part, or notify the user why it cannot have this name. */
export function setName(id, name) {
  const { draft } = getState();
  const error = nameError(draft, id, name);
  if (error) notify(error, "error");
  else edit(`rename to “${name}”`, changePart(draft, id, { name }));
}

function selectRow(id) {
  update({ selected: id, corner: null });
  queueMicrotask(() => focusRow(id));
}

/** The target to which Alt and an arrow key move a part: { parent, before }; null if it cannot move there. */
function keyTarget(draft, part, key) {
  const siblings = childrenOf(draft, part.parent).map((other) => other.id);
  const index = siblings.indexOf(part.id);
  if (key === "ArrowUp" && index > 0) return { parent: part.parent, before: siblings[index - 1] };
  if (key === "ArrowDown" && index < siblings.length - 1)
    return { parent: part.parent, before: siblings[index + 2] ?? null };
  if (key === "ArrowRight" && index > 0) return { parent: siblings[index - 1], before: null };
  if (key === "ArrowLeft" && part.parent !== null) {
    const parent = partById(draft, part.parent);
    const after = childrenOf(draft, parent.parent).map((other) => other.id);
    return { parent: parent.parent, before: after[after.indexOf(parent.id) + 1] ?? null };
  }
  return null;
}

/** Up and Down select; with Alt, the arrow keys move the part. */
function handleKey(event, id) {
  const { draft } = getState();
  const order = treeOrder(draft).map(({ part }) => part.id);
  const index = order.indexOf(id);
  const target = event.altKey ? keyTarget(draft, partById(draft, id), event.key) : null;
  if (target) edit("move a part in the tree", setParent(draft, id, target.parent, target.before));
  else if (event.key === "ArrowUp" && index > 0) return (selectRow(order[index - 1]), event.preventDefault());
  else if (event.key === "ArrowDown" && index < order.length - 1)
    return (selectRow(order[index + 1]), event.preventDefault());
  else if (event.key === "F2" || event.key === "Enter") rename(id);
  else if (event.key === "Delete") deletePart(id);
  else return;
  event.preventDefault();
  event.stopPropagation();
  if (event.altKey) selectRow(id);
}

function startDrag(event, id) {
  if (event.button) return;
  event.preventDefault();
  const row = event.currentTarget.closest("li");
  dragged = { id, over: null, zone: null };
  row.setPointerCapture(event.pointerId);
  row.classList.add("dragged");
  const follow = (moved) => markTarget(moved.clientX, moved.clientY);
  const end = (ended) => {
    row.removeEventListener("pointermove", follow);
    if (ended.type === "pointerup") drop();
    dragged = null;
    show(getState());
  };
  row.addEventListener("pointermove", follow);
  row.addEventListener("pointerup", end, { once: true });
  row.addEventListener("pointercancel", end, { once: true });
  update({ selected: id });
}

/** Mark where the dragged part would be dropped: before, after or into the row under the pointer. */
function markTarget(x, y) {
  const over = document.elementFromPoint(x, y)?.closest?.("#tree li, #object-row");
  for (const marked of document.querySelectorAll("[data-drop]")) delete marked.dataset.drop;
  dragged.over = dragged.zone = null;
  if (!over) return;
  const id = over.dataset.id ? Number(over.dataset.id) : null;
  if (id !== null && isInSubtree(getState().draft, id, dragged.id)) return;
  const box = over.getBoundingClientRect();
  const share = (y - box.top) / box.height;
  const zone = id === null ? "on" : share < EDGE ? "before" : share > 1 - EDGE ? "after" : "on";
  Object.assign(dragged, { over: id, zone });
  over.dataset.drop = zone;
}

function drop() {
  const { draft } = getState();
  const { id, over, zone } = dragged;
  if (!zone) return;
  if (zone === "on") return edit("change a parent", setParent(draft, id, over));
  const target = partById(draft, over);
  const siblings = childrenOf(draft, target.parent)
    .map((part) => part.id)
    .filter((other) => other !== id);
  const before = zone === "before" ? over : (siblings[siblings.indexOf(over) + 1] ?? null);
  edit("move a part in the tree", setParent(draft, id, target.parent, before));
}

function show({ draft, selected }) {
  if (dragged) return; // new rows would end the drag
  const hadFocus = list.contains(document.activeElement) && renaming === null;
  list.replaceChildren(...treeOrder(draft).map(({ part, depth }) => rowOf(draft, part, depth, selected)));
  if (hadFocus) list.querySelector('[aria-selected="true"]')?.focus({ preventScroll: true });
  $("#parts-empty").hidden = draft.parts.length > 0;
  $("#parts-count").textContent = draft.parts.length || "";
  $("#object-row").hidden = !draft.picture;
  $("#add-group").disabled = !draft.parts.length;
}

$("#add-group").addEventListener("click", () => {
  const { draft, defaultTurn } = getState();
  const [next, id] = addGroup(draft, null, defaultTurn);
  edit("add a group", next, { selected: id });
  notify("Group added. Drag parts onto it in the tree: they rotate together about its joint.");
});

watch(["draft", "selected"], show);
watch(["colors"], () => {
  // The rows are not replaced: colours arrive later than parts, when a name may already be typed.
  for (const row of list.children) row.style.setProperty("--c", colorOf(Number(row.dataset.id)));
});
