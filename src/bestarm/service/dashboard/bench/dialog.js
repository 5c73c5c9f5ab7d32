// One question, asked once.

import { make } from "../shared/dom.js";

/** Whether it was meant so; the fields stand between the question and its buttons. */
export function question(text, yes, fields = []) {
  return new Promise((resolve) => {
    const buttons = make("p", { className: "buttons" }, make("button", { value: "yes", className: "main" }, yes), make("button", {}, "Cancel"));
    const box = make("dialog", { className: "card question" }, make("form", { method: "dialog" }, make("p", {}, text), ...fields, buttons));
    box.setAttribute("aria-label", text);
    box.addEventListener("close", () => {
      box.remove();
      resolve(box.returnValue === "yes");
    });
    document.body.append(box);
    box.showModal();
  });
}
