// The sites: who is silent comes first.

import { make, moment, part, say } from "../shared/dom.js";
import { cell, Paged } from "../shared/paged.js";
import { ago, bytes, count, counted } from "../shared/words.js";

/** Silent sites first, the longest silent at the top; then the others in the same order. */
export const ordered = (sites) =>
  [...sites].sort((a, b) => b.stale - a.stale || a.last_seen.localeCompare(b.last_seen) || a.agent.localeCompare(b.agent));

export class Sites {
  constructor(page) {
    this.page = page;
    this.table = new Paged({
      body: part(page, "site-rows"),
      pager: part(page, "site-pager"),
      search: part(page, "site-search"),
      empty: part(page, "sites-empty"),
      none: "No site has joined yet.",
      key: (site) => site.agent,
      create: row,
      fill: (element, site) => this.fill(element, site),
    });
  }

  update(status, now) {
    this.now = now;
    this.asking = status.state === "open";
    const { sites, agents } = status;
    say(part(this.page, "sites-text"), `${count(sites.length)} joined, ${count(agents)} expected.`);
    this.table.show(ordered(sites));
  }

  fill(element, site) {
    const { state, seen, samples, uploads, sent, plan } = element.parts;
    const silent = site.stale && this.asking;
    element.className = silent ? "silent" : "";
    say(state, silent ? "Silent" : "");
    state.hidden = !silent;
    moment(seen, ago((this.now - Date.parse(site.last_seen)) / 1000), site.last_seen);
    say(samples, count(site.samples));
    say(uploads, count(site.uploads));
    say(sent, bytes(site.bytes));
    say(plan, site.plan === null || !this.asking ? "–" : counted(site.plan, "pull"));
  }
}

function row(site) {
  const parts = { state: make("span", { className: "tag" }), seen: make("time") };
  for (const name of ["samples", "uploads", "sent", "plan"]) parts[name] = make("span");
  const element = make(
    "tr",
    { role: "row" },
    make("th", { scope: "row", role: "rowheader" }, make("bdi", {}, site.agent), parts.state),
    cell("Last seen", "", parts.seen),
    cell("Samples", "number", parts.samples),
    cell("Uploads", "number", parts.uploads),
    cell("Sent", "number", parts.sent),
    cell("Working on", "number", parts.plan),
  );
  element.parts = parts;
  return element;
}
