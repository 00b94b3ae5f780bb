// The colours of parts. They come from the server, so that a part has the same colour here, in drawings and in
// reports.
import { getState, update } from "./store.js";

/** The colour of groups, and of a new part until the server has compiled the draft. */
const NO_COLOR = "white";

export const colorOf = (id) => getState().colors[id] ?? NO_COLOR;

/** Use the colours of a template (by part name) for the draft from which it was compiled. */
export function setColors(draft, byName) {
  update({ colors: Object.fromEntries(draft.parts.map(({ id, name }) => [id, byName[name]])) });
}
