// A site's own list of items, drawn in a random order that its journal keeps; as `client/items.py`.

import { SiteError } from "./agent.js";
import { chance } from "./journal.js";
import { quoted } from "./rewards.js";

export const MOST = 1_000_000;

/** The names in a text with one on each line. */
export function checked(text) {
  const labels = text.split(/\r?\n/).map((line) => line.trim()).filter(Boolean);
  if (labels.length > MOST) throw new SiteError(`items has more than ${MOST} names.`);
  const seen = new Set();
  for (const label of labels) {
    if (seen.has(label)) throw new SiteError(`items has ${quoted(label)} twice; each item must have a name of its own.`);
    seen.add(label);
  }
  return labels;
}

/** Which item a number stands for: each once in every pass, each pass in another order. */
export class Items {
  #turn = 0;
  #order = [];

  constructor(labels, seed) {
    Object.assign(this, { labels, seed });
  }

  /** The item's own name; without a list, its number. */
  label(number) {
    const { labels, seed } = this;
    if (!labels.length || !number) return number;
    const turn = this.passes(number);
    if (this.#turn !== turn) {
      const order = [...labels];
      for (let k = order.length - 1; k > 0; k -= 1) {
        const other = Math.floor(chance(`${seed}/items/${turn}/${k}`) * (k + 1));
        [order[k], order[other]] = [order[other], order[k]];
      }
      [this.#turn, this.#order] = [turn, order];
    }
    return this.#order[(number - 1) % labels.length];
  }

  /** In which pass through the list an item's number is. */
  passes(number) {
    return this.labels.length ? 1 + Math.floor((number - 1) / this.labels.length) : 1;
  }

  /** What it means that the list is used up. */
  again() {
    return (
      `all ${this.labels.length} items were tried; from now on they come again, in another order. As long ` +
      "as items are new, the answer is about all items that yours are drawn from; with items that come " +
      "again it is about those on your list."
    );
  }
}
