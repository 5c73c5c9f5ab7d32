// A new study: the options, and all else folded away. The server checks, and says about how many
// experiments to expect, before anything is made.

import { read, send } from "../shared/api.js";
import { make, part, say, show } from "../shared/dom.js";
import { field, refusal, typed } from "./dialog.js";

const WAIT = 700; // ms after the last change, before an estimate is asked for
const MORE = [
  { name: "goal", label: "What is better", options: [["highest", "higher results"], ["lowest", "lower results"]] },
  { name: "rewards", label: "Results are", options: [["normal", "numbers"], ["yes-no", "yes or no (1 or 0)"], ["bounded", "numbers between two ends"]] },
  { name: "reward_range", label: "Lowest and highest possible result", help: "For instance 0 to 100. What lies outside is refused as a typing mistake." },
  { name: "unit", label: "Unit" },
  { name: "control", label: "Control", help: "One of the options: differences are shown against it." },
  { name: "agents", label: "Sites that will take part", type: "number", help: "About; more or fewer may come." },
  { name: "budget", label: "Budget", type: "number", help: "Experiments of all sites together; then the study closes with what can be said." },
  { name: "deadline", label: "Deadline", type: "date" },
  { name: "delta", label: "How often the answer may be wrong", type: "number", help: "0.05 if left empty: once in twenty studies." },
  { name: "epsilon", label: "Difference that does not matter", type: "number", help: "An option that close to the best is good enough." },
  { name: "sigma", label: "How much single results scatter", type: "number", help: "Only if known for sure; else it is measured." },
  { name: "sites", label: "Sites", options: [["differ", "may differ"], ["alike", "are alike, all the time"]] },
  { name: "items", label: "Substrates, documents, patients", options: [["", "one trial each"], ["yes", "tried with several options each"]] },
];
const USUAL = { goal: "highest", rewards: "normal", sites: "differ" };
const RANGE = /^\s*(-?[\d.,]*\d)(?:\s*(?:[a-z]+|[–,;])\s*|\s+|\s*-\s*)(-?[\d.,]*\d)\s*$/i;
const GROUPED = /,\d{3}(?!\d)/; // 1,000 may be 1 or a thousand
const NUMBERS = ["budget", "delta", "epsilon", "sigma"];

/** What the server is asked for, from what was typed. */
export function asked(said) {
  const problem = { name: said.name, arm: said.arms.split("\n").map((name) => name.trim()).filter(Boolean).map((name) => ({ name })) };
  if (said.reward_range) problem.rewards = said.rewards; // which a range alone would change
  for (const [key, value] of Object.entries(said)) {
    if (["name", "arms", "agents"].includes(key) || !value || USUAL[key] === value) continue;
    if (key === "reward_range") problem[key] = (GROUPED.test(value) ? null : RANGE.exec(value))?.slice(1).map((end) => Number(end.replace(",", "."))) ?? value;
    else problem[key] = NUMBERS.includes(key) ? Number(value) : key === "items" || value;
  }
  return { problem, ...(said.agents ? { agents: Number(said.agents) } : {}) };
}

/** Show the form until the signal says stop. */
export function createPage(signal) {
  const page = show("create");
  document.title = "New study – bestarm";
  const form = part(page, "form");
  part(page, "first").append(
    field({ name: "name", label: "Name of the study", required: true, help: "Letters, digits, dots and dashes, such as ligands-2027." }),
    field({ name: "arms", label: "Options, one on each line", type: "lines", required: true, help: "What is to be compared: at least two." }),
  );
  part(page, "more").append(...MORE.map(field));
  const error = part(page, "error");
  let timer = 0;
  let asking = new AbortController();
  const estimate = async () => {
    asking.abort();
    asking = new AbortController();
    const said = typed(form);
    const body = asked({ ...said, name: said.name || "study" });
    const box = part(page, "expected");
    const few = body.problem.arm.length < 2;
    say(error, "");
    box.replaceChildren(...(few ? [] : [make("p", { className: "soft" }, "Working it out…")]));
    if (few) return;
    try {
      const found = await read("v1/estimate", { method: "POST", body, signal: AbortSignal.any([asking.signal, signal]) });
      const late = found.late ? [make("li", { className: "soft" }, "Narrower gaps take longer than can be simulated here.")] : [];
      box.replaceChildren(make("ul", {}, ...found.rows.map((row) => make("li", {}, row.sentence)), ...late));
    } catch (failure) {
      if (failure.name === "AbortError") return;
      box.replaceChildren();
      if (failure.status && said.name) say(error, failure.message);
    }
  };
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(estimate, WAIT);
  });
  signal.addEventListener("abort", () => clearTimeout(timer));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    clearTimeout(timer);
    asking.abort();
    const button = part(page, "make");
    button.disabled = true;
    say(error, "");
    try {
      const { study } = await send("POST", "v1/studies", asked(typed(form)));
      location.hash = `#/studies/${encodeURIComponent(study)}`;
    } catch (failure) {
      say(error, refusal(failure));
      button.disabled = false;
    }
  });
  form.querySelector("input").focus();
}
