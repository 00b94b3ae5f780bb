// Sorts cards, opens the card of a link, unpacks plots and handles keys. All else works without a script.
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

/** Open the card that the fragment of the address refers to, even if a filter hides it. */
function reveal() {
  const target = document.getElementById(location.hash.slice(1));
  const card = target?.closest(".card");
  if (!card) return;
  if (!card.checkVisibility()) document.querySelector("#show-all").checked = true;
  card.open = true;
  card.scrollIntoView();
}
addEventListener("hashchange", reveal);
reveal();
if (given.length === 1) given[0].open = true;

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
    if (newState !== "open") return;
    if (target.dataset.packed) unpack(target);
    // A card that opens moves to a row of its own, perhaps off the screen.
    if (target.matches(".card") && target.contains(document.activeElement)) target.scrollIntoView();
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
