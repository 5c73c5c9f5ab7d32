// Numbers, times and amounts in words. Pure functions.

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

/** A count: 12,345. */
export const count = (n) => whole.format(n);

/** A count with its noun: "1 upload", "12 uploads". */
export const counted = (n, noun) => `${count(n)} ${noun}${n === 1 ? "" : "s"}`;

/** Two leading digits are all that an estimate deserves: 437 → 440. */
export function rough(n) {
  if (n < 10) return Math.ceil(n);
  const unit = 10 ** (Math.floor(Math.log10(n)) - 1);
  return Math.round(n / unit) * unit;
}

/** "about 400 to 900 more". */
export function more({ low, high }) {
  const [from, to] = [rough(low), rough(high)];
  return from === to ? `about ${count(to)} more` : `about ${count(from)} to ${count(to)} more`;
}

/** A name inside a sentence: not too long, and kept from turning the sentence's direction. */
export function named(name, most = 60) {
  const letters = [...name];
  const text = letters.length > most ? `${letters.slice(0, most - 1).join("")}…` : name;
  return `\u2068${text}\u2069`;
}

const UNITS = [["second", 1], ["minute", 60], ["hour", 3600], ["day", 86400], ["week", 604800], ["year", 31557600]];

/** The largest unit that fits at least one and a half times (days: twice). */
function unit(seconds) {
  let found = UNITS[0];
  for (const next of UNITS) if (seconds >= next[1] * 1.5) found = next;
  return found;
}

/** A length of time: "12 seconds", "3 hours". */
export function duration(seconds) {
  const [name, size] = unit(seconds);
  return counted(Math.max(Math.round(seconds / size), 0), name);
}

/** Two lengths of time, if possible in one unit: "2 to 5 hours", "13 minutes to 2 days". */
export function durations(low, high) {
  const [name, size] = unit(high);
  const from = Math.round(low / size);
  const to = Math.max(Math.round(high / size), 1);
  if (from < 1 && size > 1) return `${duration(Math.max(low, 1))} to ${counted(to, name)}`;
  return from === to ? `about ${counted(to, name)}` : `${count(Math.max(from, 1))} to ${counted(to, name)}`;
}

/** How long ago: "just now", "3 minutes ago". */
export const ago = (seconds) => (seconds < 2 ? "just now" : `${duration(seconds)} ago`);

/** An amount of data: "1.2 kB". */
export function bytes(n) {
  if (n < 1000) return `${count(n)} B`;
  const power = Math.min(Math.floor(Math.log10(n) / 3), 4);
  const value = n / 1000 ** power;
  return `${value.toFixed(value < 10 ? 1 : 0)} ${["", "kB", "MB", "GB", "TB"][power]}`;
}

/** Whole percents, as the server rounds them: 100 % only for all, 0 % only for nothing. */
export function percent(share) {
  if (share >= 1) return "100 %";
  const rounded = Math.floor(100 * Math.max(share, 0) + 0.5);
  return !rounded && share > 0 ? "under 1 %" : `${Math.min(rounded, 99)} %`;
}

/** How many decimals a value with this uncertainty deserves: two digits of it. */
export function decimals(uncertainty) {
  if (!(uncertainty > 0)) return 3;
  return Math.min(Math.max(1 - Math.floor(Math.log10(uncertainty)), 0), 12);
}

/** A number with so many decimals, and a proper minus. */
export const fixed = (value, places) => value.toFixed(places).replace("-", "−");

/** An end of an interval: a small one keeps a digit, since 0 would say something else. */
export const end = (value, places) => fixed(value, Math.max(places, value && decimals(10 * Math.abs(value))));

/** About four digits, whatever the size. */
export function digits(value) {
  if (value === null || value === undefined) return "–";
  if (value !== 0 && (Math.abs(value) >= 1e6 || Math.abs(value) < 1e-4)) {
    return value.toExponential(2).replace("-", "−");
  }
  return fixed(value, Math.abs(value) >= 100 ? 1 : Math.abs(value) >= 10 ? 2 : 3);
}
