// A site: its journal, the agent's state in it, and its server, as `client/lab.py`.

import { ask, closeBatch, drop, fresh, giveBack, leftOfNext, openTrials, receive, SiteError, tallyOf, tell, toHandOut } from "./agent.js";
import { checked, Items } from "./items.js";
import { chance } from "./journal.js";
import { inHand } from "./plate.js";
import { countsAs, doubt, quoted } from "./rewards.js";
import { Away, speaks } from "./wire.js";

/** A number that was not taken since it may be a slip. */
export class Doubtful extends SiteError {}

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
const REFUSED = "the server refused the correction: ";
const now = () => new Date().toISOString().replace(/\.\d+Z$/, "Z");
export const MOST_PLATES = 100; // at once
export const COLUMNS =
  "trial counts item arm pulls reward measurements batch state told_at was reason corrected_at answer".split(" ");

/** A row of a history as it stands in a file, and which reward it is about. */
export const flat = (row) => Object.fromEntries(COLUMNS.map((name) => [name, [row[name] ?? ""].flat(2).join("; ")]));
const about = ({ trial, counts, arm, told_at, reward }) => JSON.stringify([trial, counts, arm, told_at, Number(reward)]);

export class Site {
  #turn = Promise.resolve();
  #speaking = null;
  #met = false;

  constructor(journal, wire, changed = () => undefined) {
    Object.assign(this, { journal, wire, changed, away: null, notice: "", sentAgain: "" });
    this.items = new Items(journal.items, journal.site.seed);
  }

  /** Where it stands: plain values, as they are on the disk. */
  get now() {
    return this.journal.site;
  }

  get joined() {
    return Boolean(this.now.terms);
  }

  get answered() {
    return this.now.sequence - this.now.uploads.length;
  }

  /** One after the other. */
  #next(work) {
    const run = this.#turn.then(work);
    this.#turn = run.catch(() => undefined).then(() => this.changed());
    return run;
  }

  /** Change a copy of the state, write it down, and only then let it be so. */
  #change(work) {
    return this.#next(async () => {
      const [next, batches, fixes] = [structuredClone(this.now), [], []];
      const result = work(next, batches, fixes);
      if (!same(next, this.now) || batches.length || fixes.length) await this.journal.write(next, batches, fixes);
      return result;
    });
  }

  // What people do here

  /** How the site works, from the next plan on: {plate, plates} or {cannot}. */
  #say(site, words) {
    const said = { ...site.said, ...words };
    if (same(said, site.said)) return;
    site.said = { ...said, number: site.said.plate === null ? 0 : site.said.number + 1 };
    this.#met = false;
  }

  /** How many trials a plate has, and on how many plates the site works at once. */
  plate(plate, plates = this.plates) {
    return this.#change((site) => {
      if (!Number.isInteger(plate) || plate < 1) throw new SiteError("a plate must have a whole number of trials, 1 at least.");
      if (!(Number.isInteger(plates) && plates >= 1 && plates <= MOST_PLATES)) {
        throw new SiteError(`plates at once must be a whole number from 1 to ${MOST_PLATES}.`);
      }
      this.#say(site, { plate, plates });
    });
  }

  get plates() {
    return this.now.said.plates ?? 1;
  }

  /** Keep the site's own list of items, one on each line; before the first item. */
  keepItems(text) {
    const labels = checked(text);
    return this.#next(async () => {
      if ((this.now.nextItem ?? 1) > 1) throw new SiteError("items were handed out by number already; a list must come first.");
      await this.journal.write(this.now, [], [], labels);
      this.items = new Items(labels, this.now.seed);
    });
  }

  /** Hand out trials of the plan; they are written down before anybody sees them. */
  #ask(site, n) {
    const last = site.nextItem - 1;
    if (!site.closed) ask(site, n, (number) => chance(`${site.seed}/${number}`));
    if (this.items.passes(site.nextItem - 1) > this.items.passes(Math.max(last, 1))) this.notice = this.items.again();
  }

  /** Whether there is a plate to hand out, and room for it. */
  get short() {
    const { verdict, closed } = this.now;
    return !verdict && !closed && inHand(this.now) < this.plates && leftOfNext(this.now) > 0 && toHandOut(this.now) > 0;
  }

  /** The next plate, unless there are as many in hand as the site works on at once. */
  fill() {
    return this.#change((site) => {
      if (this.short) this.#ask(site, Math.min(site.said.plate, leftOfNext(site)));
    });
  }

  /** Keep the lines of an exported history to read, never to send; how many were not here. */
  keepHistory(lines) {
    return this.#next(async () => {
      const own = new Set(this.history().map((row) => about(flat(row))));
      const kept = new Map(this.journal.imported.map((row) => [about(row), row]));
      const before = kept.size;
      lines.forEach((row, k) => {
        if (!(row.trial > 0 || row.counts) || !row.arm || !row.reward || !isFinite(row.reward)) {
          throw new SiteError(`line ${k + 2} is not of an exported history; nothing was taken.`);
        }
        if (!own.has(about(row))) kept.set(about(row), row);
      });
      await this.journal.write(this.now, [], [], null, [...kept.values()]);
      return kept.size - before;
    });
  }

  /** Every reward as it counts now, in the order of telling; `batch` is 0 before it is sent. */
  get told() {
    const { uploads = [], batches = [] } = this.now;
    const sent = [...this.journal.batches].sort(([a], [b]) => a - b).map(([batch, { told }]) => [batch, told]);
    const kept = [...uploads.map(({ body, told }) => [body.sequence, told]), ...batches.map(({ told }) => [0, told])];
    const right = new Map(this.fixes.map((fix) => [fix.trial, fix.now]));
    const all = [...sent, ...kept].flatMap(([batch, told]) => told.map((one) => ({ ...one, batch })));
    return all.map((one) => ({ ...one, ...right.get(one.trial) }));
  }

  /** All corrections, oldest first. */
  get fixes() {
    return [...this.journal.fixes].sort(([a], [b]) => a - b).map(([number, fix]) => ({ ...fix, number }));
  }

  #told(number) {
    const told = this.told.find(({ trial }) => trial === number);
    if (told) return told;
    const gone = "is not open any more: it was given back, or its batch was sent without it.";
    throw new SiteError(`trial ${number} ${number > 0 && number < this.now.nextNumber ? gone : "was never handed out."}`);
  }

  #checked(arm, values, sure, leaveOut = 0) {
    const reward = countsAs(values, this.now.checks);
    const others = () => this.told.filter(({ trial }) => trial !== leaveOut);
    const question = sure ? "" : doubt(arm, values, others(), this.now.checks);
    if (question) throw new Doubtful(question);
    return { reward, measured: values.length > 1 ? values : null };
  }

  /** Record what a trial gave; once this resolves it is safe. False if it was known already. */
  tell(number, values, sure = false) {
    return this.#change((site) => {
      const trial = openTrials(site).find((one) => one.trial === number);
      if (!trial) {
        const { reward, measured } = this.#told(number);
        if (same(measured ?? [reward], values)) return false;
        const words = `${(measured ?? [reward]).join(" ")} and now ${values.join(" ")}`;
        throw new SiteError(`trial ${number} was told ${words}; if that was a mistake, correct it.`);
      }
      tell(site, number, { ...this.#checked(trial.arm, values, sure), at: now() });
      return true;
    });
  }

  /** Change what was told; once it was sent, as a message. False if it was so already. */
  correct(number, values, reason = "", sure = false) {
    return this.#change((site, _, fixes) => {
      const { arm, batch, reward, measured } = this.#told(number);
      if (same(measured ?? [reward], values)) return false;
      const right = this.#checked(arm, values, sure, number);
      const mend = (told) => told.map((one) => (one.trial === number ? { ...one, ...right } : one));
      const fix = { trial: number, was: measured ?? reward, now: right, reason: reason.trim(), at: now(), batch, body: null };
      const upload = site.uploads.find(({ body }) => body.sequence === batch);
      if (batch === 0) site.batches.forEach((one) => (one.told = mend(one.told)));
      else if (upload && !upload.sent) {
        upload.told = mend(upload.told);
        upload.body.tally = tallyOf(site, upload.plan, upload.told);
      } else {
        const { plan } = upload ?? this.journal.batches.get(batch);
        const tally = tallyOf(site, plan, mend(this.told.filter((one) => one.batch === batch)));
        const id = `${site.agent}/${batch}/fix/${this.fixes.length + 1}`;
        fix.body = { id, agent: site.agent, sequence: batch, tally, reason: fix.reason };
      }
      fixes.push([this.fixes.length + 1, fix]);
      return true;
    });
  }

  /** The experiment failed: its place is handed out again at once, as a new trial. */
  giveBack(number) {
    return this.#change((site) => {
      giveBack(site, number);
      this.#ask(site, 1);
    });
  }

  /** This site can't do an arm from now on; what was told of it stays. */
  cannot(arm, reason = "") {
    return this.#change((site) => {
      const cannot = [...new Set([...site.said.cannot, arm])];
      if (site.terms.arms.every((one) => cannot.includes(one))) {
        throw new SiteError(`${quoted(arm)} is the last arm that this site can do; leave if it can do none.`);
      }
      this.#say(site, { cannot });
      site.reasons = { ...site.reasons, [arm]: reason.trim() };
      drop(site, cannot);
    });
  }

  /** It can be done again, from the next plan on. */
  canAgain(arm) {
    return this.#change((site) => this.#say(site, { cannot: site.said.cannot.filter((one) => one !== arm) }));
  }

  /** Close what was begun, full or not; false if nothing was told of it. */
  leave() {
    return this.#change((site) => {
      const before = site.uploads.length;
      [...site.batches].forEach((batch) => closeBatch(site, batch));
      return site.uploads.length > before;
    });
  }

  // What passes between it and the server

  /** Send what is complete and fetch what is new; whoever asks meanwhile waits for the same. */
  sync() {
    this.#speaking ??= this.#speak().finally(() => (this.#speaking = null));
    return this.#speaking;
  }

  async #speak() {
    try {
      if (!this.#met || !this.now.uploads.length) await this.#meet();
      await this.#send();
      this.away = null;
    } catch (error) {
      this.away = error;
      throw error;
    } finally {
      this.changed();
    }
  }

  async #call(what, body) {
    const note = (closed) => this.#change((site) => (site.closed = closed));
    try {
      const answer = await this.wire.send(what, body);
      await note("");
      return answer;
    } catch (error) {
      if (error.code === "closed") await note(error.message);
      throw error;
    }
  }

  /** Join, also to ask again; what the site knows and what the server knows must agree. */
  async #meet() {
    let { said, answer } = await this.#join();
    const lost = await this.#sendLost(answer);
    if (lost) ({ said, answer } = await this.#join());
    await this.#change((site) => {
      const { agent, terms, checks, reply, sequence } = answer;
      if (!site.terms) Object.assign(site, fresh(terms, agent, checks.bets), { study: answer.study });
      if (site.agent !== agent || ["fingerprint", "squares", "bets", "pairs"].some((key) => site.terms[key] !== terms[key])) {
        throw new SiteError(`what is kept here is of ${site.study}/${site.agent}, about another problem or for another token.`);
      }
      const answered = site.sequence - site.uploads.length;
      if (sequence > answered + Number(site.uploads[0]?.sent ?? false)) {
        throw new SiteError(
          `the server has ${sequence} uploads of this site, and this browser sent fewer: another browser or program is in ` +
            "use for it. Go on there, or ask the coordinator for a token with a new name.",
        );
      }
      if (sequence < answered) {
        throw new SiteError(
          `the server has ${sequence} of the ${answered} uploads that it answered here, so it was probably put back from a ` +
            `backup. Tell the coordinator, who says “bestarm study restored ${site.study}” once; then this page sends them ` +
            "again by itself. Nothing is lost here.",
        );
      }
      site.checks = checks;
      const { plan = [], times = 1 } = reply;
      const news = reply.kind === "stop" || !same([plan, times], [site.plan, site.times]);
      if (!site.uploads.length && !site.verdict && news) receive(site, reply);
      this.#leaveOut(site, reply);
    });
    this.#met = same(said, this.now.said);
    return lost;
  }

  async #join() {
    const { id: journal, said } = this.now;
    const { plates = 1, ...always } = said;
    const answer = await this.#call("join", { journal, ...always, ...(plates > 1 ? { plates } : {}) });
    if (!speaks(answer.protocol)) throw new SiteError("the server has another version; load this page again.");
    return { said, answer };
  }

  /** Send again what the server has lost, once its coordinator has said so; whether there was any. */
  async #sendLost({ restored, sequence, agent, terms: theirs }) {
    const { terms, restored: known = [] } = this.now;
    const another = agent !== this.now.agent || theirs.fingerprint !== terms?.fingerprint;
    if (!restored || another || known.includes(restored)) return false;
    const lost = [...this.journal.batches].filter(([number]) => number > sequence).sort(([a], [b]) => a - b);
    for (const [number, { plan, told, body }] of lost) {
      const anew = () => ({ problem: terms.fingerprint, agent, sequence: number, tally: tallyOf(this.now, plan, told) });
      await this.#call("uploads", body ?? anew()); // one that the log has after all is not counted twice
    }
    await this.#change((site, _, fixes) => {
      site.restored = [...known, restored];
      for (const { number, ...fix } of this.fixes) {
        if (fix.body && fix.answer && !fix.answer.startsWith(REFUSED)) fixes.push([number, { ...fix, answer: "" }]);
      }
    });
    const many = lost.length === 1 ? "one batch that it had lost was" : `${lost.length} batches that it had lost were`;
    if (lost.length) this.sentAgain = `The server was put back from a backup, and ${many} sent again from this browser.`;
    return lost.length > 0;
  }

  /** Begin nothing with arms that can't be done here, and close what is open of withdrawn ones. */
  #leaveOut(site, { withdrawn = [] }) {
    site.plan = site.plan.filter(([arm]) => !site.said.cannot.includes(arm));
    if (!site.verdict) drop(site, withdrawn);
  }

  async #send() {
    for (;;) {
      await this.#sendFixes();
      if (!this.now.uploads.length) return;
      if (!this.now.uploads[0].sent) {
        await this.wire.reach();
        await this.#change((site) => (site.uploads[0].sent = true)); // from now on it is not changed any more
      }
      const answer = await this.#call("uploads", this.now.uploads[0].body).catch(async (error) => {
        if (error.code !== "gap" || !(await this.#meet())) throw error;
      });
      if (!answer) continue;
      const { reply } = answer;
      await this.#change((site, batches) => {
        const { body, plan, told } = receive(site, reply);
        batches.push([body.sequence, { plan, told, body }]);
        this.#leaveOut(site, reply);
      });
    }
  }

  /** A correction goes before the next upload, which could decide with the mistake. */
  async #sendFixes() {
    let over = false;
    for (;;) {
      const fix = this.fixes.find(({ body, answer, batch }) => body && !answer && batch <= this.answered);
      if (!fix) break;
      let sentence;
      try {
        const answer = await this.wire.send("corrections", fix.body);
        sentence = answer.sentence ?? "";
        over ||= Boolean(answer.verdict?.stopped);
      } catch (error) {
        if (error instanceof Away) throw error;
        if (error.code === "closed" || ![409, 422].includes(error.status)) {
          this.notice = `a correction waits, since the server does not take it now: ${error.message}`;
          return;
        }
        if (await this.#meet()) continue; // it had lost what is corrected
        sentence = `${REFUSED}${error.message}`;
      }
      const { number, ...kept } = fix;
      this.notice = sentence;
      await this.#change((site, _, fixes) => fixes.push([number, { ...kept, answer: sentence || "taken" }]));
    }
    if (over && !this.now.uploads.length && !this.now.verdict) await this.#meet();
  }

  /** What was told, newest last, in the columns of `bestarm history`. */
  history() {
    const { fixes } = this;
    return this.told.map(({ trial, item, arm, reward, measured, batch, at }) => {
      const mine = fixes.filter((fix) => fix.trial === trial);
      const { reason, at: corrected_at, answer } = mine.at(-1) ?? {};
      const waits = mine.some((fix) => fix.body && !fix.answer);
      const state = batch === 0 || batch > this.answered ? "unsent" : waits ? "correction unsent" : "sent";
      const told = { trial, item: this.items.label(item) || null, arm, pulls: 1, reward, measurements: measured, batch: batch || null };
      return { ...told, state, told_at: at, was: mine.map(({ was }) => was), reason, corrected_at, answer };
    });
  }
}
