// A study's log as it grows: server-sent events over fetch: EventSource can't send a token.

import { at, call, Refusal } from "./api.js";

const SILENCE = 45_000; // ms; the server gives a sign of life every 15 s
const STEADY = 5_000; // ms after which a connection counts as a good one
const LONGEST = 30_000; // ms between two tries
const NAP = 60_000; // ms after which a page that nobody sees lets go: a browser has six connections for a server

/** How long to wait before try number n, with chance in it so that not all pages come at once. */
export const pause = (n, chance = Math.random()) => Math.min(500 * 2 ** n, LONGEST) * (0.75 + 0.5 * chance);

/**
 * Follow a study until the signal says stop. Every event after `place()` is told once and in order:
 * a broken stream is opened again, and goes on where it was.
 *
 * `told(event, data)` gets the events; `connected()`, `resting()` and `lost(ms)` say how the connection does;
 * `lost` may return a promise that ends the wait early. A refusal that will last is thrown.
 */
export async function follow(study, { place, told, connected, resting, lost, signal }) {
  let failures = 0;
  while (!signal.aborted) {
    if (document.hidden) {
      resting();
      await seen(signal);
      continue;
    }
    const guard = new Guard(signal);
    let opened = Infinity;
    let wait = 0;
    try {
      const headers = { Accept: "text/event-stream", "Last-Event-ID": String(place()) };
      const response = await call(at(study, "/events"), { headers, signal: guard.signal });
      opened = Date.now();
      connected();
      for await (const { event, data } of messages(response.body, () => guard.alive())) {
        try {
          told(event, data);
        } catch (error) {
          reportError(error); // a mistake of ours is not a lost connection
        }
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Refusal && error.lasting) throw error;
      wait = 1000 * (error.after ?? 0);
    } finally {
      guard.end();
    }
    if (signal.aborted) return;
    if (document.hidden) continue;
    failures = Date.now() - opened > STEADY ? 0 : failures + 1;
    const ms = Math.max(pause(failures), wait);
    await Promise.race([rest(ms, signal), lost(ms)]);
  }
}

/** Aborts when the page is left, when nobody sees it, or when nothing has come for too long. */
class Guard {
  constructor(outer) {
    this.controller = new AbortController();
    this.signal = this.controller.signal;
    this.stop = () => this.controller.abort();
    outer.addEventListener("abort", this.stop, { signal: this.signal });
    document.addEventListener("visibilitychange", () => this.look(), { signal: this.signal });
    this.alive();
  }

  look() {
    clearTimeout(this.nap);
    if (document.hidden) this.nap = setTimeout(this.stop, NAP);
  }

  alive() {
    clearTimeout(this.timer);
    this.timer = setTimeout(this.stop, SILENCE);
  }

  end() {
    clearTimeout(this.timer);
    clearTimeout(this.nap);
    this.controller.abort();
  }
}

/** The events in a body, as they arrive, however the network has cut it. */
export async function* messages(body, alive = () => {}) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    alive();
    text += value;
    const frames = text.split("\n\n");
    text = frames.pop();
    for (const frame of frames) {
      const found = parse(frame);
      if (found) yield found;
    }
  }
}

/** One frame; comments are not events. */
function parse(frame) {
  const fields = {};
  for (const line of frame.split("\n")) {
    const colon = line.indexOf(": ");
    if (colon > 0) fields[line.slice(0, colon)] = line.slice(colon + 2);
  }
  return fields.data === undefined ? null : { event: fields.event, data: JSON.parse(fields.data) };
}

/** Until somebody looks at the page. */
const seen = (signal) =>
  new Promise((done) => {
    document.addEventListener("visibilitychange", () => done(), { once: true, signal });
    signal.addEventListener("abort", () => done(), { once: true });
  });

/** Wait, unless there is no more need. */
export const rest = (ms, signal) =>
  new Promise((done) => {
    const timer = setTimeout(done, ms);
    signal?.addEventListener("abort", () => (clearTimeout(timer), done()), { once: true });
  });
