// A site's calls: JSON out and in, the token and the version of the protocol in headers.

import { at, Refusal } from "../shared/api.js";

const VERSION = 2;
const PATIENCE = 30_000; // ms that a server gets to answer

/** Nobody answered, or could; nothing is known about what happened, and the same may be sent again. */
export class Away extends Error {}

export const speaks = (version) => version === VERSION;

async function answered(path, options) {
  let response;
  try {
    const always = { cache: "no-store", credentials: "omit", redirect: "error" };
    response = await fetch(path, { ...always, ...options, signal: AbortSignal.timeout(PATIENCE) });
    if (response.ok) return await response.json();
  } catch {
    throw new Away("the server can't be reached.");
  }
  const body = await response.json().catch(() => ({}));
  const sentence = body.error ?? `the server answered ${response.status}.`;
  if (response.status >= 500 || response.status === 429) throw new Away(sentence);
  throw Object.assign(new Refusal(sentence, response.status), { code: body.code });
}

/** Calls of one site. */
export const wire = (study, token) => ({
  /** Whether there is a server at all, before something is sent for the first time. */
  reach: () => answered("healthz", {}),
  send: (what, body) =>
    answered(at(study, `/${what}`), {
      method: "POST",
      headers: {
        "Authorization": `Bearer ${token}`,
        "Bestarm-Protocol": String(VERSION),
        "Content-Type": "application/json",
      },
      body: JSON.stringify(body),
    }),
});
