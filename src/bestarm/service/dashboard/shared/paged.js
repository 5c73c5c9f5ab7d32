// A table of which one page is drawn: a thousand rows cost no more than thirty.

import { make, say } from "./dom.js";
import { count } from "./words.js";

/**
 * `create(key)` makes a row, `fill(row, item)` writes an item into it, `key(item)` tells items apart. Rows are
 * kept from one drawing to the next, so that the place of the keyboard and a selection stay where they are.
 */
export class Paged {
  constructor({ body, pager, search, key, create, fill, size = 25, empty, none }) {
    Object.assign(this, { body, pager, search, key, create, fill, size, empty, none });
    this.items = [];
    this.page = 0;
    this.rows = new Map();
    search.addEventListener("input", () => this.turn(0));
    this.back = make("button", { type: "button", "aria-label": "Previous page" }, "‹");
    this.forth = make("button", { type: "button", "aria-label": "Next page" }, "›");
    this.where = make("span", { className: "soft", "aria-live": "polite" });
    this.back.addEventListener("click", () => this.turn(this.page - 1));
    this.forth.addEventListener("click", () => this.turn(this.page + 1));
    pager.append(this.where, this.back, this.forth);
  }

  /** Show these items, in this order. */
  show(items) {
    this.items = items;
    this.draw();
  }

  turn(page) {
    this.page = page;
    this.draw();
  }

  /** The items that the search leaves. */
  get found() {
    const wanted = this.search.value.trim().toLowerCase();
    return wanted ? this.items.filter((item) => this.key(item).toLowerCase().includes(wanted)) : this.items;
  }

  draw() {
    const { found, size } = this;
    const last = Math.max(Math.ceil(found.length / size) - 1, 0);
    this.page = Math.min(Math.max(this.page, 0), last);
    const first = this.page * size;
    const items = found.slice(first, first + size);
    const rows = new Map(items.map((item) => [this.key(item), this.rows.get(this.key(item)) ?? this.create(item)]));
    for (const item of items) this.fill(rows.get(this.key(item)), item);
    this.place([...rows.values()]);
    this.rows = rows;
    this.pager.hidden = found.length <= size;
    this.back.disabled = this.page === 0;
    this.forth.disabled = this.page === last;
    say(this.where, `${count(first + 1)} to ${count(first + items.length)} of ${count(found.length)}`);
    this.search.closest("label").hidden = this.items.length <= 10 && !this.search.value;
    this.empty.hidden = found.length > 0;
    say(this.empty, this.items.length ? "Nothing is called like that." : this.none);
  }

  /** Put rows in order, and touch only those that are not in their place. */
  place(rows) {
    const wanted = new Set(rows);
    for (const row of [...this.body.children]) if (!wanted.has(row)) row.remove();
    let next = this.body.firstElementChild;
    for (const row of rows) {
      if (row === next) next = next.nextElementSibling;
      else this.body.insertBefore(row, next);
    }
  }
}

/** A cell that says what it is where the table has no room for columns. */
export function cell(label, className = "", ...children) {
  const made = make("td", { className, role: "cell" }, ...children);
  if (label) made.dataset.label = label;
  return made;
}
