// The arms: estimate, interval and pulls; leader and challenger marked by words and shapes.

import { make, part, say } from "../shared/dom.js";
import { cell, Paged } from "../shared/paged.js";
import { count, counted, decimals, end, fixed, named, percent } from "../shared/words.js";

/** Arms in the order that is asked for; the best first is the server's order. */
export function ordered({ arms }, order) {
  if (order === "given") return arms;
  return [...arms].sort(order === "pulls" ? (a, b) => b.pulls - a.pulls : (a, b) => a.rank - b.rank);
}

/**
 * What the interval column shows of each arm: its own mean and interval, or, where sites differ, its difference to
 * the control or to the leader. `to` names that arm, and `sentence` says what they are.
 */
export function shown({ arms, differences }) {
  const [found] = differences;
  const own = (arm) => ({ value: arm.mean, low: arm.low, high: arm.high });
  if (!found) return { to: null, sentence: "", places: new Map(arms.map((arm) => [arm.arm, own(arm)])) };
  const zero = { value: 0, low: null, high: null, percent: null };
  const of = ({ arm, difference, low, high, percent }) => [arm, arm === found.to ? zero : { value: difference, low, high, percent }];
  return { to: found.to, sentence: found.sentence, places: new Map(found.arms.map(of)) };
}

/** The values that the interval column shows: those of all arms, whichever page is open. */
export function scale({ places: known }) {
  let [low, high] = [Infinity, -Infinity];
  for (const place of known.values()) {
    if (place.value === null) continue;
    low = Math.min(low, place.low ?? place.value);
    high = Math.max(high, place.high ?? place.value);
  }
  if (!(high > low)) [low, high] = Number.isFinite(low) ? [low - 0.5, low + 0.5] : [0, 1];
  const margin = 0.02 * (high - low);
  return { low: low - margin, high: high + margin };
}

/** Round values inside a scale, at most `most` of them, and fewer where they are long. */
export function ticks({ low, high }, most = 5) {
  const raw = (high - low) / most;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((k) => k * power).find((size) => size >= raw);
  const places = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const found = [];
  for (let k = Math.ceil(low / step); k * step <= high; k += 1) found.push([k * step, fixed(k * step, places)]);
  return most > 2 && found.some(([, text]) => text.length > 7) ? ticks({ low, high }, 2) : found;
}

/** How an arm is marked. */
export const mark = (name, { arm, leader, challenger }) => {
  if (name === arm) return "best";
  if (name === leader) return "leader";
  return name === challenger && !arm ? "challenger" : "";
};

/** And in a word. */
export const MARKS = { best: "Best", leader: "Leader", challenger: "Challenger", "": "" };

/** Decimals that fit the narrowest interval. */
export function places({ places: known }) {
  let least = Infinity;
  for (const { low, high } of known.values()) if (low !== null) least = Math.min(least, (high - low) / 2);
  return decimals(Number.isFinite(least) ? least : 0);
}

export class Arms {
  constructor(page) {
    this.page = page;
    this.order = part(page, "arm-order");
    this.order.addEventListener("change", () => {
      this.table.page = 0;
      if (this.status) this.redraw();
    });
    this.table = new Paged({
      body: part(page, "arm-rows"),
      pager: part(page, "arm-pager"),
      search: part(page, "arm-search"),
      empty: part(page, "arms-empty"),
      none: "There are no arms.",
      key: (arm) => arm.arm,
      create: row,
      fill: (element, arm) => this.fill(element, arm),
    });
  }

  update(status) {
    this.status = status;
    this.redraw();
  }

  redraw() {
    const { arms } = this.status;
    this.shown = shown(this.status);
    this.scale = scale(this.shown);
    this.places = places(this.shown);
    say(part(this.page, "range-title"), this.shown.to ? `Difference to ${named(this.shown.to)}` : "Interval");
    this.most = arms.reduce((most, arm) => Math.max(most, arm.pulls), 1);
    say(part(this.page, "arms-text"), this.about(arms));
    this.axis();
    this.table.show(ordered(this.status, this.order.value));
  }

  /** What can be said about the intervals; nothing where the test gives none. */
  about(arms) {
    const { problem, intervals } = this.status;
    if (this.shown.to) return this.shown.sentence;
    if (arms.some((arm) => arm.low !== null)) {
      return `All intervals hold together, at any time, with probability at least ${Number((1 - problem.delta).toPrecision(6))}.`;
    }
    const tried = arms.filter((arm) => arm.pulls > 0).length;
    if (tried === arms.length) return "Estimated means.";
    const later = intervals ? "; intervals come when all were" : "";
    return `${count(tried)} of ${count(arms.length)} tried so far${later}.`;
  }

  at(value) {
    return `${(100 * (value - this.scale.low)) / (this.scale.high - this.scale.low)}%`;
  }

  axis() {
    const marks = ticks(this.scale).map(([value, text]) => {
      const tick = make("span", {}, text);
      tick.style.left = this.at(value);
      return tick;
    });
    part(this.page, "axis").replaceChildren(...marks);
  }

  fill(element, arm) {
    const { verdict, samples } = this.status;
    const how = arm.pulls ? mark(arm.arm, verdict) : "";
    element.className = how;
    const { tag, estimate, pulls, share, bar, range, dot, guide } = element.parts;
    say(tag, MARKS[how]);
    tag.hidden = !tag.textContent;
    say(estimate, arm.mean === null ? "–" : end(arm.mean, this.places));
    say(pulls, count(arm.pulls));
    say(share, samples ? percent(arm.pulls / samples) : "");
    bar.style.width = `${(100 * arm.pulls) / this.most}%`;
    const { value, low, high, percent: ofControl } = this.shown.places.get(arm.arm) ?? NOWHERE;
    range.hidden = low === null;
    dot.hidden = value === null;
    if (value !== null) dot.style.left = this.at(value);
    if (low !== null) {
      range.style.left = this.at(low);
      range.style.right = `calc(100% - ${this.at(high)})`;
    }
    const ends = low === null ? "" : `${end(low, this.places)} to ${end(high, this.places)}`;
    say(element.parts.interval, this.shown.to ? "" : ends);
    say(element.parts.apart, this.shown.to && ends ? `${end(value, this.places)} (${ends})${relative(ofControl)}` : "");
    element.parts.name.title = described(this.status.problem, arm.arm);
    const leader = this.shown.places.get(this.shown.to ?? verdict.leader) ?? NOWHERE;
    guide.hidden = leader.value === null;
    if (!guide.hidden) guide.style.left = this.at(leader.value);
  }
}

/** A difference in percent; only the estimate, since nothing bounds the ratio. */
const relative = (share) => (share === null || share === undefined ? "" : ` · ${share < 0 ? "−" : "+"}${fixed(Math.abs(share), 1)} %`);

/** What an arm is, where the problem says so. */
const described = (problem, name) => problem.arm.find((arm) => arm.name === name)?.description ?? name;

const NOWHERE = { value: null, low: null, high: null };

function row(arm) {
  const parts = {
    tag: make("span", { className: "tag" }),
    name: make("bdi", { title: arm.arm }, arm.arm),
    estimate: make("span"),
    interval: make("span", { className: "soft" }),
    apart: make("span", { className: "apart soft" }),
    range: make("span", { className: "whisker" }),
    dot: make("span", { className: "dot" }),
    guide: make("span", { className: "guide" }),
    pulls: make("span"),
    share: make("span", { className: "soft" }),
    bar: make("span"),
  };
  parts.track = make("div", { className: "track", "aria-hidden": "true" }, parts.guide, parts.range, parts.dot);
  const name = make("th", { scope: "row", role: "rowheader" }, parts.name, parts.tag);
  const element = make(
    "tr",
    { role: "row" },
    name,
    cell("", "number estimate", parts.estimate, parts.interval),
    cell("", "range", parts.track, parts.apart),
    cell("", "number pulls", make("span", {}, parts.pulls, " ", parts.share), make("div", { className: "share" }, parts.bar)),
  );
  element.parts = parts;
  return element;
}

/** One sentence about the arms, for a picture's caption. */
export const caption = (status) =>
  `${counted(status.samples, "sample")} in ${counted(status.uploads, "upload")}; ` +
  (status.verdict.stopped ? `the best arm is ${named(status.verdict.arm)}.` : `${named(status.verdict.leader)} leads.`);
