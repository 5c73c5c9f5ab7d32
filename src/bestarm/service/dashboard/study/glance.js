// What a coordinator asks first: does it run, who leads, how sure, how much longer, who is silent.

import { announce, make, part, say } from "../shared/dom.js";
import { ago, bytes, count, counted, duration, durations, more, named, percent } from "../shared/words.js";

const NAMED = 3; // silent sites that are called by name

/** The state in a word, a sign and a class: never in colour alone. */
export function stateOf({ state, samples, uploads, sites }) {
  if (state === "stopped") return ["Finished", "✓", "good"];
  if (state === "closed") return ["Closed", "■", "still"];
  if (!(uploads ?? samples)) return ["Waiting", "○", "still"];
  if (sites?.length && sites.every((site) => site.stale)) return ["Silent", "▲", "alarm"];
  return ["Running", "●", "run"];
}

export function pill(element, study) {
  const [word, sign, kind] = stateOf(study);
  element.className = `pill ${kind}`;
  if (element.textContent !== `${sign} ${word}`) {
    element.replaceChildren(make("span", { "aria-hidden": "true" }, sign), ` ${word}`);
  }
}

export class Glance {
  constructor(page) {
    this.page = page;
    this.said = {};
  }

  part(name) {
    return part(this.page, name);
  }

  update(status, history, now) {
    pill(this.part("state"), status);
    this.lead(status);
    this.sure(status);
    this.longer(status);
    this.sites(status, now);
    this.facts(status, history, now);
    this.verdict(status, history);
  }

  lead({ verdict, samples, arms }) {
    say(this.part("leader"), samples ? verdict.leader : "Nobody yet");
    const untried = samples && arms.some((arm) => arm.pulls === 0);
    say(this.part("margin"), untried ? "so far; not every arm was tried" : "");
    this.tell("leader", samples ? verdict.leader : "", (name) => `${named(name)} is in the lead.`);
  }

  sure({ verdict }) {
    const share = verdict.stopped ? 1 : Math.min(verdict.evidence, 0.999);
    say(this.part("sure"), percent(share));
    const meter = this.part("meter");
    meter.setAttribute("aria-label", `${percent(share)} of the evidence that is needed`);
    meter.firstElementChild.style.width = `${100 * share}%`;
  }

  longer({ verdict, state, end, remaining, samples, arms }) {
    let [text, small] = ["Not known yet", "the next uploads will tell"];
    if (state === "closed") {
      text = { budget: "Budget used up", deadline: "Deadline past" }[end?.reason] ?? "Closed";
      small = verdict.stopped ? "no uploads are taken" : `${end?.said} ${end?.later}`;
    }
    else if (remaining) {
      text = more(remaining);
      const { seconds, before } = remaining;
      small = `samples${seconds ? `; ${durations(seconds.low, seconds.high)} at the pace so far` : ""}. ${before}`;
    } else if (samples && arms.some((arm) => arm.pulls === 0)) small = "every arm must be tried first";
    say(this.part("longer"), text);
    say(this.part("pace"), small);
  }

  sites({ sites, state }, now) {
    const silent = state === "open" ? sites.filter((site) => site.stale) : [];
    say(this.part("site-count"), sites.length ? `${count(sites.length - silent.length)} active` : "None yet");
    const box = this.part("silent");
    box.classList.toggle("alarm", silent.length > 0);
    if (!silent.length) {
      say(box, sites.length ? "none is silent" : "");
      return;
    }
    silent.sort((a, b) => a.last_seen.localeCompare(b.last_seen));
    const names = silent.slice(0, NAMED).map((site) => site.agent).join(", ");
    const rest = silent.length > NAMED ? ` and ${count(silent.length - NAMED)} more` : "";
    const longest = duration((now - Date.parse(silent[0].last_seen)) / 1000);
    say(box, `▲ ${count(silent.length)} silent: ${names}${rest}${silent.length === 1 ? `, for ${longest}` : ""}`);
  }

  facts({ samples, uploads, communications, sites, items }, history, now) {
    const sent = sites.reduce((sum, site) => sum + site.bytes, 0);
    const last = history.length ? ago((now - Date.parse(history[history.length - 1][4])) / 1000) : "none yet";
    this.list("facts", [
      ["Samples", count(samples)],
      ...(items == null ? [] : [["Items", count(items)]]),
      ["Sites", count(sites.length)],
      ["Last upload", last],
    ]);
    this.list("engine", [
      ["Uploads", count(uploads)],
      ["Communications", count(communications)],
      ["Sent by sites", bytes(sent)],
    ]);
  }

  /** Names and values; the values change. */
  list(name, facts) {
    const list = this.part(name);
    if (!list.children.length) {
      const row = (name) => make("div", { className: name === "Sites" ? "late" : "" }, make("dt", {}, name), make("dd"));
      list.append(...facts.map(([name]) => row(name)));
    }
    facts.forEach(([, text], k) => say(list.children[k].lastElementChild, text));
  }

  verdict({ verdict, promise, sites, samples }, history) {
    const box = this.part("verdict");
    box.hidden = !verdict.stopped;
    this.part("glance").classList.toggle("settled", verdict.stopped);
    this.tell("arm", verdict.arm ?? "", (name) => `The study is finished. The best arm is ${named(name)}.`);
    if (!verdict.stopped) return;
    say(this.part("answer"), verdict.arm);
    say(this.part("guarantee"), promise.split("\n")[0]);
    const settled = history.find((row) => row[1] >= verdict.samples);
    const when = settled ? ` on ${new Date(settled[4]).toLocaleString("en-GB", { dateStyle: "long", timeStyle: "short" })}` : "";
    const late = samples - verdict.samples;
    say(
      this.part("settled"),
      `Finished after ${counted(verdict.samples, "sample")} from ${counted(sites.length, "site")}${when}.` +
        (late > 0 ? ` ${counted(late, "sample")} came later and changed nothing.` : ""),
    );
  }

  /** Say something aloud when it changes, but not when the page opens. */
  tell(what, value, sentence) {
    if (this.said[what] !== undefined && this.said[what] !== value && value) announce(sentence(value));
    this.said[what] = value;
  }
}
