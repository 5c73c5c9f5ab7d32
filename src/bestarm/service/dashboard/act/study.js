// What an administrator does to a study. Each asks once, and stands in the log with who did it.

import { at, send } from "../shared/api.js";
import { announce, make, part } from "../shared/dom.js";
import { named } from "../shared/words.js";
import { ask } from "./dialog.js";
import { invite, tokens } from "./invite.js";

const WHY = { name: "reason", label: "Why", help: "It stands in the log, and may be left out." };
const OUTSIDE = { ...WHY, required: true, help: "Anything but its results: an arm that does badly is ruled out by itself." };

/** The buttons of a study, for an administrator; `changed` is told when something was done. */
export function acts(page, watch, changed) {
  const study = () => watch.status.study;
  const post = async (rest, body = {}) => {
    const answer = await send("POST", at(study(), rest), body);
    announce(answer.sentence ?? "Done.");
    changed();
    return answer;
  };
  const once = () => ({ id: crypto.getRandomValues(new Uint32Array(3)).join("-") }); // a second click changes nothing
  const list = {
    "Add an arm": () => {
      const id = once();
      const fields = [{ name: "arm", label: "Name of the arm", required: true }, WHY];
      return ask({ title: "Add an arm", fields, yes: "Add it", act: (said) => post("/arms", { ...said, ...id }) });
    },
    "Withdraw an arm": () => {
      const id = once();
      const options = watch.status.arms.map(({ arm }) => [arm, arm]);
      const fields = [{ name: "arm", label: "Arm", options }, OUTSIDE];
      const text = "It is taken out as if it had never been there, for good.";
      return ask({ title: "Withdraw an arm", text, fields, yes: "Withdraw it", danger: true, act: (said) => post("/arms/withdraw", { ...said, ...id }) });
    },
    "Close the study": () => {
      const text = `No site can join or send any more. What can be said is said: ${watch.status.answers.stopping_now}`;
      return ask({ title: `Close ${named(study())}`, text, fields: [WHY], yes: "Close it", danger: true, act: (said) => post("/close", said) });
    },
    "Open it again": () =>
      ask({ title: `Open ${named(study())} again`, fields: [WHY], yes: "Open it", act: (said) => post("/reopen", said) }),
    Rename: () => {
      const fields = [{ name: "name", label: "New name", value: study(), required: true }];
      const text = "Sites, tokens and links go on under the old name too.";
      const act = async (said) => {
        const { study: name } = await post("/rename", said);
        location.hash = `#/studies/${encodeURIComponent(name)}`;
      };
      return ask({ title: "Rename the study", text, fields, yes: "Rename it", act });
    },
    Archive: () =>
      ask({ title: `Archive ${named(study())}`, text: "Lists leave it out; all else goes on.", yes: "Archive it", act: () => post("/archive") }),
    "Take it out of the archive": () =>
      ask({ title: `Show ${named(study())} in lists again`, yes: "Show it", act: () => post("/unarchive") }),
    "Tokens…": () => tokens(study()),
  };
  const menu = part(page, "menu");
  const summary = menu.querySelector("summary");
  const shut = () => {
    menu.open = false;
    summary.focus();
  };
  const buttons = Object.entries(list).map(([label, act]) => {
    const button = make("button", { type: "button" }, label);
    button.addEventListener("click", () => {
      shut();
      act();
    });
    return [label, button];
  });
  part(page, "menu-list").append(...buttons.map(([, button]) => button));
  menu.addEventListener("keydown", (event) => event.key === "Escape" && menu.open && shut());
  menu.addEventListener("focusout", ({ relatedTarget }) => relatedTarget && !menu.contains(relatedTarget) && (menu.open = false));
  part(page, "invite").addEventListener("click", () => invite(study(), changed));
  /** Show what can be done as the study stands. */
  return ({ state, archived, end }) => {
    const open = state === "open";
    const can = {
      "Add an arm": open,
      "Withdraw an arm": open,
      "Close the study": state !== "closed",
      "Open it again": state === "closed" && end?.reason === "closed",
      Archive: !archived,
      "Take it out of the archive": archived,
    };
    for (const [label, button] of buttons) button.hidden = can[label] === false;
    part(page, "invite").hidden = state === "closed";
    part(page, "acts").hidden = false; // not before it is known how the study stands
  };
}
