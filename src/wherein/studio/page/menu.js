// The context menu of a right click or a long press.
import { h } from "./dom.js";

const MARGIN = 4; // pixels between the menu and the edge of the window

let menu = null;

function closeMenu() {
  menu?.remove();
  menu = null;
}

/** Open a menu of choices [label, act] at a position of the window; afterwards the focus goes to `focus`. */
export function openMenu(x, y, choices, focus) {
  closeMenu();
  const close = () => {
    closeMenu();
    focus.focus({ preventScroll: true });
  };
  const items = choices.map(([label, act]) =>
    h("button", { type: "button", role: "menuitem", onclick: () => (close(), act()) }, label),
  );
  menu = h("div", { className: "menu", role: "menu", "aria-label": "Actions" }, items);
  document.body.append(menu);
  const { width, height } = menu.getBoundingClientRect();
  menu.style.left = `${Math.max(MARGIN, Math.min(x, innerWidth - width - MARGIN))}px`;
  menu.style.top = `${Math.max(MARGIN, Math.min(y, innerHeight - height - MARGIN))}px`;
  items[0].focus();
  menu.addEventListener("keydown", (event) => {
    const index = items.indexOf(document.activeElement);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) items[(index + step + items.length) % items.length].focus();
    else if (event.key === "Escape" || event.key === "Tab") close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
}

addEventListener("pointerdown", (event) => menu && !menu.contains(event.target) && closeMenu(), true);
addEventListener("blur", closeMenu);
