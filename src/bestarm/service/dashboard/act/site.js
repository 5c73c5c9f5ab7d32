// One site: what it is asked to do and its last batches; an administrator can correct one.

import { at, read, send } from "../shared/api.js";
import { announce, make } from "../shared/dom.js";
import { ago, count, counted } from "../shared/words.js";
import { ask, tell } from "./dialog.js";

const MOST = 12; // arms of a plan

/** Show a site; `now` is the server's clock, `act` whether the reader may correct. */
export async function siteDialog(study, agent, now, act, changed) {
  const box = make("div", {});
  const closed = tell(agent, [box]);
  const draw = async () => {
    const site = await read(at(study, `/sites/${encodeURIComponent(agent)}`));
    const correct = act && site.by_hand ? (batch) => correction(study, site, batch, draw, changed) : null;
    box.replaceChildren(...content(site, now, correct));
  };
  await draw().catch((error) => box.replaceChildren(make("p", { className: "error" }, error.message)));
  await closed;
}

function content(site, now, correct) {
  const since = site.asked_at ? `, since ${ago((now - Date.parse(site.asked_at)) / 1000)}` : "";
  const plan = site.plan.slice(0, MOST).map(([arm, times]) => `${count(times)} × ${arm}`).join(", ");
  const more = site.plan.length > MOST ? ` and ${count(site.plan.length - MOST)} more arms` : "";
  const asked = make("p", {}, make("strong", {}, "Asked to do: "), site.asked, since, plan ? `: ${plan}${more}.` : ".");
  if (!site.batches.length) return [asked, make("p", { className: "soft" }, "It has sent nothing yet.")];
  const rows = site.batches.map((batch) => {
    const means = Object.entries(batch.counts).slice(0, MOST).map(([arm, [pulls, sum]]) => `${arm} ${Number((sum / pulls).toPrecision(3))}`);
    const cells = [make("th", { scope: "row" }, `Batch ${batch.sequence}`), make("td", {}, counted(batch.samples, "trial")), make("td", { className: "soft" }, means.join(", "))];
    const last = make("td", {}, batch.corrected ? make("span", { className: "tag" }, "Corrected") : "");
    if (correct) {
      const onclick = () => correct(batch);
      last.append(" ", make("button", { type: "button", onclick, "aria-label": `Correct batch ${batch.sequence}` }, "Correct…"));
    }
    return make("tr", {}, ...cells, last);
  });
  return [asked, make("table", { className: "batches" }, make("caption", { className: "soft" }, "Its last batches, with the mean of each arm"), make("tbody", {}, ...rows))];
}

/** What a whole batch should have said: a row for each arm, filled with what it said. */
async function correction(study, site, batch, draw, changed) {
  const heads = ["Trials", "Sum", ...(site.squares ? ["Sum of squares"] : [])];
  const inputs = Object.entries(batch.counts).map(([arm, row]) => [
    arm,
    heads.map((head, k) => make("input", { type: "number", step: k ? "any" : "1", min: k ? "" : "0", required: true, value: row[k], "aria-label": `${head} of ${arm}` })),
  ]);
  const table = make(
    "table",
    { className: "batches" },
    make("thead", {}, make("tr", {}, make("td", {}), ...heads.map((head) => make("th", { scope: "col" }, head)))),
    make("tbody", {}, ...inputs.map(([arm, cells]) => make("tr", {}, make("th", { scope: "row" }, arm), ...cells.map((cell) => make("td", {}, cell))))),
  );
  const id = crypto.getRandomValues(new Uint32Array(3)).join("-");
  const done = await ask({
    title: `Correct batch ${batch.sequence} of ${site.agent}`,
    text: "The log is read again with the right numbers; what was sent stays in it. An arm with 0 trials is left out.",
    extra: [table],
    fields: [{ name: "reason", label: "Why", help: "It stands in the log, and may be left out." }],
    yes: "Correct it",
    act: ({ reason }) => {
      const rows = inputs.map(([arm, cells]) => [arm, cells.map((cell) => Number(cell.value))]).filter(([, row]) => row[0] !== 0);
      return send("POST", at(study, "/corrections"), { agent: site.agent, sequence: batch.sequence, counts: Object.fromEntries(rows), reason, id });
    },
  });
  if (!done) return;
  announce(done.sentence);
  changed();
  await draw();
}
