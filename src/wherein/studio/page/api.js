// Requests to the studio's server: each with the session's token, each failure in words.

const HEADER = "X-Wherein-Token";
const KEPT = "wherein.token";

let token = "";

export class StudioError extends Error {}

/** Take the token out of the address, where it would be seen, and keep it for when the page is loaded anew. */
export function identify() {
  const given = location.hash.slice(1);
  if (given) {
    sessionStorage.setItem(KEPT, given);
    history.replaceState(null, "", location.pathname);
  }
  token = sessionStorage.getItem(KEPT) ?? "";
  return token;
}

async function ask(path, options = {}) {
  let answer;
  try {
    answer = await fetch(path, {
      ...options,
      headers: { ...options.headers, [HEADER]: token },
      cache: "no-store",
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new StudioError("The studio does not answer. Is it still running in the terminal?");
  }
  if (answer.ok) return answer;
  const { error } = await answer.json().catch(() => ({}));
  const words = error ?? `the studio answered ${answer.status}`;
  throw new StudioError(/[.!?]$/.test(words) ? words : `${words}.`);
}

const told = async (path, options) => (await ask(path, options)).json();

const posted = (message) => ({
  method: "POST",
  body: JSON.stringify(message),
  headers: { "Content-Type": "application/json" },
});

const sent = (kind, file) =>
  told(`/api/upload/${kind}?name=${encodeURIComponent(file.name)}`, {
    method: "POST",
    body: file,
    headers: { "Content-Type": "application/octet-stream" },
  });

const bitmap = async (path) => createImageBitmap(await (await ask(path)).blob());

export const session = () => told("/api/session");
export const demo = () => told("/api/demo", { method: "POST" });
export const addPicture = (file) => sent("picture", file);
export const openTemplate = (file) => sent("template", file);
export const addScene = (file) => sent("scene", file);
export const picture = (id) => bitmap(`/api/pictures/${id}`);
export const scene = (id) => bitmap(`/api/scenes/${id}`);
export const dropScene = (id) => told(`/api/scenes/${id}`, { method: "DELETE" });
export const makeTemplate = (draft, signal) => told("/api/templates", { ...posted(draft), signal });
export const findings = (id, signal) => told(`/api/templates/${id}/findings`, { signal });
export const saveTemplate = (id) => told(`/api/templates/${id}/save`, { method: "POST" });
export const detect = (wish, signal) => told("/api/detections", { ...posted(wish), signal });
export const calibration = () => told("/api/calibration");
export const templateFile = async (id) => (await ask(`/api/templates/${id}`)).blob();
export const exported = async (kind, wish) => (await ask(`/api/exports/${kind}`, posted(wish))).blob();
