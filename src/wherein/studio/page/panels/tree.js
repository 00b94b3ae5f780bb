// The tree of parts: who hangs on whom, arranged by dragging or by keys.
import { $, button, h, icon } from "../dom.js";
import {
  addGroup,
  changePart,
  childrenOf,
  colorOf,
  hang,
  hangsBelow,
  isBody,
  listed,
  moves,
  nameProblem,
  partOf,
} from "../draft.js";
import { tell } from "../status.js";
import { edit, now, update, watch } from "../store.js";
import { remove } from "../tools/select.js";

const list = $("#tree");
let renaming = null;
let dragged = null; // { id, row, over, zone }

function badge(draft, part) {
  if (isBody(draft, part)) return "body";
  if (!moves(draft, part)) return "fixed";
  return `±${part.turn}°`;
}

function rowOf(draft, part, depth, selected) {
  const chosen = part.id === selected;
  const row = h(
    "li",
    {
      role: "treeitem",
      className: "part",
      "aria-level": depth + 1,
      "aria-selected": String(chosen),
      "aria-label": `${part.name}, ${badge(draft, part)}${part.points ? "" : ", a group"}`,
      tabIndex: chosen || (selected === null && part === listed(draft)[0].part) ? 0 : -1,
      "data-id": part.id,
      color: colorOf(part.id),
      onclick: () => update({ selected: part.id, corner: null, pose: {} }),
      ondblclick: () => rename(part.id),
      onkeydown: (event) => key(event, part.id),
    },
    h(
      "span",
      {
        className: "grip",
        title: "Drag to hang it elsewhere",
        onpointerdown: (event) => grab(event, part.id),
      },
      icon("grip"),
    ),
    part.points ? h("i", { className: "swatch" }) : icon("group"),
    part.id === renaming ? nameInput(part) : h("span", { className: "name" }, part.name),
    h("span", { className: "badge" }, badge(draft, part)),
    button("trash", `Remove ${part.name}`, (event) => (event.stopPropagation(), remove(part.id)), {
      className: "quiet",
      tabIndex: -1,
    }),
  );
  row.style.setProperty("--depth", depth);
  return row;
}

export function rename(id) {
  renaming = id;
  show(now());
  list.querySelector("input")?.select();
}

function nameInput(part) {
  const done = (keep) => {
    if (renaming === null) return;
    renaming = null;
    const name = input.value.trim();
    if (keep && name !== part.name) setName(part.id, name);
    show(now());
    list.querySelector(`[data-id="${part.id}"]`)?.focus();
  };
  const input = h("input", {
    value: part.name,
    maxLength: 80,
    "aria-label": "Name of the part",
    onblur: () => done(true),
    onclick: (event) => event.stopPropagation(),
    onkeydown: (event) => {
      event.stopPropagation();
      if (event.key === "Enter") done(true);
      if (event.key === "Escape") done(false);
    },
  });
  return input;
}

/** Give a part a name, or say why it cannot have it. */
export function setName(id, name) {
  const { draft } = now();
  const problem = nameProblem(draft, id, name);
  if (problem) tell(problem, "error");
  else edit(`call it “${name}”`, changePart(draft, id, { name }));
}

function focusOn(id) {
  update({ selected: id, corner: null });
  queueMicrotask(() => list.querySelector(`[data-id="${id}"]`)?.focus());
}

/** Up and down choose; with Alt they arrange, and left and right hang a part elsewhere. */
function key(event, id) {
  const { draft } = now();
  const order = listed(draft).map(({ part }) => part.id);
  const at = order.indexOf(id);
  const part = partOf(draft, id);
  const siblings = childrenOf(draft, part.parent).map((other) => other.id);
  const place = siblings.indexOf(id);
  const arranged = (parent, before) => edit("arrange the parts", hang(draft, id, parent, before));
  if (event.altKey && event.key === "ArrowUp" && place > 0) arranged(part.parent, siblings[place - 1]);
  else if (event.altKey && event.key === "ArrowDown" && place < siblings.length - 1)
    arranged(part.parent, siblings[place + 2] ?? null);
  else if (event.altKey && event.key === "ArrowRight" && place > 0) arranged(siblings[place - 1], null);
  else if (event.altKey && event.key === "ArrowLeft" && part.parent !== null) {
    const parent = partOf(draft, part.parent);
    const after = childrenOf(draft, parent.parent).map((other) => other.id);
    arranged(parent.parent, after[after.indexOf(parent.id) + 1] ?? null);
  } else if (event.key === "ArrowUp" && at > 0) return (focusOn(order[at - 1]), event.preventDefault());
  else if (event.key === "ArrowDown" && at < order.length - 1)
    return (focusOn(order[at + 1]), event.preventDefault());
  else if (event.key === "F2" || event.key === "Enter") rename(id);
  else if (event.key === "Delete") remove(id);
  else return;
  event.preventDefault();
  event.stopPropagation();
  if (event.altKey) focusOn(id);
}

function grab(event, id) {
  if (event.button) return;
  event.preventDefault();
  const row = event.currentTarget.closest("li");
  dragged = { id, over: null, zone: null };
  row.setPointerCapture(event.pointerId);
  row.classList.add("dragged");
  const follow = (moved) => hoverAt(moved.clientX, moved.clientY);
  const drop = (ended) => {
    row.removeEventListener("pointermove", follow);
    if (ended.type === "pointerup") settleDrop();
    dragged = null;
    show(now());
  };
  row.addEventListener("pointermove", follow);
  row.addEventListener("pointerup", drop, { once: true });
  row.addEventListener("pointercancel", drop, { once: true });
  update({ selected: id });
}

/** Over the edges of a row: before or after it; over its middle: on it. */
function hoverAt(x, y) {
  const over = document.elementFromPoint(x, y)?.closest?.("#tree li, #object-row");
  for (const marked of document.querySelectorAll("[data-drop]")) delete marked.dataset.drop;
  dragged.over = dragged.zone = null;
  if (!over) return;
  const id = over.dataset.id ? Number(over.dataset.id) : null;
  if (id !== null && hangsBelow(now().draft, id, dragged.id)) return;
  const box = over.getBoundingClientRect();
  const share = (y - box.top) / box.height;
  const zone = id === null ? "on" : share < 0.28 ? "before" : share > 0.72 ? "after" : "on";
  Object.assign(dragged, { over: id, zone });
  over.dataset.drop = zone;
}

function settleDrop() {
  const { draft } = now();
  const { id, over, zone } = dragged;
  if (!zone) return;
  if (zone === "on") return edit("hang it elsewhere", hang(draft, id, over));
  const target = partOf(draft, over);
  const siblings = childrenOf(draft, target.parent)
    .map((part) => part.id)
    .filter((other) => other !== id);
  const before = zone === "before" ? over : (siblings[siblings.indexOf(over) + 1] ?? null);
  edit("arrange the parts", hang(draft, id, target.parent, before));
}

function show({ draft, selected }) {
  if (dragged) return;
  const had = list.contains(document.activeElement) && renaming === null;
  list.replaceChildren(...listed(draft).map(({ part, depth }) => rowOf(draft, part, depth, selected)));
  if (had) list.querySelector('[aria-selected="true"]')?.focus({ preventScroll: true });
  $("#parts-empty").hidden = draft.parts.length > 0;
  $("#parts-count").textContent = draft.parts.length || "";
  $("#object-row").hidden = !draft.picture;
  $("#add-group").disabled = !draft.parts.length;
}

$("#add-group").addEventListener("click", () => {
  const [next, id] = addGroup(now().draft, null);
  edit("add a group", next, { selected: id });
  tell("A group holds parts together that turn as one: drag parts onto it in the tree.");
});

watch(["draft", "selected"], show);
