// Where every arm stands: a bar that grows with the odds against it, to the line that rules it out.

import { mark, MARKS } from "./arms.js";
import { make, part, say } from "../shared/dom.js";
import { cell, Paged } from "../shared/paged.js";

const LINE = 75; // per cent of the track: where an arm is ruled out

/** How far a bar reaches, in per cent; the logarithm of the odds grows with the samples. */
export const reach = (odds, needed) => Math.min(Math.max(Math.log(odds) / Math.log(needed), 0) * LINE, 100);

/** Who may still be the best comes first: the leader, then those with the least against them, then the best. */
export const ordered = ({ arms, leader }, known) =>
  arms
    .map((arm, k) => ({ ...arm, rank: known[k].rank }))
    .sort((a, b) => (b.arm === leader) - (a.arm === leader) || Math.max(a.odds, 1) - Math.max(b.odds, 1) || a.rank - b.rank);

export class Standing {
  constructor(page) {
    this.page = page;
    this.table = new Paged({
      body: part(page, "standing-rows"),
      pager: part(page, "standing-pager"),
      search: part(page, "standing-search"),
      empty: part(page, "standing-empty"),
      none: "There are no arms.",
      key: (arm) => arm.arm,
      create: row,
      fill: (element, arm) => this.fill(element, arm),
    });
    part(page, "standing-line").style.left = `${LINE}%`;
  }

  /** Only a test that looks at each arm by itself has odds. */
  update(status) {
    const { standing } = status;
    this.status = status;
    const box = part(this.page, "standing");
    box.hidden = standing.error === null || !status.samples;
    if (box.hidden) return;
    say(part(this.page, "standing-line"), standing.line);
    this.table.show(ordered(standing, status.arms));
  }

  fill(element, arm) {
    const { standing, verdict } = this.status;
    const how = arm.pulls ? mark(arm.arm, verdict) : "";
    element.className = arm.ruled_out ? "out" : how;
    const { tag, bar, words } = element.parts;
    say(tag, MARKS[how]);
    tag.hidden = !tag.textContent;
    bar.style.width = `${reach(arm.odds, standing.needed)}%`;
    say(words, arm.words);
  }
}

function row(arm) {
  const parts = {
    tag: make("span", { className: "tag" }),
    bar: make("span", { className: "against" }),
    words: make("span"),
  };
  const line = make("span", { className: "line" });
  line.style.left = `${LINE}%`;
  const element = make(
    "tr",
    { role: "row" },
    make("th", { scope: "row", role: "rowheader" }, make("bdi", { title: arm.arm }, arm.arm), parts.tag),
    cell("", "odds", make("div", { className: "track", "aria-hidden": "true" }, parts.bar, line)),
    cell("", "number", parts.words),
  );
  element.parts = parts;
  return element;
}
