// Elements from values. Text goes in as text: nothing in these files parses markup.

// What does not show, or shows others otherwise, as `names.py` has it.
const HIDDEN =
  /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u2800\u3164\uffa0\ufdd0-\ufdef\ufe00-\ufe0f\ufff0-\ufff8\ufffe\uffff\u{16fe4}\u{1d159}\u{e0000}-\u{e0fff}]/gu;

/** A name as it can be seen: what can't be is escaped. */
export const visible = (name) =>
  name.replace(HIDDEN, (found) => `\\u${found.codePointAt(0).toString(16).padStart(4, "0")}`);

/** A new element: properties where it has them, else attributes; children are nodes or text. A bdi is a name. */
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in element) element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...(tag === "bdi" ? children.map(visible) : children));
  return element;
}

/** The element that a page calls by this name. */
export const part = (root, name) => root.querySelector(`[data-part="${name}"]`);

/** Change text only where it differs, so that a selection or a screen reader is left alone. */
export function say(element, given) {
  const text = element.tagName === "BDI" ? visible(given) : given;
  if (element.textContent !== text) element.textContent = text;
}

// Tables stay tables where the style makes blocks of them.
const ROLES = { TABLE: "table", THEAD: "rowgroup", TBODY: "rowgroup", TR: "row", TH: "columnheader" };

/** Put a page into the content, from its template. */
export function show(name) {
  const content = part(document, "content");
  content.replaceChildren(document.getElementById(name).content.cloneNode(true));
  for (const one of content.querySelectorAll(Object.keys(ROLES))) one.setAttribute("role", ROLES[one.tagName]);
  return content;
}

/** Tell a screen reader, without moving anything. */
export const announce = (text) => say(part(document, "announce"), text);

/** A date that a machine can read too. */
export function moment(element, text, iso) {
  say(element, text);
  if (element.dateTime !== iso) {
    element.dateTime = iso;
    element.title = new Date(iso).toLocaleString("en-GB");
  }
}
