// The bench: what to do next as a table, with a field for each reward.

import { read, Refusal } from "../shared/api.js";
import { announce, make, part, say, show } from "../shared/dom.js";
import * as session from "../shared/session.js";
import { counted } from "../shared/words.js";
import { save } from "../study/download.js";
import { openTrials, SiteError } from "./agent.js";
import { Journal, journals, nameOf, OtherTab } from "./journal.js";
import { apart, platesOf, worksheet } from "./plate.js";
import * as questions from "./questions.js";
import { column, countsAs, measurements } from "./rewards.js";
import { readHistory, readSheet, toCsv, toXlsx } from "./sheets.js";
import { COLUMNS, Doubtful, flat, Site } from "./site.js";
import { Away, wire } from "./wire.js";

const SHOWN = 100; // lines of what was told
const PAUSES = [1, 2, 5, 15, 30, 60]; // seconds between tries
const LOOK = 60; // seconds after which it looks whether there is news
const IDLE = "There are no trials for this site now; this page looks again every minute.";
const cells = (...all) => all.map((one) => make("td", {}, one ?? ""));
const labelled = (label, text) => make("td", { "data-label": label }, text);

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

/** Resolves once this tab is alone at the bench; where browsers have no locks, the journal sees to it. */
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
  #heads = new Map(); // the trial that a plate begins with → the line above it
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
    const { leave, cannot, plates } = questions;
    const acts = { "leave-early": () => leave(this.site), cannot: () => cannot(this.site), plate: () => plates(this.site) };
    for (const kind of ["csv", "xlsx", "history"]) acts[kind] = () => this.save(kind);
    acts.fill = () => this.part("file").click();
    for (const [name, act] of Object.entries(acts)) this.part(name).addEventListener("click", () => this.act(act));
    this.part("file").addEventListener("change", () => this.act(() => this.fill()));
    this.part("import").addEventListener("click", () => this.part("exported").click());
    this.part("exported").addEventListener("change", () => this.import());
    this.part("rows").addEventListener("keydown", (event) => this.key(event));
    this.part("rows").addEventListener("paste", (event) => this.paste(event));
    if (!navigator.serviceWorker) say(this.part("reload"), "This address is not https, so leave the page open: it can’t be opened without a network.");
    say(this.part("who"), `${who.agent} in ${who.study}`);
    this.part("study").href = `#/studies/${encodeURIComponent(who.study)}`;
    this.history();
    if (this.site.joined) this.work();
    else this.begin();
  }

  part = (name) => part(this.page, name);

  /** Before the first plan: how large plates are, and what the items are called. */
  begin() {
    const { fields, chosen } = questions.sizes(this.site);
    const names = make("textarea", { id: "items", rows: 6, spellcheck: false });
    this.part("begin").append(...fields);
    read(`v1/studies/${encodeURIComponent(this.who.study)}`, { signal: this.signal })
      .then(({ problem }) => {
        const text = "Names of your items, one on each line; they stay in this browser. Without names they are numbered.";
        if (problem?.items) this.part("begin").append(make("label", { htmlFor: "items" }, text), names);
      })
      .catch(() => undefined); // the same server is needed to begin, and says then what is wrong
    this.part("begin-form").addEventListener("submit", async (event) => {
      event.preventDefault();
      try {
        await this.site.plate(...chosen());
        await this.site.keepItems(names.value);
        await this.site.sync();
        this.work();
      } catch (error) {
        say(this.part("begin-error"), error.message);
      }
    });
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
      this.#tries += 1;
    }
    const pause = this.#tries ? PAUSES[Math.min(this.#tries, PAUSES.length) - 1] : LOOK;
    clearTimeout(this.#timer);
    if (!this.signal.aborted) this.#timer = setTimeout(() => this.sync(), 1000 * pause);
    this.show();
  }

  /** Bring what is shown up to date; a field in which somebody types is left alone. */
  show() {
    const { now } = this.site;
    if (!now.checks || this.signal.aborted || this.part("work").hidden) return;
    if (this.site.short) this.site.fill().catch(console.error);
    const rows = this.part("rows");
    const plates = apart(platesOf(now));
    const trials = plates.flat();
    const wanted = plates.flatMap((plate) => [...(plates.length > 1 ? [this.head(plate)] : []), ...plate.map((one) => this.row(one))]);
    for (const name of ["table", "order", "csv", "xlsx", "fill", "leave-early"]) this.part(name).hidden = !trials.length;
    const before = [...rows.children];
    if (wanted.length !== before.length || wanted.some((row, k) => row !== before[k])) {
      const typing = rows.contains(document.activeElement) || document.activeElement === document.body;
      rows.replaceChildren(...wanted);
      this.#rows = new Map(this.rows.map((row) => [row.trial, row]));
      if (typing) this.rows.find(({ told }) => told === null)?.input.focus();
    }
    this.part("well").hidden = !trials.some(({ well }) => well);
    this.part("item").hidden = !now.terms.items;
    this.part("acts").hidden = Boolean(now.verdict || now.closed);
    say(this.part("title"), this.title(plates, now));
    const why = (arm) => (now.reasons?.[arm] ? `${arm} (${now.reasons[arm]})` : arm);
    say(this.part("cannots"), now.said.cannot.length ? `Not done here: ${now.said.cannot.map(why).join(", ")}.` : "");
    const [text, kind] = this.standing(now, !trials.length);
    this.part("line").className = `card ${kind}`;
    say(this.part("line"), [text, this.site.sentAgain, this.site.notice].filter(Boolean).join(" "));
    this.history();
  }

  title(plates, { verdict }) {
    const trials = plates.flat();
    if (!trials.length) return verdict ? "Nothing more to do" : "No trials now";
    if (verdict) return "These need not be done any more; what is told of a whole plate is still noted";
    const done = `${trials.filter(({ reward }) => reward !== null).length} of ${trials.length} told`;
    return plates.length > 1 ? `${plates.length} plates: ${done}` : `Plate ${trials[0].plate}: ${done}`;
  }

  standing({ verdict, lastWords, closed, uploads }, idle) {
    const kept = "Your rewards are kept in this browser; “Export CSV” below saves them.";
    if (verdict?.stopped) {
      return [`✓ The study is finished: ${verdict.arm} is best, after ${counted(verdict.samples, "sample")}. ${kept}`, "verdict"];
    }
    if (verdict) return [`The study is over, and the best arm is not known for sure. ${lastWords} ${kept}`, "verdict"];
    if (closed) return [`No more trials: ${closed} ${kept}`, "warnings"];
    if (this.site.away && !(this.site.away instanceof Away)) return [`▲ ${this.site.away.message}`, "warnings"];
    if (!this.#since) return [uploads.length ? "Sending…" : `● Connected. ${idle ? IDLE : "All that is complete is sent."}`, ""];
    const rest = uploads.length
      ? "The plate is full and kept here; it is sent as soon as the server can be reached, and the next one comes then."
      : "Go on: what you type is kept in this browser, and sent later.";
    const since = this.#since.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
    return [`▲ Not connected since ${since}: ${this.site.away?.message ?? ""} ${rest}`, "warnings"];
  }

  /** The rows of trials, without the lines between plates. */
  get rows() {
    return [...this.part("rows").children].filter(({ trial }) => trial);
  }

  /** The line above a plate, where there are several. */
  head(trials) {
    const { begin, plate } = trials[0];
    const head = this.#heads.get(begin) ?? make("tr", { className: "plate" }, make("th", { colSpan: 6, scope: "rowgroup" }));
    this.#heads.set(begin, head);
    const numbers = `trials ${trials[0].trial} to ${trials.at(-1).trial}`;
    say(head.firstChild, `Plate ${plate}, ${numbers}: ${trials.filter(({ reward }) => reward !== null).length} of ${trials.length} told`);
    return head;
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
    const failed = make("button", { className: "quiet" }, "Failed…");
    failed.addEventListener("click", () => this.act(() => questions.failed(this.site, trial)));
    const name = make("span", {}, make("bdi", {}, arm), make("small", { className: "soft" }, terms.descriptions?.[arm] ?? ""));
    const row = make("tr", {}, ...cells(well), labelled("Trial", String(trial)), ...cells(item && String(this.site.items.label(item)), name, make("span", {}, input, said), failed));
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
    this.mark(row, text === row.told ? "✓ kept" : !text && row.told ? `${row.told} stays until another is typed` : "");
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
    if (!text && row.told) {
      row.input.value = row.told;
      this.look(row);
    }
    if (!text || text === row.told) return true;
    if (text === row.asked && !sure) return false; // a slip is asked about once
    const values = this.look(row, comma);
    if (!values) return false;
    try {
      if (row.told === null) await this.site.tell(row.trial, values, sure);
      else await this.site.correct(row.trial, values, "", sure);
    } catch (error) {
      if (error instanceof Doubtful) row.asked = text;
      const yes = make("button", {}, "I am sure");
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
    const { rows } = this;
    const next = rows[rows.indexOf(row) + step];
    const kept = this.commit(row);
    if (!next || row.input.ariaInvalid === "true") return;
    next.input.select(); // at once: whoever types on does it there
    const { value } = next.input;
    if (!(await kept) && document.activeElement === next.input && next.input.value === value) row.input.focus();
  }

  /** A column from a spreadsheet goes down from the field in which it is pasted. */
  async paste(event) {
    const text = event.clipboardData.getData("text").replace(/\r?\n$/, "");
    if (!text.includes("\n")) return;
    event.preventDefault();
    const [all, first] = [this.rows, event.target.closest("tr")];
    let lines;
    try {
      lines = column(text);
    } catch (error) {
      return this.mark(first, error.message, true);
    }
    const rows = all.slice(all.indexOf(first)).slice(0, lines.length);
    const comma = lines.some((line) => line.includes(","));
    rows.forEach((row, k) => (row.input.value = lines[k]));
    let wrong = null;
    for (const row of rows) if (!(await this.commit(row, comma))) wrong ??= row;
    wrong?.input.focus();
    const left = lines.length - rows.length;
    this.problems(...(left ? [`${counted(left, "line")} more than there are fields below; left out.`] : []));
    announce(`${counted(rows.length, "value")} pasted.`);
  }

  /** The plate, or all that was told, as a file. */
  save(kind) {
    const { now } = this.site;
    const past = kind === "history";
    const trials = (past ? [] : platesOf(now)).map((one) => ({ ...one, item: this.site.items.label(one.item) }));
    const rows = past
      ? [COLUMNS, ...[...this.site.journal.imported, ...this.site.history()].map((row) => Object.values(flat(row)))]
      : worksheet(now, trials);
    const name = past ? `${this.who.study}-${this.who.agent}.csv` : `${now.study}-plate-${trials[0]?.plate ?? 0}.${kind}`;
    save(kind === "xlsx" ? toXlsx(rows) : new Blob([toCsv(rows)], { type: "text/csv" }), name);
  }

  /** Take the rewards of a file; a line that can't be used is refused by its number. */
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
    announce(`${counted(told, "reward")} told from ${file.name}.`);
    this.problems(...refusals);
  }

  /** Keep an exported history. */
  async import() {
    const field = this.part("exported");
    const [file] = field.files;
    const kept = (many) => `${counted(many, "reward")} more from ${file.name}, kept to read and never sent: nothing counts twice.`;
    const text = await readHistory(file, COLUMNS).then((lines) => this.site.keepHistory(lines)).then(kept, (error) => error.message);
    field.value = "";
    say(this.part("import-said"), text);
    this.history();
  }

  history() {
    const rows = [...this.site.journal.imported.map((row) => ({ ...row, file: true })), ...this.site.history()];
    if (this.#told === (this.#told = JSON.stringify(rows))) return;
    const line = ({ trial, counts, arm, reward, measurements: several, state, was, file }) => {
      const button = make("button", { className: "quiet" }, "Correct…");
      button.setAttribute("aria-label", `Correct trial ${trial}`);
      button.addEventListener("click", () => this.act(() => questions.correct(this.site, trial, arm)));
      const before = was.length ? ` (was ${[was].flat(2).join(", ")})` : "";
      const shown = `${[several || reward].flat().join(" ")}${before}`;
      const acts = file ? [`${state}, from a file`] : [state, button];
      return make("tr", {}, labelled("Trial", String(trial || counts)), ...cells(make("bdi", {}, arm)), labelled("Reward", shown), ...cells(...acts));
    };
    this.part("told").replaceChildren(...rows.slice(-SHOWN).reverse().map(line));
    say(this.part("told-title"), `What was told: ${counted(rows.length, "reward")}`);
  }
}
