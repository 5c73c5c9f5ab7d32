// Calls to the server: the same routes that everybody uses, and nothing else.

import { token } from "./session.js";

/** The server said no, in a sentence; `lasting` if asking again would not help. */
export class Refusal extends Error {
  constructor(sentence, status, after = 0) {
    super(sentence);
    this.status = status;
    this.after = after; // seconds that the server asks to wait
  }

  get lasting() {
    return this.status > 0 && this.status < 500 && this.status !== 429 && this.status !== 408;
  }
}

/** The address of a study, or of something below it. */
export const at = (study, rest = "") => `v1/studies/${encodeURIComponent(study)}${rest}`;

/** A successful response, or a Refusal; a network failure stays a TypeError. */
export async function call(path, { method = "GET", body, headers = {}, signal } = {}) {
  const kind = body === undefined ? {} : { "Content-Type": "application/json" };
  const response = await fetch(path, {
    method,
    headers: { Authorization: `Bearer ${token()}`, ...kind, ...headers },
    body: body === undefined ? undefined : JSON.stringify(body),
    signal,
    cache: "no-store",
    credentials: "omit",
    redirect: "error",
  }).catch((error) => {
    throw error.name === "AbortError" ? error : new TypeError("The server can't be reached.");
  });
  if (response.ok) return response;
  const refusal = await response.json().catch(() => ({}));
  const sentence = refusal.error ?? `the server answered ${response.status}.`;
  throw new Refusal(sentence, response.status, Number(response.headers.get("Retry-After")) || 0);
}

/** The JSON at a path. */
export const read = async (path, options) => (await call(path, options)).json();

/** Do something, and the JSON that answers it. */
export const send = (method, path, body) => read(path, { method, body });
