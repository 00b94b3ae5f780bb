// A small menu where a person pressed: the right button of a mouse, or a finger that stays.
import { h } from "./dom.js";

let open = null;

export function closeMenu() {
  open?.remove();
  open = null;
}

/** Show choices, [label, act], at a place of the window. */
export function openMenu(x, y, choices, back = document.activeElement) {
  closeMenu();
  const items = choices.map(([label, act]) =>
    h(
      "button",
      {
        type: "button",
        role: "menuitem",
        onclick: () => {
          closeMenu();
          back?.focus?.({ preventScroll: true });
          act();
        },
      },
      label,
    ),
  );
  open = h("div", { className: "menu", role: "menu", "aria-label": "What to do here" }, items);
  document.body.append(open);
  const { width, height } = open.getBoundingClientRect();
  open.style.left = `${Math.max(4, Math.min(x, innerWidth - width - 4))}px`;
  open.style.top = `${Math.max(4, Math.min(y, innerHeight - height - 4))}px`;
  items[0].focus();
  open.addEventListener("keydown", (event) => {
    const at = items.indexOf(document.activeElement);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) items[(at + step + items.length) % items.length].focus();
    else if (event.key === "Escape" || event.key === "Tab") {
      closeMenu();
      back?.focus?.({ preventScroll: true });
    } else return;
    event.preventDefault();
    event.stopPropagation();
  });
}

addEventListener("pointerdown", (event) => open && !open.contains(event.target) && closeMenu(), true);
addEventListener("blur", closeMenu);
