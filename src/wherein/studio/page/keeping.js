// A page that is loaded anew goes on where it was: the server still has the pictures, and this the rest.
import { debounced } from "./dom.js";
import { now, watch } from "./store.js";

const KEPT = "wherein.kept";

/** What was kept under this session's token, if anything. */
export function kept(token) {
  try {
    const found = JSON.parse(sessionStorage.getItem(KEPT));
    return found?.token === token ? found : null;
  } catch {
    return null;
  }
}

export function keep(token) {
  const write = () => {
    const { draft, saved, settings, mode, scene } = now();
    const isSaved = draft === saved;
    sessionStorage.setItem(KEPT, JSON.stringify({ token, draft, isSaved, settings, mode, scene }));
  };
  watch(["draft", "saved", "settings", "mode", "scene"], debounced(write, 300));
  addEventListener("pagehide", write); // and what was done just before
}
