// Sorts cards, links to the open card, unpacks plots and handles keys. All else works without a script.
"use strict";
const grid = document.querySelector(".grid");
const sort = document.querySelector("#sort");
const given = [...grid.children];

const number = (card, key) => Number(card.dataset[key] ?? -1); // cards without a picture come last
const name = (card) => card.querySelector(".name").textContent;
const words = new Intl.Collator(undefined, { numeric: true });
const orders = {
  given: () => 0,
  score: (a, b) => number(b, "score") - number(a, "score"),
  seconds: (a, b) => number(b, "seconds") - number(a, "seconds"),
  name: (a, b) => words.compare(name(a), name(b)),
};
sort.closest("label").hidden = false;
const apply = () => grid.append(...given.toSorted(orders[sort.value]));
sort.addEventListener("change", apply);
apply(); // browsers keep the selected order when a page is reloaded

/** The card of the fragment of the address, or with the part that it refers to; null if there is none. */
const addressed = () => document.getElementById(location.hash.slice(1))?.closest(".card") ?? null;

/** Open the card of the address, even if a filter hides it. Without one, close the card that is open. */
function reveal() {
  const card = addressed();
  if (!card) {
    if (given.length > 1 && !location.hash) for (const one of openCards()) one.open = false;
    return;
  }
  if (!card.checkVisibility()) document.querySelector("#show-all").checked = true;
  card.open = true;
  card.scrollIntoView();
}
const openCards = () => grid.querySelectorAll("details.card[open]");
addEventListener("popstate", reveal); // also when a link to a part is followed
reveal();
if (given.length === 1) given[0].open = true;

/** Set the address to the card that was opened, so that it can be linked to and the back button closes it. */
function setAddress(card) {
  if (given.length === 1 || card === addressed()) return;
  history.pushState(null, "", `#${card.id}`);
}

/** Remove the card that was closed from the address, unless another one was opened instead. */
function clearAddress(card) {
  if (card !== addressed() || openCards().length) return;
  history.pushState(null, "", location.href.split("#")[0]);
}

/** Add the packed contents of an element: markup of this report, compressed by deflate, as base64. */
async function unpack(element) {
  const bytes = Uint8Array.from(atob(element.dataset.packed), (letter) => letter.charCodeAt(0));
  delete element.dataset.packed;
  const markup = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  element.insertAdjacentHTML("beforeend", await new Response(markup).text());
}

grid.addEventListener(
  "toggle", // does not bubble, so the listener captures it
  ({ target, newState }) => {
    const isCard = target.matches(".card");
    if (newState !== "open") return isCard && clearAddress(target);
    if (isCard) setAddress(target);
    if (target.dataset.packed) unpack(target);
    // A card that opens moves to a row of its own, perhaps off the screen.
    if (isCard && target.contains(document.activeElement)) target.scrollIntoView();
  },
  true,
);

/** Arrow keys move to the card before or after; if the card is open, that one opens. Escape closes it. */
grid.addEventListener("keydown", (event) => {
  const card = event.target.closest("details.card");
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (!card || event.altKey || event.ctrlKey || event.metaKey) return;
  if (event.key === "Escape" && card.open) {
    card.open = false;
    card.querySelector("summary").focus();
  } else if (step && event.target.parentElement === card) {
    const shown = [...grid.querySelectorAll("details.card")].filter((one) => one.checkVisibility());
    const next = shown[shown.indexOf(card) + step];
    if (!next) return;
    event.preventDefault();
    next.querySelector("summary").focus();
    next.open ||= card.open;
  }
});
