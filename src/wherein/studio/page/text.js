// Text for the user.

/** Whether the user has fingers and no mouse: then there is nothing to click, to drop or to point at. */
export const byTouch = () => matchMedia("(pointer: coarse)").matches;

/** A sentence: with a capital letter and a full stop. Messages of the library have neither. */
export function sentence(text) {
  const capitalized = text[0].toUpperCase() + text.slice(1);
  return /[.!?]$/.test(capitalized) ? capitalized : `${capitalized}.`;
}

/** A number with a fixed number of digits and a typographic minus sign; none before zero. */
export function formatNumber(value, digits) {
  const text = value.toFixed(digits);
  return Number(text) === 0 ? text.replace("-", "") : text.replace("-", "−");
}

/** A measured value with four significant digits. */
export const formatValue = (value) => String(Number(value.toPrecision(4))).replace("-", "−");
