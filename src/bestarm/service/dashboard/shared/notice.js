// The strip below the header: what keeps the page from being up to date.

import { announce, part, say } from "./dom.js";

const strip = part(document, "notice");
const more = part(document, "notice-more");
const button = part(document, "notice-act");
const live = part(document, "live");
let ticking = 0;

function put(text, label, act) {
  say(part(document, "notice-text"), text);
  say(more, "");
  say(button, label ?? "");
  button.hidden = !label;
  button.onclick = act ?? null;
  strip.hidden = false;
}

/** Nothing is wrong, or nothing is followed. */
export function clear() {
  clearInterval(ticking);
  strip.hidden = true;
  live.hidden = true;
}

/** A sentence with a button, to make it go away unless something else is said. */
export const tell = (text, label = "Close", act = () => (strip.hidden = true)) => put(text, label, act);

/** How the connection to a study does. */
export function connection({ state, since, until }, retry) {
  clearInterval(ticking);
  live.hidden = state === "connecting" || state === "resting";
  live.className = `live ${state}`;
  say(live, state === "live" ? "● Live" : "▲ Not connected");
  if (state === "lost") {
    const time = new Date(since).toLocaleTimeString("en-GB");
    put(`The connection was lost at ${time}. What you see is from then.`, "Try now", retry);
    const tick = () => say(more, `Next try in ${Math.max(Math.ceil((until - Date.now()) / 1000), 0)} s.`);
    tick();
    ticking = setInterval(tick, 500);
  } else if (!strip.hidden && button.textContent === "Try now") {
    strip.hidden = true;
    announce("Connected again.");
  }
}
