// What is asked before something is done at the bench, and then it is done.

import { counted } from "../shared/words.js";
import { make } from "../shared/dom.js";
import { openTrials, SiteError } from "./agent.js";
import { question } from "./dialog.js";
import { measurements } from "./rewards.js";
import { Doubtful, MOST_PLATES } from "./site.js";

const SIZES = [24, 48, 96, 384];
const HARMLESS = "This is harmless for a reason that has nothing to do with the results, and never because of what came out.";
const field = (id, properties) => make("input", { id, autocomplete: "off", ...properties });
const label = (id, text) => make("label", { htmlFor: id }, text);

export async function failed(site, trial) {
  const text = `Trial ${trial} could not be measured, and its place is done again as another trial. ${HARMLESS}`;
  if (await question(text, "It failed")) await site.giveBack(trial);
}

export async function leave(site) {
  const open = counted(openTrials(site.now).length, "open trial");
  const text = `What was told is sent now, although the plate is not full, and ${open} can’t be told any more. ${HARMLESS}`;
  if (!(await question(text, "Send it now"))) return;
  if (!(await site.leave())) throw new SiteError("There was nothing to send.");
}

export async function cannot(site) {
  const { terms, said } = site.now;
  const named = (arm) => (said.cannot.includes(arm) ? `${arm}: it can be done again` : arm);
  const which = make("select", { id: "arm" }, ...terms.arms.map((arm) => make("option", { value: arm }, named(arm))));
  const why = field("why", { maxLength: 500 });
  const text = `Open trials of it are given back, and what was told of it stays. ${HARMLESS}`;
  const fields = [label("arm", "What can’t be done here from now on"), which, label("why", "Why; it is kept in this browser"), why];
  if (!(await question(text, "So it is", fields))) return;
  if (said.cannot.includes(which.value)) await site.canAgain(which.value);
  else await site.cannot(which.value, why.value);
}

/** Fields for how large plates are and how many at once, and what they say: two numbers. */
export function sizes(site) {
  const { plate } = site.now.said;
  const one = field("plate", { type: "number", min: 1, required: true, value: plate ?? SIZES[0] });
  const several = field("plates", { type: "number", min: 1, max: MOST_PLATES, required: true, value: site.plates });
  const pick = (size) => make("button", { type: "button", onclick: () => (one.value = size) }, String(size));
  const size = make("span", {}, label("plate", "Trials that fit on one plate"), one, ...SIZES.map(pick));
  const fields = [size, make("span", {}, label("plates", "Plates at once"), several)];
  return { fields, chosen: () => [Number(one.value), Number(several.value)] };
}

export async function plates(site) {
  const { fields, chosen } = sizes(site);
  const text = "It holds from the next plan on. Each plate is sent when it is full, in any order.";
  if (await question(text, "Keep", fields)) await site.plate(...chosen());
}

export async function correct(site, trial, arm, text = "Correct what was written down wrongly, never what you do not like.", values = "", why = "", sure = false) {
  const right = field("right", { inputMode: "decimal", value: values });
  const reason = field("reason", { maxLength: 500, value: why });
  const fields = [label("right", `Trial ${trial}, ${arm}: what was measured`), right];
  fields.push(label("reason", "What was wrong; it stays in the study’s log"), reason);
  if (!(await question(text, sure ? "I am sure" : "Correct", fields))) return;
  try {
    await site.correct(trial, measurements([right.value]), reason.value, sure && right.value === values);
  } catch (error) {
    if (!(error instanceof SiteError)) throw error;
    await correct(site, trial, arm, error.message, right.value, reason.value, error instanceof Doubtful);
  }
}
