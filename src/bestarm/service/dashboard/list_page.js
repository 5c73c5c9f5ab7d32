// All studies that the token may see.

import { read, Refusal } from "./shared/api.js";
import { make, moment, part, say, show } from "./shared/dom.js";
import { pill } from "./study/glance.js";
import * as notice from "./shared/notice.js";
import { cell, Paged } from "./shared/paged.js";
import { sparkline } from "./shared/sparkline.js";
import { rest } from "./shared/stream.js";
import { ago, count, percent } from "./shared/words.js";

const EVERY = 5_000; // ms between two looks

/** Show the list, and keep it up to date until the signal says stop. */
export async function listPage(refused, signal, admin) {
  const page = show("list");
  part(page, "new").hidden = !admin;
  part(page, "archived-label").hidden = !admin;
  const archived = part(page, "archived");
  document.title = "bestarm";
  let now = 0; // by the server's clock
  const table = new Paged({
    body: part(page, "rows"),
    pager: part(page, "pager"),
    search: part(page, "search"),
    empty: part(page, "empty"),
    none: admin ? "There are no studies yet: begin with “New study”." : "There are no studies yet.",
    size: 50,
    key: (study) => study.study,
    create: row,
    fill: (element, study) => fill(element, study, now),
  });
  let look = () => undefined;
  archived.addEventListener("change", () => look());
  for (let failures = 0; !signal.aborted; ) {
    let took = 0;
    try {
      const began = Date.now();
      const { studies, time } = await read(`v1/studies${archived.checked ? "?archived=true" : ""}`, { signal });
      took = Date.now() - began;
      failures = 0;
      now = Date.parse(time);
      table.show(studies.sort(newest));
      notice.clear();
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Refusal && error.lasting) return refused(error);
      failures += 1;
    }
    const wait = Math.max(EVERY * Math.min(2 ** failures, 8), 4 * took);
    const early = new Promise((done) => {
      if (failures) notice.connection({ state: "lost", since: Date.now(), until: Date.now() + wait }, done);
    });
    const asked = new Promise((done) => (look = done));
    await Promise.race([rest(wait, signal), early, asked]);
  }
}

/** Open studies first, the newest of them at the top. */
const newest = (a, b) => (b.state === "open") - (a.state === "open") || b.created_at.localeCompare(a.created_at);

function row(study) {
  const link = make("a", { href: `#/studies/${encodeURIComponent(study.study)}` }, study.study);
  const parts = {
    state: make("span", { className: "pill" }),
    leader: make("bdi"),
    percent: make("span"),
    line: sparkline(),
    samples: make("span"),
    last: make("time"),
  };
  const element = make(
    "tr",
    { role: "row" },
    make("th", { scope: "row", role: "rowheader" }, link, make("span", { className: "soft" }, ` ${study.method}`)),
    cell("", "", parts.state),
    cell("In the lead", "", parts.leader),
    cell("Evidence", "trend", parts.line, parts.percent),
    cell("Samples", "number", parts.samples),
    cell("Last upload", "number", parts.last),
  );
  element.parts = parts;
  return element;
}

function fill(element, study, now) {
  const { state, leader, percent: share, line, samples, last } = element.parts;
  const { verdict } = study;
  pill(state, study);
  say(leader, study.samples ? verdict.leader : "–");
  leader.className = verdict.stopped ? "won" : "";
  say(share, percent(verdict.stopped ? 1 : Math.min(verdict.evidence, 0.999)));
  line.draw(study.trend);
  say(samples, count(study.samples));
  if (study.last_upload) moment(last, ago((now - Date.parse(study.last_upload)) / 1000), study.last_upload);
  else say(last, "–");
}
