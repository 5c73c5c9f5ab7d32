// A dialog that asks once. A refusal is said inside it, so that nothing typed is lost.

import { make, say } from "../shared/dom.js";

let number = 0;

/** A field with its label: `{ name, label, value, type, help, options, required }`. */
export function field({ name, label, value = "", type = "text", help = "", options, required = false }) {
  const id = `field-${(number += 1)}`;
  const shared = { id, name, required };
  let input;
  if (options) {
    input = make("select", shared, ...options.map(([key, text]) => make("option", { value: key, selected: key === value }, text)));
  } else if (type === "lines") {
    input = make("textarea", { ...shared, rows: 5, value, spellcheck: false });
  } else {
    input = make("input", { ...shared, type, value, autocomplete: "off", spellcheck: false, step: "any" });
  }
  const parts = [make("label", { htmlFor: id }, label), input];
  if (help) {
    parts.push(make("span", { className: "soft", id: `${id}-help` }, help));
    input.setAttribute("aria-describedby", `${id}-help`);
  }
  return make("div", { className: "field" }, ...parts);
}

/** What was typed, by name. */
export const typed = (form) => Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, value.trim()]));

/** Open a dialog with a title and some content; resolves when it is closed. */
function open(title, ...content) {
  const id = `dialog-${(number += 1)}`;
  const box = make("dialog", { className: "card act" }, make("h2", { id }, title), ...content);
  box.setAttribute("aria-labelledby", id);
  document.body.append(box);
  const closed = new Promise((done) => {
    box.addEventListener("close", () => {
      box.remove();
      done();
    });
  });
  window.addEventListener("hashchange", () => box.close(), { once: true });
  box.showModal();
  return { box, closed };
}

/** A dialog that only says something, with a button that closes it. */
export function tell(title, content, label = "Close", className = "") {
  const close = make("button", { type: "button", className, onclick: () => box.close() }, label);
  const { box, closed } = open(title, ...content, make("p", { className: "buttons" }, close));
  return closed;
}

/** What is said of something that did not work. */
export const refusal = (failure) => (failure.status ? failure.message : "The server can't be reached; nothing is known to have changed.");

/** Ask once. `act(values)` does it; its result is returned, and null if it was not wanted. */
export async function ask({ title, text = "", fields = [], extra = [], yes, danger = false, act }) {
  const error = make("p", { className: "error", role: "alert" });
  const cancel = make("button", { type: "button", onclick: () => box.close() }, "Cancel");
  const submit = make("button", { type: "submit", className: danger ? "main danger" : "main" }, yes);
  const form = make("form", {}, ...(text ? [make("p", {}, text)] : []), ...extra, ...fields.map(field), error);
  form.append(make("p", { className: "buttons" }, submit, cancel));
  let result = null;
  const { box, closed } = open(title, form);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (submit.disabled) return;
    submit.disabled = true;
    say(error, "");
    try {
      result = (await act(typed(form), form)) ?? true;
      box.close();
    } catch (failure) {
      say(error, refusal(failure));
    } finally {
      submit.disabled = false;
    }
  });
  await closed;
  return result;
}
