// The sites: who is silent comes first.

import { make, moment, part, say } from "../shared/dom.js";
import { cell, Paged } from "../shared/paged.js";
import { ago, count } from "../shared/words.js";

/** Silent sites first, the longest silent at the top; then the others in the same order. */
export const ordered = (sites) =>
  [...sites].sort((a, b) => b.stale - a.stale || a.last_seen.localeCompare(b.last_seen) || a.agent.localeCompare(b.agent));

export class Sites {
  constructor(page, closely) {
    this.page = page;
    this.table = new Paged({
      body: part(page, "site-rows"),
      pager: part(page, "site-pager"),
      search: part(page, "site-search"),
      empty: part(page, "sites-empty"),
      none: "No site has joined yet.",
      key: (site) => site.agent,
      create: (site) => row(site, closely),
      fill: (element, site) => this.fill(element, site),
    });
  }

  update(status, now) {
    this.now = now;
    this.asking = status.state === "open";
    const { sites } = status;
    say(part(this.page, "sites-text"), sites.length ? `${count(sites.length)} joined.` : "");
    this.table.show(ordered(sites));
  }

  fill(element, site) {
    const { state, seen, samples, asked, since } = element.parts;
    const silent = site.stale && this.asking;
    element.className = silent ? "silent" : "";
    say(state, silent ? "Silent" : "");
    state.hidden = !silent;
    moment(seen, ago((this.now - Date.parse(site.last_seen)) / 1000), site.last_seen);
    say(samples, count(site.samples));
    say(asked, site.asked);
    say(since, site.asked_at ? ago((this.now - Date.parse(site.asked_at)) / 1000) : "–");
  }
}

function row(site, closely) {
  const parts = { state: make("span", { className: "tag" }), seen: make("time") };
  for (const name of ["samples", "asked", "since"]) parts[name] = make("span");
  const onclick = () => closely(site.agent);
  const open = make("button", { type: "button", className: "quiet", onclick, "aria-label": `More about ${site.agent}` }, "More");
  const element = make(
    "tr",
    { role: "row" },
    make("th", { scope: "row", role: "rowheader" }, make("bdi", {}, site.agent), parts.state),
    cell("Last seen", "", parts.seen),
    cell("Samples", "number", parts.samples),
    cell("Asked to do", "", parts.asked),
    cell("Since", "", parts.since),
    cell("", "number", open),
  );
  element.parts = parts;
  return element;
}
