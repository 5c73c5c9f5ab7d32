// One study, live.

import { siteDialog } from "../act/site.js";
import { acts } from "../act/study.js";
import { Answers } from "./answers.js";
import { Arms } from "./arms.js";
import { make, part, say, show } from "../shared/dom.js";
import { openReport, saveLog, savePicture } from "./download.js";
import { Glance, stateOf } from "./glance.js";
import * as notice from "../shared/notice.js";
import { armsPicture, progressPicture } from "./picture.js";
import { Progress } from "./progress.js";
import { Sites } from "./sites.js";
import { Standing } from "./standing.js";
import { Watch } from "./watch.js";
import { count, counted, named, percent } from "../shared/words.js";

const TICK = 5_000; // ms between two drawings when nothing comes in: "3 minutes ago" grows old

/** Show a study until the signal says stop. */
export async function studyPage(name, refused, signal, admin) {
  const page = show("study");
  say(part(page, "name"), name);
  say(part(page, "state"), "…");
  document.title = `${name} – bestarm`;
  const parts = {
    glance: new Glance(page),
    standing: new Standing(page),
    progress: new Progress(page),
    arms: new Arms(page),
    answers: new Answers(page),
    sites: new Sites(page, (agent) => siteDialog(watch.status.study, agent, watch.now(), admin, changed)),
  };
  const changed = () => watch.schedule(0);
  const watch = new Watch(name, (changed) => draw(page, parts, changed), refused);
  const ticking = setInterval(() => watch.status && draw(page, parts, watch), TICK);
  const themed = () => watch.status && parts.progress.build();
  document.addEventListener("themed", themed);
  buttons(page, watch, parts);
  if (admin) parts.acts = acts(page, watch, changed);
  signal.addEventListener("abort", () => {
    watch.stop();
    clearInterval(ticking);
    document.removeEventListener("themed", themed);
    parts.progress.end();
  });
  await watch.run();
}

function draw(page, { glance, standing, progress, arms, answers, sites, acts: offered }, watch) {
  notice.connection(watch.connection, () => watch.retry?.());
  const { status } = watch;
  if (!status) return;
  const { history } = watch;
  const now = watch.now();
  glance.update(status, history, now);
  standing.update(status);
  progress.update(status, history);
  arms.update(status);
  answers.update(status, now);
  sites.update(status, now);
  offered?.(status);
  warn(page, status);
  about(page, status);
  title(status);
  page.firstElementChild.dataset.position = String(watch.place);
}

/** What in the data speaks against what is assumed; redrawn only when it changes. */
function warn(page, { warnings }) {
  const list = part(page, "warning-list");
  part(page, "warnings").hidden = !warnings.length;
  const text = warnings.map((one) => one.sentence).join("\n");
  if (list.dataset.shown === text) return;
  list.dataset.shown = text;
  list.replaceChildren(...warnings.map((one) => make("li", {}, make("strong", {}, one.seen), ` ${one.meaning}`)));
}

/** What stays as it is while a study runs. */
function about(page, status) {
  const { problem, method, agents, promise, parameters, arms } = status;
  const best = problem.goal === "lowest" ? "the lowest mean" : "the best";
  const goal = problem.epsilon ? `an arm within ${problem.epsilon} of ${best}` : best;
  say(
    part(page, "about"),
    `${counted(arms.length, "arm")} · looking for ${goal}, wrong with probability at most ${problem.delta} · method ${method}`,
  );
  const box = part(page, "promise");
  if (box.children.length) return;
  box.append(...promise.split("\n").map((line) => make("p", {}, line)));
  const { rewards, sites } = problem;
  const noise = { rewards, unit: problem.unit, sites, "reward range": problem.reward_range?.join(" to ") };
  const facts = { method, ...parameters, delta: problem.delta, epsilon: problem.epsilon, sigma: problem.sigma, ...noise };
  facts["sites that it counts on"] = count(agents);
  facts["created"] = new Date(status.created_at).toLocaleString("en-GB");
  const list = Object.entries(facts).filter(([, value]) => value !== undefined);
  part(page, "parameters").append(
    ...list.map(([key, value]) => make("div", {}, make("dt", {}, key.replaceAll("_", " ")), make("dd", {}, String(value)))),
  );
}

/** The tab says how it stands, also when it is not in front. */
function title(status) {
  const [word, sign] = stateOf(status);
  const { verdict } = status;
  const share = verdict.stopped ? named(verdict.arm, 30) : word === "Running" ? percent(Math.min(verdict.evidence, 0.999)) : word;
  const text = `${sign} ${share} – ${status.study} – bestarm`;
  if (document.title !== text) document.title = text;
}

function buttons(page, watch, { progress, arms }) {
  const on = (name, act) => part(page, name).addEventListener("click", act);
  for (const format of ["csv", "json"]) {
    on(format, () => saveLog(watch.study, format).catch((error) => notice.tell(`The log could not be saved: ${error.message}`)));
  }
  on("report", () => openReport(watch.study).catch((error) => notice.tell(`The report could not be made: ${error.message}`)));
  on("progress-png", () => {
    if (!progress.plot) return;
    savePicture(progressPicture(watch.status, progress.plot.ctx.canvas, progress.name.toLowerCase()), `${watch.study}-progress`);
  });
  on("arms-png", () => watch.status && savePicture(armsPicture(watch.status, arms.order.value), `${watch.study}-arms`));
}
