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
  const write = debounced(() => {
    const { draft, settings, mode, scene } = now();
    sessionStorage.setItem(KEPT, JSON.stringify({ token, draft, settings, mode, scene }));
  }, 300);
  watch(["draft", "settings", "mode", "scene"], write);
}
