// The way to the answer: evidence that rises to 100 %, or a breaking index that falls to epsilon.

import { colours } from "../shared/colours.js";
import { make, part, say } from "../shared/dom.js";
import { cell } from "../shared/paged.js";
import { count, digits, percent } from "../shared/words.js";
import { Chart } from "./chart.js";

const LATEST = 10; // rows of numbers below the chart
const SAMPLES = 1;
const INDEX = 2;
const EVIDENCE = 3;
const TIME = 4;

/** The test's evidence, or the breaking index of the paper's methods. */
export const shown = (status) => (status.shows === "evidence" ? EVIDENCE : INDEX);

/** The highest breaking index that the chart shows: the first wild ones are cut off. */
export function ceiling(values, target) {
  const known = values.filter((value) => value !== null);
  if (!known.length) return target + 1;
  const early = known[Math.min(Math.floor(known.length / 10), known.length - 1)];
  return Math.max(early, known[known.length - 1], target) * 1.1 + 1e-9;
}

export class Progress {
  constructor(page) {
    this.page = page;
    this.box = part(page, "chart");
    this.across = "samples";
    for (const choice of page.querySelectorAll('input[name="across"]')) {
      choice.addEventListener("change", () => {
        this.across = choice.value;
        if (this.status) this.build();
      });
    }
    this.resized = new ResizeObserver(() => this.fit());
    this.resized.observe(this.box);
    this.numbers = part(page, "numbers");
    this.numbers.addEventListener("toggle", () => this.table());
  }

  update(status, history) {
    this.status = status;
    this.history = history;
    const evidence = shown(status) === EVIDENCE;
    this.evidence = evidence;
    this.target = evidence ? 1 : status.problem.epsilon;
    this.name = evidence ? "Evidence" : "Breaking index";
    say(part(this.page, "progress-title"), this.name);
    const words = `At ${evidence ? percent(1) : Number(this.target.toPrecision(4))} the answer is known. On the way there it goes up and down with every batch.`;
    const none = evidence && history.length === 1 && !history[0][EVIDENCE] ? " After the first one there is none yet." : "";
    say(part(this.page, "progress-text"), words + none);
    this.box.setAttribute("aria-label", this.summary());
    this.box.closest("section").hidden = !history.length; // nothing to see yet
    if (!history.length) return;
    if (this.plot) this.redraw();
    else this.build();
    this.table();
  }

  /** A value of the chart in words: evidence in percents, as everywhere. */
  words(value) {
    return this.evidence ? percent(value) : digits(value);
  }

  summary() {
    const { status } = this;
    const value = status.verdict[this.evidence ? "evidence" : "breaking_index"];
    return `Chart. ${this.name} after ${count(status.samples)} samples: ${this.words(value)}; the answer is known at ${this.words(this.target)}.`;
  }

  data() {
    const across = this.across === "samples" ? (row) => row[SAMPLES] : (row) => Date.parse(row[TIME]) / 1000;
    const column = shown(this.status);
    return [this.history.map(across), this.history.map((row) => row[column])];
  }

  /** Where the end is expected, in samples; null where that would squeeze the rest. */
  get expected() {
    const { remaining, samples } = this.status;
    if (!remaining || this.across !== "samples" || remaining.high > 3 * samples) return null;
    return [samples + remaining.low, samples + remaining.high];
  }

  /** The axes: from the start to the end, or to where it is expected. */
  get ranges() {
    const [x, y] = this.data();
    const first = this.across === "samples" ? 0 : x[0] ?? 0;
    const last = this.expected?.[1] ?? x[x.length - 1] ?? first + 1;
    const wide = last > first ? last : first + 1;
    const high = this.evidence ? 1.08 : ceiling(y, this.target);
    const low = this.evidence ? 0 : Math.min(0, this.target);
    return { x: [first, wide + 0.02 * (wide - first)], y: [low, high] };
  }

  build() {
    const [ranges, draw, point] = [() => this.ranges, (plot) => this.goal(plot), (plot) => this.point(plot)];
    const label = this.evidence ? percent : String;
    this.plot = new Chart(this.box, { time: this.across === "time", label, ranges, draw, point });
    this.redraw();
    this.tip = make("div", { className: "tip", hidden: true });
    this.plot.over.append(this.tip);
  }

  /** The line to be reached, and where that is expected. */
  goal(plot) {
    const { ctx, bbox } = plot;
    const ink = colours();
    const y = Math.round(plot.valToPos(this.target, "y", true));
    const unit = devicePixelRatio;
    ctx.save();
    ctx.beginPath();
    ctx.strokeStyle = ink.good;
    ctx.lineWidth = 1.5 * unit;
    ctx.setLineDash([6 * unit, 5 * unit]);
    ctx.moveTo(bbox.left, y);
    ctx.lineTo(bbox.left + bbox.width, y);
    ctx.stroke();
    const { expected } = this;
    if (expected) {
      const [from, to] = expected.map((value) => plot.valToPos(value, "x", true));
      ctx.setLineDash([]);
      ctx.lineWidth = 6 * unit;
      ctx.lineCap = "round";
      ctx.beginPath();
      ctx.moveTo(from, y);
      ctx.lineTo(to, y);
      ctx.stroke();
      ctx.fillStyle = ink.soft;
      ctx.font = `${12 * unit}px ${ink.font}`;
      const below = y < bbox.top + bbox.height / 2;
      ctx.textBaseline = below ? "top" : "bottom";
      ctx.textAlign = to - bbox.left > 160 * unit ? "right" : "left";
      ctx.fillText("expected to end here", ctx.textAlign === "right" ? to : from, y + (below ? 9 : -9) * unit);
    }
    ctx.restore();
  }

  /** What is under the pointer. */
  point(plot) {
    const row = this.history[plot.cursor.idx];
    this.tip.hidden = !row || plot.cursor.left < 0;
    if (this.tip.hidden) return;
    const column = shown(this.status);
    const value = `${this.name.toLowerCase()} ${this.words(row[column])}`;
    const when = new Date(row[TIME]).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "medium" });
    say(this.tip, `${value}\n${count(row[SAMPLES])} samples\n${when}`);
    const left = plot.cursor.left > plot.over.clientWidth / 2;
    this.tip.style.left = left ? "" : `${plot.cursor.left + 12}px`;
    this.tip.style.right = left ? `${plot.over.clientWidth - plot.cursor.left + 12}px` : "";
  }

  redraw() {
    this.plot.show(this.data(), this.size());
  }

  size() {
    return { width: Math.max(this.box.clientWidth, 200), height: this.box.clientWidth < 500 ? 220 : 280 };
  }

  fit() {
    if (this.plot && this.plot.width !== this.size().width) this.redraw();
  }

  /** The last rows as text, for those who can't see the chart; only while it is open. */
  table() {
    if (!this.numbers.open || !this.history) return;
    const rows = this.history.slice(-LATEST).reverse().map((row) =>
      make(
        "tr",
        { role: "row" },
        cell("Upload", "number", count(row[0])),
        cell("Received", "", new Date(row[TIME]).toLocaleString("en-GB")),
        cell("Samples", "number", count(row[SAMPLES])),
        cell("Breaking index", "number", digits(row[INDEX])),
        cell("Evidence", "number", percent(row[EVIDENCE])),
      ),
    );
    part(this.page, "number-rows").replaceChildren(...rows);
  }

  end() {
    this.resized.disconnect();
  }
}
