// A line on a canvas, filled below: axes with round numbers or dates, and what is under the pointer.

import { colours } from "../shared/colours.js";
import { make } from "../shared/dom.js";
import { count } from "../shared/words.js";

const [LEFT, RIGHT, TOP, BOTTOM] = [48, 14, 10, 40]; // CSS pixels around the line
const ROOM = 90; // of a label on the lower axis
const FEW = 15; // points that are drawn as dots, too: one alone makes no line
const DAY = 86400;
const SECONDS = [1, 5, 15, 30, 60, 300, 900, 1800, 3600, 10800, 21600, 43200];
const DAYS = [1, 2, 7, 14];
const MONTHS = [1, 3, 6, 12, 24, 60, 120];

/** A step of 1, 2 or 5 times a power of ten, with which an axis has about so many. */
function round(span, about) {
  const power = 10 ** Math.floor(Math.log10(span / about));
  return power * [1, 2, 5, 10].find((k) => (span / about) <= k * power);
}

function numbers([low, high], about) {
  const step = round(high - low, about);
  const first = Math.ceil(low / step);
  return Array.from({ length: Math.floor(high / step) - first + 1 }, (_, k) => Number(((first + k) * step).toPrecision(12)));
}

/** Moments on round dates and times, where the reader is, and their labels. */
function moments([low, high], about) {
  const span = (high - low) / about;
  const start = new Date(low * 1000);
  const date = (day = start.getDate(), month = start.getMonth()) => new Date(start.getFullYear(), month, day).getTime() / 1000;
  const [second, days] = [SECONDS.find((step) => step >= span), DAYS.find((step) => step * DAY >= span)];
  const months = MONTHS.find((step) => step * 30 * DAY >= span) ?? MONTHS.at(-1);
  const at = (k) => {
    if (second) return date() + k * second;
    return days ? date(start.getDate() + k * days) : date(1, k * months);
  };
  const found = [];
  for (let k = second ? Math.floor((low - date()) / second) : 0; at(k) <= high; k += 1) if (at(k) >= low) found.push(at(k));
  const form = (options) => (value) => new Date(value * 1000).toLocaleString("en-GB", options);
  const time = { hour: "2-digit", minute: "2-digit", ...(second < 60 ? { second: "2-digit" } : {}) };
  const [upper, lower] = second
    ? [form(time), form({ day: "numeric", month: "short" })]
    : [form(days ? { day: "numeric", month: "short" } : { month: "short" }), form({ year: "numeric" })];
  return found.map((value, k) => [value, upper(value), k && lower(value) === lower(found[k - 1]) ? "" : lower(value)]);
}

export class Chart {
  /** `label` names a height, `ranges` gives the ends of both axes, `draw` draws on top, `point` hears of the pointer. */
  constructor(box, { time, label, ranges, draw, point }) {
    Object.assign(this, { box, time, label, ranges, draw, point, cursor: { idx: null, left: -1 }, data: [[], []] });
    this.canvas = make("canvas");
    this.over = make("div", { className: "over" });
    this.mark = make("div", { className: "mark", hidden: true });
    this.over.append(this.mark);
    this.over.addEventListener("pointermove", (event) => this.#moved(event.offsetX));
    this.over.addEventListener("pointerleave", () => this.#moved(-1));
    box.replaceChildren(this.canvas, this.over);
  }

  /** Where a value is, in pixels of the canvas or, not `sharp`, of the page inside the axes. */
  valToPos(value, axis, sharp = false) {
    const { left, top, width, height } = this.bbox;
    const [low, high] = this.range[axis];
    const share = (value - low) / (high - low);
    const at = axis === "x" ? left + share * width : top + height - share * height;
    return sharp ? at : (at - left) / devicePixelRatio;
  }

  show(data, { width, height }) {
    const unit = devicePixelRatio;
    const across = width - LEFT - RIGHT;
    Object.assign(this, { data, width, range: this.ranges() });
    Object.assign(this.canvas, { width: width * unit, height: height * unit });
    this.bbox = { left: LEFT * unit, top: TOP * unit, width: across * unit, height: (height - TOP - BOTTOM) * unit };
    for (const [one, wide] of [[this.canvas, width], [this.over, across]]) one.style.width = `${wide}px`;
    this.canvas.style.height = `${height}px`;
    this.#paint(unit);
  }

  #paint(unit) {
    const ctx = (this.ctx = this.canvas.getContext("2d"));
    const { left, top, width, height } = this.bbox;
    const ink = colours();
    Object.assign(ctx, { font: `${12 * unit}px ${ink.font}`, fillStyle: ink.soft, strokeStyle: ink.line, lineWidth: unit });
    const line = (...points) => {
      ctx.beginPath();
      points.forEach(([x, y]) => ctx.lineTo(x, y));
    };
    const about = Math.max(width / unit / ROOM, 1);
    const below = this.time ? moments(this.range.x, about) : numbers(this.range.x, about).filter(Number.isInteger).map((value) => [value, count(value), ""]);
    Object.assign(ctx, { textAlign: "center", textBaseline: "top" });
    for (const [value, upper, lower] of below) {
      const x = Math.round(this.valToPos(value, "x", true));
      line([x, top], [x, top + height]);
      ctx.stroke();
      ctx.fillText(upper, x, top + height + 8 * unit);
      ctx.fillText(lower, x, top + height + 23 * unit);
    }
    Object.assign(ctx, { textAlign: "right", textBaseline: "middle" });
    for (const value of numbers(this.range.y, 5)) {
      const y = Math.round(this.valToPos(value, "y", true));
      line([left, y], [left + width, y]);
      ctx.stroke();
      ctx.fillText(this.label(value), left - 8 * unit, y);
    }
    this.#line(ctx, line, ink, unit);
    this.draw(this);
  }

  #line(ctx, line, ink, unit) {
    const { left, top, width, height } = this.bbox;
    const [across, up] = this.data;
    const known = across.map((x, k) => [x, up[k]]).filter(([, y]) => y !== null);
    const points = known.map(([x, y]) => [this.valToPos(x, "x", true), this.valToPos(y, "y", true)]);
    ctx.save();
    ctx.beginPath();
    ctx.rect(left, top, width, height);
    ctx.clip();
    Object.assign(ctx, { strokeStyle: ink.leader, lineWidth: 2 * unit, lineJoin: "round", fillStyle: ink.fill });
    if (points.length) {
      line([points[0][0], top + height], ...points, [points.at(-1)[0], top + height]);
      ctx.fill();
      line(...points);
      ctx.stroke();
    }
    ctx.restore();
    ctx.fillStyle = ink.leader;
    for (const [x, y] of points.length < FEW ? points.filter(([, high]) => high >= top) : []) {
      ctx.beginPath();
      ctx.arc(x, y, 3.5 * unit, 0, 7);
      ctx.fill();
    }
  }

  #moved(left) {
    const [across] = this.data;
    const away = across.map((value) => Math.abs(this.valToPos(value, "x") - left));
    const idx = left < 0 || !away.length ? null : away.indexOf(Math.min(...away));
    this.cursor = { idx, left: idx === null ? -1 : this.valToPos(across[idx], "x") };
    this.mark.hidden = idx === null;
    this.mark.style.left = `${this.cursor.left}px`;
    this.point(this);
  }
}
