// A site's state machine, as `protocol/agent.py`, on plain values: each verb changes the state.
// A plan is [[arm, how often, rival]]; a batch in hand has its plan, what is left of it, what is open and what was told.

/** Something that a person should do otherwise, in a sentence. */
export class SiteError extends Error {}

// Every change of state that there is; a test compares it with the package's own table.
export const TRANSITIONS = {
  "WAITING PLAN": "WORKING",
  "WAITING STOP": "FINISHED",
  "WORKING PLAN": "WORKING",
  "WORKING UPLOAD": "SENDING",
  "WORKING STOP": "FINISHED",
  "SENDING UPLOAD": "SENDING",
  "SENDING PLAN_BETWEEN": "SENDING",
  "SENDING PLAN": "WORKING",
  "SENDING STOP_BETWEEN": "SENDING_LATE",
  "SENDING STOP": "FINISHED",
  "FINISHED UPLOAD": "SENDING_LATE",
  "FINISHED STOP": "FINISHED",
  "SENDING_LATE UPLOAD": "SENDING_LATE",
  "SENDING_LATE STOP_BETWEEN": "SENDING_LATE",
  "SENDING_LATE STOP": "FINISHED",
};

const total = (numbers) => numbers.reduce((sum, one) => sum + one, 0);
const size = (plan) => total(plan.map(([, often]) => often));

/** A site that has joined and has no plan yet. `bets` are those of the server's checks. */
export const fresh = (terms, agent, bets) => ({
  ...{ state: "WAITING", terms, agent, bets, sequence: 0, nextNumber: 1, nextItem: 1 },
  ...{ plan: [], times: 1, batches: [], uploads: [], verdict: null, lastWords: "" },
});

/** The one place where the state changes. */
function change(site, event) {
  const after = TRANSITIONS[`${site.state} ${event}`];
  if (!after) throw new Error(`${event}, and the agent is ${site.state}`);
  site.state = after;
}

export const openTrials = (site) => site.batches.flatMap((batch) => batch.open);
const toBegin = ({ plan, times, batches, uploads }) => (plan.length ? Math.max(times - batches.length - uploads.length, 0) : 0);
const leftOf = (batch) => batch.size - batch.open.length - batch.told.length;

/** How many trials of the plan nobody has asked for yet. */
export const toHandOut = (site) => total(site.batches.map(leftOf)) + toBegin(site) * size(site.plan);

/** How many trials of the batch that is handed out next are left. */
export const leftOfNext = (site) => leftOf(site.batches.find(leftOf) ?? { size: size(site.plan), open: [], told: [] });

/** How many trials come next that belong together: those of an item, or one. */
function together({ left, plan, dropped }, items) {
  if (!items) return 1;
  if (!left.length) return plan.length - dropped.length;
  return total(left.filter((one) => one.item === left[0].item).map(({ often }) => often));
}

/** Up to `n` trials, drawn with `chance` from what is left; with items whole ones, at least one. */
export function ask(site, n, chance) {
  const { items } = site.terms;
  const trials = [];
  while (!site.verdict && trials.length < n) {
    let batch = site.batches.find(leftOf);
    const many = batch ? together(batch, items) : items ? site.plan.length : 1;
    if ((!batch && !toBegin(site)) || (trials.length && trials.length + many > n)) break;
    if (!batch) {
      const left = items ? [] : site.plan.map(([arm, often]) => ({ item: 0, arm, often }));
      batch = { first: site.nextNumber, plan: site.plan, size: size(site.plan), left, open: [], told: [], dropped: [] };
      site.batches.push(batch);
    }
    for (let k = 0; k < many; k += 1) trials.push(handOut(site, batch, chance(site.nextNumber)));
  }
  return trials;
}

function handOut(site, batch, chance) {
  const { items } = site.terms;
  if (!batch.left.length) {
    const arms = batch.plan.map(([arm]) => arm).filter((arm) => !batch.dropped.includes(arm));
    batch.left = arms.map((arm) => ({ item: site.nextItem, arm, often: 1 }));
    site.nextItem += 1;
  }
  const first = batch.left[0].item;
  let place = Math.floor(chance * (items ? together(batch, items) : leftOf(batch)));
  const drawn = batch.left.find(({ item, often }) => (place -= item === first ? often : 0) < 0);
  drawn.often -= 1;
  batch.left = batch.left.filter(({ often }) => often);
  const trial = { trial: site.nextNumber, arm: drawn.arm, item: drawn.item };
  site.nextNumber += 1;
  batch.open.push(trial);
  return trial;
}

/** The trial of this number and its batch; it is open no more. */
function closed(site, number) {
  const batch = site.batches.find(({ open }) => open.some(({ trial }) => trial === number));
  if (!batch) throw new SiteError(`trial ${number} is not open.`);
  const place = batch.open.findIndex(({ trial }) => trial === number);
  return { batch, trial: batch.open.splice(place, 1)[0] };
}

/** Record what a trial gave. The reward that fills the batch makes an upload. */
export function tell(site, number, told) {
  const { batch, trial } = closed(site, number);
  batch.told.push({ ...trial, ...told });
  if (batch.told.length === batch.size) closeBatch(site, batch);
}

/** The experiment failed: its place in the plan is handed out again, as a new trial. */
export function giveBack(site, number) {
  const { batch, trial: { arm, item } } = closed(site, number);
  const found = batch.left.find((one) => one.arm === arm && one.item === item);
  if (found) found.often += 1;
  else batch.left.push({ item, arm, often: 1 });
  const { arms } = site.terms;
  if (item) batch.left.sort((a, b) => a.item - b.item || arms.indexOf(a.arm) - arms.indexOf(b.arm));
}

/** Arms are not done any more: their open trials are closed, and what is left of them goes. */
export function drop(site, arms) {
  for (const arm of arms) {
    for (const batch of [...site.batches]) {
      const planned = batch.plan.find(([name]) => name === arm);
      if (!planned || batch.dropped.includes(arm)) continue;
      batch.size -= planned[1] - batch.told.filter((one) => one.arm === arm).length;
      batch.open = batch.open.filter((one) => one.arm !== arm);
      batch.left = batch.left.filter((one) => one.arm !== arm);
      batch.dropped.push(arm);
      if (batch.size === 0) site.batches.splice(site.batches.indexOf(batch), 1);
      else if (batch.told.length === batch.size) closeBatch(site, batch);
    }
  }
  site.plan = site.plan.filter(([arm]) => !arms.includes(arm));
}

/** An upload of what was told of a batch, full or not; it waits for its answer from now on. */
export function closeBatch(site, batch) {
  if (!batch.told.length) return;
  change(site, "UPLOAD");
  site.sequence += 1;
  const { plan, told } = batch;
  const about = { problem: site.terms.fingerprint, agent: site.agent, sequence: site.sequence };
  site.uploads.push({ body: { ...about, tally: tallyOf(site, plan, told) }, plan, told, sent: false });
  site.batches.splice(site.batches.indexOf(batch), 1);
}

/** Take the answer to the first upload that waits, which is returned; without one it is news. */
export function receive(site, reply) {
  if (reply.problem !== site.terms.fingerprint) throw new Error("the reply is for another problem");
  const event = reply.kind === "stop" ? "STOP" : "PLAN";
  change(site, site.uploads.length > 1 ? `${event}_BETWEEN` : event);
  if (reply.kind === "stop") Object.assign(site, { verdict: reply.verdict, lastWords: reply.said ?? "" });
  else Object.assign(site, { plan: reply.plan, times: reply.times ?? 1 });
  if (reply.arms) site.terms.arms = reply.arms;
  return site.uploads.shift();
}

/** What a batch adds up to, in the same order as in Python: the same bits. */
export function tallyOf({ terms, bets }, plan, told) {
  const rows = {};
  for (const arm of terms.arms) {
    const mine = told.filter((one) => one.arm === arm);
    if (!mine.length) continue;
    rows[arm] = [mine.length, total(mine.map(({ reward }) => reward))];
    if (terms.squares) rows[arm].push(total(mine.map(({ reward }) => (reward - terms.centre) * (reward - terms.centre))));
    if (plan[0]?.length !== 3) continue;
    const named = plan.find(([name]) => name === arm)[2];
    const rival = told.some((one) => one.arm === named) ? named : null;
    rows[arm].push(rival, ...against(mine, told.filter((one) => one.arm === rival), terms, bets));
  }
  return rows;
}

const GOLDEN = 0.6180339887498949;

function against(mine, theirs, terms, bets) {
  const key = ({ item, trial }) => item || (trial * GOLDEN) % 1; // pairs have nothing to do with the order of trials
  const inOrder = (some, others) => {
    const both = terms.items ? some.filter((one) => others.some((other) => key(other) === key(one))) : some;
    return [...both].sort((a, b) => key(a) - key(b)).map(({ reward }) => reward);
  };
  const [own, rival] = [inOrder(mine, theirs), inOrder(theirs, mine)];
  if (terms.pairs) {
    const margins = own.map((reward, place) => terms.pairs * (rival[place] - reward));
    return theirs.length ? [margins.length, total(margins), total(margins.map((x) => x * x))] : [0, 0, 0];
  }
  const pairs = Math.min(own.length, rival.length);
  const dealt = (rewards, first) => rewards.filter((_, place) => place % pairs === first);
  const mean = (rewards) => total(rewards) / rewards.length;
  const margins = Array.from({ length: pairs }, (_, k) => terms.bets * (mean(dealt(rival, k)) - mean(dealt(own, k))));
  return bets.map((bet) => total(margins.map((x) => Math.log1p(bet * Math.min(Math.max(x, -1), 1)))));
}
