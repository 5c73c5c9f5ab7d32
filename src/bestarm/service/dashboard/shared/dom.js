// Elements from values. Text goes in as text: nothing here, or anywhere in these files, parses markup.

/** A new element: properties where it has them, attributes otherwise; children are nodes or text. */
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in element) element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

/** The element that a page calls by this name. */
export const part = (root, name) => root.querySelector(`[data-part="${name}"]`);

/** Change text only where it differs, so that a selection or a screen reader is left alone. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Put a page into the content, from its template. */
export function show(name) {
  const content = part(document, "content");
  content.replaceChildren(document.getElementById(name).content.cloneNode(true));
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
