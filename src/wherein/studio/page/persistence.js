// Restore the page after a reload: the server still has the pictures, sessionStorage has the rest.
import { debounced } from "./dom.js";
import { getState, watch } from "./store.js";

const KEY = "wherein.page";

/** The state that was stored under this session's token; null if there is none. */
export function storedState(token) {
  try {
    const found = JSON.parse(sessionStorage.getItem(KEY));
    return found?.token === token ? found : null;
  } catch {
    return null;
  }
}

/** Store the state whenever it changes. */
export function storeState(token) {
  const write = () => {
    const { draft, saved, settings, mode, scene } = getState();
    const isSaved = draft === saved;
    sessionStorage.setItem(KEY, JSON.stringify({ token, draft, isSaved, settings, mode, scene }));
  };
  watch(["draft", "saved", "settings", "mode", "scene"], debounced(write, 300));
  addEventListener("pagehide", write); // the last change may still be waiting
}
