// What was typed, as a reward: read, checked and doubted as at any site, by the server's `checks`.

import { SiteError } from "./agent.js";

const NUMBER = /^[+-]?(\d+[.,]?\d*|[.,]\d+)([eE][+-]?\d+)?$/;
const GROUPED = /^[+-]?[1-9]\d{0,2}[.,]\d{3}$/;
const SPACED = /^[+-]?\d{1,3}( \d{3})+([.,]\d*)?$/;

/** A name as sentences show it. */
export const quoted = (text) => (text.includes("'") && !text.includes('"') ? `"${text}"` : `'${text}'`);

/** A number with a decimal point or comma; what can be read in two ways is refused. */
function number(text, decimalComma) {
  const plain = text.trim().replace("−", "-");
  const refuse = (rest) => new SiteError(`reward is ${quoted(text.trim())}${rest}`);
  if (!NUMBER.test(plain)) throw refuse("; it must be a number such as 0.73.");
  const point = plain.replace(",", ".");
  if (GROUPED.test(plain) && (plain.includes(",") || decimalComma)) {
    const grouped = point.replace(".", "");
    throw refuse(`, which may be ${point} or ${grouped}; write ${point}0 or ${grouped}.`);
  }
  return Number(point) + 0;
}

/** The measurements in the cells of one trial, between spaces or semicolons. */
export function measurements(cells, decimalComma = false) {
  for (const cell of cells.map((one) => one.trim()).filter((one) => SPACED.test(one))) {
    const [joined, apart] = [cell.replaceAll(" ", ""), cell.replaceAll(" ", "; ")];
    const either = `which may be ${joined} or several measurements; write ${joined} or ${apart}.`;
    throw new SiteError(`reward is ${quoted(cell)}, ${either}`);
  }
  const words = cells.flatMap((cell) => cell.split(/[;\s]+/)).filter(Boolean);
  return words.map((word) => number(word, decimalComma));
}

/** A column of rewards from a spreadsheet; a second column would put them to wrong trials. */
export function column(text) {
  const lines = text.split(/\r?\n/).map((line) => line.split("\t").map((one) => one.trim()));
  const numbers = (line) => line.filter((one) => NUMBER.test(one.replace("−", "-")));
  const several = lines.map(numbers).find(({ length }) => length > 1);
  const [top] = lines[0];
  if (several || /^(\p{L}|\D+$)/u.test(top)) {
    const found = several ? `a line has ${several.join(" and ")}` : `${quoted(top)} is no reward`;
    throw new SiteError(`${found}: copy the column of rewards alone, without its heading. Nothing was taken.`);
  }
  return lines.map(([first]) => first);
}

/** What measurements of one trial count as: each is checked, and their mean counts. */
export function countsAs(values, checks) {
  for (const value of values) {
    for (const { low, high, only, must_be: allowed } of checks.limits) {
      const fits = only ? only.includes(value) : low <= value && value <= high;
      if (!Number.isFinite(value) || !fits) throw new SiteError(`reward is ${value}; it must be ${allowed}.`);
    }
  }
  if (checks.limits[0].only && new Set(values).size > 1) {
    throw new SiteError(`reward is ${values.join(", ")}; measurements of one trial must agree on it.`);
  }
  const mean = values.reduce((sum, one) => sum + one, 0) / values.length;
  return Math.min(Math.max(mean, Math.min(...values)), Math.max(...values)); // rounding stays within their range
}

function median(sorted) {
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** Whether a number is far from all earlier ones, as a slip is; see `bestarm/doubt.py`. */
export function isFar(value, earlier, rule, several) {
  if (earlier.length < (rule.noise > 0 ? 1 : 2)) return false;
  const middle = median([...earlier].sort((a, b) => a - b));
  const distances = earlier.map((one) => Math.abs(one - middle)).sort((a, b) => a - b);
  const least = rule.normal_nine_of_ten * rule.noise;
  const most = Math.max(distances.at(-1), least);
  const distance = Math.abs(value - middle);
  if (earlier.length >= rule.few && !several) {
    const usual = Math.max(distances[Math.floor((9 * distances.length - 1) / 10)], least) || most;
    return usual > 0 && distance > Math.max(rule.most_times * usual, rule.largest_times * most);
  }
  const largest = rule.slip * Math.max(...earlier.map(Math.abs));
  const further = earlier.length === 2 && least === 0 ? rule.further : 1;
  return Math.abs(value) >= largest && largest > 0 && distance > rule.further * most * further;
}

/** Six digits, as Python's format g. */
function short(x) {
  const [digits, exponent] = x.toExponential(5).split("e").map(Number);
  if (x === 0 || (exponent >= -4 && exponent < 6)) return String(Number(x.toPrecision(6)));
  return `${digits}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
}

/** A question about measurements that are far from what this site told before, or nothing. */
export function doubt(arm, values, told, checks) {
  const rule = checks.doubt;
  if (checks.limits[0].only) return "";
  const last = (rows) => rows.slice(-rule.looked_at).map(({ reward }) => reward);
  const [own, every] = [last(told.filter((one) => one.arm === arm)), last(told)];
  const alone = own.length > 1;
  const earlier = alone ? own : every;
  const times = alone || every.length >= rule.few ? rule.slip : rule.percent;
  const largest = own.length < rule.few ? Math.max(0, ...every.map(Math.abs)) : 0;
  const far = (one) => isFar(one, earlier, rule, !alone) && Math.abs(one) >= times * largest;
  const found = values.find(far);
  if (found === undefined) return "";
  const [low, high] = [Math.min(...earlier), Math.max(...earlier)];
  const others = low === high ? short(low) : `from ${short(low)} to ${short(high)}`;
  const which = alone ? `of ${quoted(arm)}` : "of this site";
  const before = `the ${earlier.length} ${which} before it ${earlier.length === 1 ? "is" : "are"} ${others}`;
  return (
    `the reward for ${quoted(arm)} is ${short(found)}, and ${before}; it was not taken. ` +
    "If the notebook says so too, say that you are sure."
  );
}
