// The bench: what to do next as a table, with a field for each reward. What is typed is in the journal first.

import { read, Refusal } from "../shared/api.js";
import { announce, make, part, say, show } from "../shared/dom.js";
import * as session from "../shared/session.js";
import { save } from "../study/download.js";
import { openTrials, SiteError, toHandOut } from "./agent.js";
import { question } from "./dialog.js";
import { Journal, journals, nameOf, OtherTab } from "./journal.js";
import { plateOf, worksheet } from "./plate.js";
import { countsAs, measurements } from "./rewards.js";
import { readSheet, toCsv, toXlsx } from "./sheets.js";
import { COLUMNS, Doubtful, Site } from "./site.js";
import { wire } from "./wire.js";

const SIZES = [24, 48, 96, 384];
const SHOWN = 100; // lines of what was told
const PAUSES = [1, 2, 5, 15, 30, 60]; // seconds between tries
const HARMLESS = "This is harmless for a reason that has nothing to do with the results, and never because of what came out.";
const count = (n, what) => `${n.toLocaleString("en-GB")} ${what}${n === 1 ? "" : "s"}`;
const cells = (...all) => all.map((one) => make("td", {}, one ?? ""));

/** Whose bench it is; without a network, whose it was last. */
async function identify() {
  try {
    const { role, study, agent } = await read("v1/token");
    if (role !== "agent") throw new Refusal("A bench is for a site's token.", 403);
    session.keepBench({ token: session.token(), study, agent });
  } catch (error) {
    if (error instanceof Refusal && error.lasting) throw error;
    if (session.bench()?.token !== session.token()) throw new Refusal("The server can't be reached.", 0);
  }
  return session.bench();
}

/** The name under which this browser has the study's journal: that which the study had then. */
async function knownAs({ study, agent }) {
  const others = (await journals()).filter(([name, who]) => who === agent && name !== study);
  for (const [name] of others) {
    const found = await read(`v1/studies/${name}`).catch(() => null);
    if (found?.study === study) return name;
  }
  return study;
}

/** Resolves once this tab is the only one at the bench; where browsers have no locks, the journal sees to it. */
function alone(name, signal, wait) {
  if (!navigator.locks) return Promise.resolve();
  return new Promise((resolve) => {
    const held = () => {
      resolve();
      return new Promise((free) => signal.addEventListener("abort", free));
    };
    navigator.locks.request(name, { ifAvailable: true }, (lock) => {
      if (lock) return held();
      wait();
      navigator.locks.request(name, { signal }, held).catch(() => undefined);
      return undefined;
    });
  });
}

/** Keep this page's files, so that it opens without a network. */
async function keepPage() {
  if (!navigator.serviceWorker) return;
  await navigator.serviceWorker.register("worker.js");
  const { active } = await navigator.serviceWorker.ready;
  const files = performance.getEntriesByType("resource").map(({ name }) => new URL(name).pathname);
  active.postMessage([...new Set([location.pathname, ...files])].filter((path) => !path.includes("/v1/")));
}

/** The page of a site. */
export async function benchPage(refused, signal) {
  document.title = "Bench · bestarm";
  try {
    const who = await identify();
    const study = await knownAs(who);
    const name = nameOf(study, who.agent);
    await alone(name, signal, () => {
      const text = "Another tab works at this bench. This one takes over when that one is closed.";
      part(document, "content").replaceChildren(make("p", { className: "card", role: "status" }, text));
    });
    if (signal.aborted) return;
    keepPage().catch(() => undefined); // it works without, as long as it stays open
    navigator.storage?.persist?.();
    const journal = await Journal.open(name);
    signal.addEventListener("abort", () => journal.close());
    new Bench(journal, wire(study, who.token), who, signal);
  } catch (error) {
    refused(error);
  }
}

class Bench {
  #rows = new Map(); // trial → its row
  #tries = 0;
  #timer = 0;
  #since = null; // when the server was not there for the first time
  #told = "";

  constructor(journal, line, who, signal) {
    Object.assign(this, { who, signal, page: show("bench") });
    this.site = new Site(journal, line, () => this.show());
    const heard = { signal };
    window.addEventListener("online", () => this.sync(), heard);
    signal.addEventListener("abort", () => clearTimeout(this.#timer));
    const acts = { csv: () => this.save("csv"), xlsx: () => this.save("xlsx"), history: () => this.save("history") };
    Object.assign(acts, { "leave-early": () => this.leave(), cannot: () => this.cannot(), plate: () => this.plate() });
    acts.fill = () => this.part("file").click();
    for (const [name, act] of Object.entries(acts)) this.part(name).addEventListener("click", () => this.act(act));
    this.part("file").addEventListener("change", () => this.act(() => this.fill()));
    this.part("rows").addEventListener("keydown", (event) => this.key(event));
    this.part("rows").addEventListener("paste", (event) => this.paste(event));
    if (!navigator.serviceWorker) say(this.part("reload"), "This address is not https, so leave the page open: it can’t be opened without a network.");
    say(this.part("who"), `${who.agent} in ${who.study}`);
    this.part("study").href = `#/studies/${encodeURIComponent(who.study)}`;
    if (this.site.joined) this.work();
    else this.begin();
  }

  part = (name) => part(this.page, name);

  /** Before the first plan: how large plates are. */
  begin() {
    this.part("begin").append(...this.sizes(SIZES[0]));
    this.part("begin-form").addEventListener("submit", async (event) => {
      event.preventDefault();
      try {
        await this.site.plate(Number(this.page.querySelector("#plate").value));
        await this.site.sync();
        this.work();
      } catch (error) {
        say(this.part("begin-error"), error.message);
      }
    });
  }

  sizes(chosen) {
    const field = make("input", { type: "number", id: "plate", min: 1, required: true, value: chosen });
    const pick = (size) => make("button", { type: "button", onclick: () => (field.value = size) }, String(size));
    return [make("label", { htmlFor: "plate" }, "Trials that fit on one plate"), field, ...SIZES.map(pick)];
  }

  work() {
    this.part("begin-form").remove();
    this.part("work").hidden = false;
    say(this.part("aim"), this.site.now.checks.aim);
    this.show();
    this.sync();
  }

  /** Do something that a person wants, and say in a sentence why it can't be done. */
  async act(work) {
    this.problems();
    try {
      await work();
    } catch (error) {
      if (!(error instanceof SiteError) && !(error instanceof OtherTab)) console.error(error);
      this.problems(error.message);
    }
    this.sync();
  }

  problems(...sentences) {
    this.part("problems").replaceChildren(...sentences.map((text) => make("li", {}, text)));
  }

  /** Send and fetch; while nobody answers, again and again. */
  async sync() {
    clearTimeout(this.#timer);
    try {
      await this.site.sync();
      [this.#tries, this.#since] = [0, null];
    } catch {
      this.#since ??= new Date();
      const pause = PAUSES[Math.min((this.#tries += 1), PAUSES.length) - 1];
      if (!this.signal.aborted) this.#timer = setTimeout(() => this.sync(), 1000 * pause);
    }
    this.show();
  }

  /** Bring what is shown up to date; a field in which somebody types is left alone. */
  show() {
    const { now } = this.site;
    if (!now.checks || this.signal.aborted || this.part("work").hidden) return;
    if (!openTrials(now).length && toHandOut(now) && !now.verdict && !now.closed) this.site.fill().catch(console.error);
    const rows = this.part("rows");
    const trials = plateOf(now);
    const [before, wanted] = [[...rows.children], trials.map((trial) => this.row(trial))];
    this.part("table").hidden = !trials.length;
    if (wanted.length !== before.length || wanted.some((row, k) => row !== before[k])) {
      const typing = rows.contains(document.activeElement) || document.activeElement === document.body;
      rows.replaceChildren(...wanted);
      this.#rows = new Map(wanted.map((row) => [row.trial, row]));
      if (typing) wanted.find(({ told }) => told === null)?.input.focus();
    }
    this.part("well").hidden = !trials.some(({ well }) => well);
    this.part("item").hidden = !now.terms.items;
    const told = trials.filter(({ reward }) => reward !== null).length;
    say(this.part("title"), trials.length ? `Plate ${trials[0].plate}: ${told} of ${trials.length} told` : "No trials now");
    say(this.part("cannots"), now.said.cannot.length ? `Not done here: ${now.said.cannot.join(", ")}.` : "");
    const [text, kind] = this.standing(now);
    this.part("line").className = `card ${kind}`;
    say(this.part("line"), `${text} ${this.site.notice}`.trim());
    this.history();
  }

  standing({ verdict, lastWords, closed, uploads }) {
    if (verdict?.stopped) {
      return [`✓ The study is finished: ${verdict.arm} is best, after ${count(verdict.samples, "sample")}.`, "verdict"];
    }
    if (verdict) return [`The study is over, and the best arm is not known for sure. ${lastWords}`, "verdict"];
    if (closed) return [`No more trials: ${closed}`, "warnings"];
    if (!this.#since) return [uploads.length ? "Sending…" : "● Connected. All that is complete is sent.", ""];
    const rest = uploads.length
      ? "The plate is full and kept here; it is sent as soon as the server can be reached, and the next one comes then."
      : "Go on: what you type is kept in this browser, and sent later.";
    const since = this.#since.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
    return [`▲ Not connected since ${since}: ${this.site.away} ${rest}`, "warnings"];
  }

  /** The row of a trial; it is made once, and then brought up to date. */
  row({ trial, arm, item, well, reward, measured }) {
    const row = this.#rows.get(trial) ?? this.newRow(trial, arm, item, well);
    row.told = reward === null ? null : (measured ?? [reward]).join(" ");
    row.failed.hidden = row.told !== null;
    if (row.told !== null && row.shown !== row.told) {
      row.shown = row.input.value = row.told;
      this.mark(row, "✓ kept");
    }
    return row;
  }

  newRow(trial, arm, item, well) {
    const { terms } = this.site.now;
    const input = make("input", { inputMode: "decimal", autocomplete: "off" });
    input.setAttribute("aria-label", `Reward of trial ${trial}, ${arm}${well && `, ${well}`}`);
    input.setAttribute("aria-describedby", `said-${trial}`);
    const said = make("span", { className: "soft", id: `said-${trial}` });
    const failed = make("button", { type: "button", className: "quiet" }, "Failed…");
    failed.addEventListener("click", () => this.act(() => this.failed(trial)));
    const name = make("span", {}, make("bdi", {}, arm), make("small", { className: "soft" }, terms.descriptions?.[arm] ?? ""));
    const row = make("tr", {}, ...cells(well, String(trial), item && String(item), name, make("span", {}, input, said), failed));
    row.children[0].hidden = !this.site.now.checks.plates[this.site.now.said.plate];
    row.children[2].hidden = !terms.items;
    input.addEventListener("input", () => this.look(Object.assign(row, { asked: null })));
    input.addEventListener("change", () => this.commit(row));
    return Object.assign(row, { trial, input, said, failed, shown: null });
  }

  mark(row, text, alarm = false, ...more) {
    row.said.replaceChildren(text, ...more);
    row.said.className = alarm ? "alarm" : "soft";
    row.input.setAttribute("aria-invalid", String(alarm));
  }

  /** The measurements in a field, or null and a sentence beside it. */
  look(row, comma) {
    const text = row.input.value.trim();
    this.mark(row, text && text === row.told ? "✓ kept" : "");
    try {
      const values = measurements([text], comma);
      if (text) countsAs(values, this.site.now.checks);
      return text ? values : null;
    } catch (error) {
      this.mark(row, error.message, true);
      return null;
    }
  }

  /** Keep what is in a field; true if there is nothing more to say about it. */
  async commit(row, comma = false, sure = false) {
    const text = row.input.value.trim();
    if (text === (row.told ?? "")) return true;
    if (text === row.asked && !sure) return false; // a slip is asked about once
    const values = this.look(row, comma);
    if (!values) return false;
    try {
      if (row.told === null) await this.site.tell(row.trial, values, sure);
      else await this.site.correct(row.trial, values, "", sure);
    } catch (error) {
      if (error instanceof Doubtful) row.asked = text;
      const yes = make("button", { type: "button" }, "I am sure");
      yes.addEventListener("click", () => this.commit(row, comma, true));
      this.mark(row, error.message, true, ...(error instanceof Doubtful ? [yes] : []));
      return false;
    }
    if (this.site.now.uploads.length) this.sync();
    return true;
  }

  async key(event) {
    const row = event.target.closest("tr");
    const step = { Enter: 1, ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step || event.target !== row.input) return;
    event.preventDefault();
    const next = step > 0 ? row.nextElementSibling : row.previousElementSibling;
    if ((await this.commit(row)) && next?.isConnected) next.input.select();
  }

  /** A column from a spreadsheet goes down from the field in which it is pasted. */
  async paste(event) {
    const lines = event.clipboardData.getData("text").replace(/\r?\n$/, "").split(/\r?\n/);
    if (lines.length < 2) return;
    event.preventDefault();
    const all = [...this.part("rows").children];
    const rows = all.slice(all.indexOf(event.target.closest("tr"))).slice(0, lines.length);
    const comma = lines.some((line) => line.includes(","));
    rows.forEach((row, k) => (row.input.value = lines[k].split("\t")[0].trim()));
    let wrong = null;
    for (const row of rows) if (!(await this.commit(row, comma))) wrong ??= row;
    wrong?.input.focus();
    const left = lines.length - rows.length;
    this.problems(...(left ? [`${count(left, "line")} more than there are fields below; left out.`] : []));
    announce(`${count(rows.length, "value")} pasted.`);
  }

  async failed(trial) {
    const text = `Trial ${trial} could not be measured, and its place is done again as another trial. ${HARMLESS}`;
    if (!(await question(text, "It failed"))) return;
    await this.site.giveBack(trial);
  }

  async leave() {
    const open = count(openTrials(this.site.now).length, "open trial");
    const text = `What was told is sent now, although the plate is not full, and ${open} can’t be told any more. ${HARMLESS}`;
    if (!(await question(text, "Send it now"))) return;
    if (!(await this.site.leave())) throw new SiteError("There was nothing to send.");
  }

  async cannot() {
    const { terms, said } = this.site.now;
    const label = (arm) => (said.cannot.includes(arm) ? `${arm}: it can be done again` : arm);
    const which = make("select", { id: "arm" }, ...terms.arms.map((arm) => make("option", { value: arm }, label(arm))));
    const text = `Open trials of it are given back, and what was told of it stays. ${HARMLESS}`;
    const fields = [make("label", { htmlFor: "arm" }, "What can’t be done here from now on"), which];
    if (!(await question(text, "So it is", fields))) return;
    if (said.cannot.includes(which.value)) await this.site.canAgain(which.value);
    else await this.site.cannot(which.value);
  }

  async plate() {
    const fields = this.sizes(this.site.now.said.plate);
    if (await question("It holds from the next plan on.", "Keep", fields)) await this.site.plate(Number(fields[1].value));
  }

  async correct(trial, arm, text = "Correct what was written down wrongly, never what you do not like.", values = "", why = "", sure = false) {
    const right = make("input", { id: "right", inputMode: "decimal", autocomplete: "off", value: values });
    const reason = make("input", { id: "reason", maxLength: 500, autocomplete: "off", value: why });
    const fields = [make("label", { htmlFor: "right" }, `Trial ${trial}, ${arm}: what was measured`), right];
    fields.push(make("label", { htmlFor: "reason" }, "What was wrong; it stays in the study’s log"), reason);
    if (!(await question(text, sure ? "I am sure" : "Correct", fields))) return;
    try {
      await this.site.correct(trial, measurements([right.value]), reason.value, sure && right.value === values);
    } catch (error) {
      if (!(error instanceof SiteError)) throw error;
      await this.correct(trial, arm, error.message, right.value, reason.value, error instanceof Doubtful);
    }
  }

  /** The plate, or all that was told, as a file. */
  save(kind) {
    const { now } = this.site;
    const flat = (value) => (Array.isArray(value) ? value.flat().join("; ") : value);
    const trials = plateOf(now);
    const rows = kind === "history"
      ? [COLUMNS, ...this.site.history().map((row) => COLUMNS.map((name) => flat(row[name])))]
      : worksheet(now, trials);
    const name = kind === "history" ? `${now.study}-${now.agent}.csv` : `${now.study}-plate-${trials[0]?.plate ?? 0}.${kind}`;
    save(kind === "xlsx" ? toXlsx(rows) : new Blob([toCsv(rows)], { type: "text/csv" }), name);
  }

  /** Take the rewards of a file; a line that can't be used is refused by its number, and the others are taken. */
  async fill() {
    const field = this.part("file");
    const [file] = field.files;
    const rows = await readSheet(file);
    field.value = "";
    const { study, agent } = this.site.now;
    const comma = rows.some(({ rewards }) => rewards.some((text) => text.includes(",")));
    const refusals = [];
    let told = 0;
    for (const { line, trial, arm, site, rewards, sure, refusal } of rows) {
      try {
        if (refusal) throw new SiteError(refusal);
        if (site && site !== `${study}/${agent}`) throw new SiteError(`it is a trial of ${site}, and this is ${study}/${agent}.`);
        const own = [...openTrials(this.site.now), ...this.site.told].find((one) => one.trial === trial)?.arm ?? arm;
        if (own !== arm) throw new SiteError(`trial ${trial} is for arm '${own}', not for '${arm}'.`);
        told += Number(await this.site.tell(trial, measurements(rewards, comma), sure));
      } catch (error) {
        if (!(error instanceof SiteError)) throw error;
        refusals.push(`${file.name}, line ${line}: ${error.message}`);
      }
    }
    announce(`${count(told, "reward")} told from ${file.name}.`);
    this.problems(...refusals);
  }

  history() {
    const rows = this.site.history();
    if (this.#told === (this.#told = JSON.stringify(rows))) return;
    const line = ({ trial, arm, reward, measurements: several, state, was }) => {
      const button = make("button", { type: "button", className: "quiet" }, "Correct…");
      button.setAttribute("aria-label", `Correct trial ${trial}`);
      button.addEventListener("click", () => this.act(() => this.correct(trial, arm)));
      const before = was.length ? ` (was ${was.flat().join(", ")})` : "";
      return make("tr", {}, ...cells(String(trial), make("bdi", {}, arm), `${several?.join(" ") ?? reward}${before}`, state, button));
    };
    this.part("told").replaceChildren(...rows.slice(-SHOWN).reverse().map(line));
    say(this.part("told-title"), `What was told: ${count(rows.length, "reward")}`);
  }
}
