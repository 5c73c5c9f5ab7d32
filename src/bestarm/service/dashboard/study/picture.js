// Charts as pictures: what is on the screen, with a title and a line that says what it is.

import { caption, mark, ordered, places, scale, shown, ticks } from "./arms.js";
import { colours } from "../shared/colours.js";
import { count, fixed, named } from "../shared/words.js";

const MOST = 40; // arms in a picture
const SHARP = 2; // dots for each pixel

/** A sheet with a title above and a caption below; `paint` fills what is between. */
function sheet(width, height, title, text, paint) {
  const ink = colours();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [width * SHARP, (height + 96) * SHARP];
  const pen = canvas.getContext("2d");
  pen.scale(SHARP, SHARP);
  pen.fillStyle = ink.card;
  pen.fillRect(0, 0, width, height + 96);
  pen.fillStyle = ink.ink;
  pen.font = `600 18px ${ink.font}`;
  pen.fillText(fit(pen, title, width - 48), 24, 36);
  pen.fillStyle = ink.soft;
  pen.font = `13px ${ink.font}`;
  pen.fillText(fit(pen, text, width - 48), 24, height + 80);
  pen.translate(0, 56);
  paint(pen, ink);
  return canvas;
}

/** Text that does not run out of its place. */
function fit(pen, text, width) {
  if (pen.measureText(text).width <= width) return text;
  let cut = text.slice(0, 200);
  while (cut && pen.measureText(`${cut}…`).width > width) cut = cut.slice(0, -1);
  return `${cut}…`;
}

function diamond(pen, x, y, size) {
  pen.moveTo(x, y - size);
  pen.lineTo(x + size, y);
  pen.lineTo(x, y + size);
  pen.lineTo(x - size, y);
}

/** The chart of the progress. */
export function progressPicture(status, canvas, title) {
  const width = 900;
  const height = Math.round((width * canvas.height) / canvas.width);
  const paint = (pen) => pen.drawImage(canvas, 0, 0, width, height);
  return sheet(width, height, `${status.study}: ${title}`, caption(status), paint);
}

/** Estimates, intervals and pulls of the first arms in the order that is on the screen. */
export function armsPicture(status, order) {
  const arms = ordered(status, order).slice(0, MOST);
  const known = shown(status);
  const range = scale(known);
  const digits = places(known);
  const [left, right, row] = [230, 640, 28];
  const x = (value) => left + ((right - left) * (value - range.low)) / (range.high - range.low);
  const most = Math.max(...arms.map((arm) => arm.pulls), 1);
  const more = status.arms.length > arms.length ? ` ${arms.length} of ${count(status.arms.length)} arms.` : "";
  const what = known.to ? `arms, differences to ${named(known.to)}` : "arms";
  return sheet(900, row * (arms.length + 1), `${status.study}: ${what}`, caption(status) + more, (pen, ink) => {
    pen.textBaseline = "middle";
    pen.font = `12px ${ink.font}`;
    for (const [value, text] of ticks(range)) {
      pen.fillStyle = ink.line;
      pen.fillRect(x(value), 16, 1, row * arms.length);
      pen.fillStyle = ink.soft;
      pen.textAlign = "center";
      pen.fillText(text, x(value), 4);
    }
    pen.textAlign = "right";
    pen.fillText("estimate", 705, 4);
    pen.fillText("pulls", 790, 4);
    arms.forEach((arm, k) => {
      const y = 16 + row * (k + 0.5);
      const how = mark(arm.arm, status.verdict);
      const word = how ? ` (${how})` : "";
      pen.textAlign = "left";
      pen.fillStyle = ink.ink;
      pen.font = `${how ? "600 " : ""}13px ${ink.font}`;
      pen.fillText(fit(pen, named(arm.arm), left - 40 - pen.measureText(word).width) + word, 24, y);
      const colour = { best: ink.good, leader: ink.leader, challenger: ink.rival }[how] ?? ink.soft;
      pen.fillStyle = colour;
      const { value, low, high } = known.places.get(arm.arm);
      if (low !== null) pen.fillRect(x(low), y - 1.5, x(high) - x(low), 3);
      if (value !== null) {
        pen.beginPath();
        if (how === "challenger") diamond(pen, x(value), y, 7);
        else pen.arc(x(value), y, how ? 6 : 4, 0, 7);
        pen.fill();
      }
      pen.fillStyle = ink.ink;
      pen.font = `13px ${ink.font}`;
      pen.textAlign = "right";
      pen.fillText(arm.mean === null ? "–" : fixed(arm.mean, digits), 705, y);
      pen.fillText(count(arm.pulls), 790, y);
      pen.fillStyle = ink.line;
      pen.fillRect(802, y - 4, 74, 8);
      pen.fillStyle = colour;
      pen.fillRect(802, y - 4, (74 * arm.pulls) / most, 8);
    });
  });
}
