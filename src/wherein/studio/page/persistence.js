// Restores the page after a reload, or in another tab. The server has the pictures, the browser everything else.
// Each tab has its own state in sessionStorage; a new tab starts with the last state of any tab, in localStorage.
import { debounced } from "./dom.js";
import { getState, watch } from "./store.js";

const KEY = "wherein.page";

function readState(storage, token) {
  try {
    const found = JSON.parse(storage.getItem(KEY));
    return found?.token === token ? found : null;
  } catch {
    return null;
  }
}

/** The state that was stored under this session's token; null if there is none. */
export const storedState = (token) => readState(sessionStorage, token) ?? readState(localStorage, token);

/** Store the state whenever it changes. */
export function storeState(token) {
  const write = () => {
    const { draft, saved, settings, mode, scene } = getState();
    const isSaved = draft === saved;
    const text = JSON.stringify({ token, draft, isSaved, settings, mode, scene });
    for (const storage of [sessionStorage, localStorage]) storage.setItem(KEY, text);
  };
  watch(["draft", "saved", "settings", "mode", "scene"], debounced(write, 300));
  addEventListener("pagehide", write); // writing is delayed: the last change may not be written yet
}
