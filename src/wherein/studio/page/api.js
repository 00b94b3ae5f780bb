// Requests to the studio's server. Each has the token of the session. Failures are StudioErrors with messages for
// the user.

const TOKEN_HEADER = "X-Wherein-Token";
const EXPIRED_HEADER = "X-Wherein-Expired";
const TOKEN_KEY = "wherein.token";

let token = "";

let reportAnswer = () => {};

export class StudioError extends Error {}

/** The server no longer keeps a `kind` of object with the requested id, such as “template”. */
class ExpiredError extends StudioError {
  constructor(message, kind) {
    super(message);
    this.kind = kind;
  }
}

/** The server does not answer: it was stopped, or the network failed. */
export class ConnectionError extends StudioError {}

/** Call `report` after each request: "open", "none" (no answer), or "other" (the server has another session). */
export function onAnswer(report) {
  reportAnswer = report;
}

/**
 * Read the token from the address, and remove it there, where it could be seen or bookmarked. It is kept in
 * localStorage, so that the page can be reloaded and opened in another tab. Only pages of this origin can read
 * it, and it is useless after the studio has stopped.
 */
export function takeToken() {
  const given = location.hash.slice(1);
  if (given) {
    localStorage.setItem(TOKEN_KEY, given);
    history.replaceState(null, "", location.pathname);
  }
  token = localStorage.getItem(TOKEN_KEY) ?? "";
  return token;
}

async function request(path, options = {}) {
  let response;
  try {
    response = await fetch(path, {
      ...options,
      headers: { ...options.headers, [TOKEN_HEADER]: token },
      cache: "no-store",
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    reportAnswer("none");
    throw new ConnectionError("The studio does not respond. Check that it is still running in the terminal.");
  }
  reportAnswer(response.status === 401 ? "other" : "open");
  if (response.ok) return response;
  const { error } = await response.json().catch(() => ({}));
  const message = error ?? `The server returned status ${response.status}`;
  const sentence = /[.!?]$/.test(message) ? message : `${message}.`;
  const expired = response.headers.get(EXPIRED_HEADER);
  throw expired ? new ExpiredError(sentence, expired) : new StudioError(sentence);
}

const requestJson = async (path, options) => (await request(path, options)).json();

const requestBitmap = async (path) => createImageBitmap(await (await request(path)).blob());

const postOptions = (message) => ({
  method: "POST",
  body: JSON.stringify(message),
  headers: { "Content-Type": "application/json" },
});

const upload = (kind, file) =>
  requestJson(`/api/upload/${kind}?name=${encodeURIComponent(file.name)}`, {
    method: "POST",
    body: file,
    headers: { "Content-Type": "application/octet-stream" },
  });

export const session = () => requestJson("/api/session");
export const demo = () => requestJson("/api/demo", { method: "POST" });
export const addPicture = (file) => upload("picture", file);
export const openTemplate = (file) => upload("template", file);
export const addScene = (file) => upload("scene", file);
export const picture = (id) => requestBitmap(`/api/pictures/${id}`);
export const edgePath = (id, wanted) => requestJson(`/api/pictures/${id}/edge-path`, postOptions(wanted));
export const scene = (id) => requestBitmap(`/api/scenes/${id}`);
export const removeScene = (id) => requestJson(`/api/scenes/${id}`, { method: "DELETE" });
export const makeTemplate = (draft, signal) =>
  requestJson("/api/templates", { ...postOptions(draft), signal });
export const findings = (id, signal) => requestJson(`/api/templates/${id}/findings`, { signal });
export const saveTemplate = (id) => requestJson(`/api/templates/${id}/save`, { method: "POST" });
export const detect = (search, signal) => requestJson("/api/detections", { ...postOptions(search), signal });
export const calibration = () => requestJson("/api/calibration");
export const templateFile = async (id) => (await request(`/api/templates/${id}`)).blob();
export const resultsFile = async (kind, search) =>
  (await request(`/api/exports/${kind}`, postOptions(search))).blob();
