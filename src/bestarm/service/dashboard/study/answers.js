// The server's answers: sentences, a picture by site, and what happened lately.

import { make, moment, part, say } from "../shared/dom.js";
import { ago, decimals, end, named } from "../shared/words.js";

const MOST_SITES = 20;

/** Draw all of it; lists are made anew only when they change. */
export class Answers {
  constructor(page) {
    this.page = page;
    this.drawn = {};
  }

  update({ answers, end, samples }, now) {
    const rows = [
      ["Ruled out", answers.ruled_out],
      [end ? "What can be said" : "If it stopped today", answers.stopping_now],
      ["How much better", answers.stopping_now.includes(answers.better) ? "" : answers.better],
      ["What changed last", answers.changes.join(" ")],
    ];
    const words = { budget: "Budget", deadline: "Deadline" };
    const list = part(this.page, "answers");
    this.redraw("answers", { rows, limits: answers.limits }, () => {
      const said = rows.filter(([, text]) => text).map(([name, text]) => line(name, text));
      const limits = answers.limits.map(({ kind, share, sentence }) => line(words[kind], sentence, meter(share, words[kind])));
      list.replaceChildren(...said, ...limits);
    });
    list.closest("section").hidden = !samples && !answers.limits.length;
    this.agreement(answers.agreement);
    this.lately(answers.lately, now);
  }

  agreement(found) {
    const box = part(this.page, "agreement");
    box.hidden = !found?.sites.length;
    if (box.hidden) return;
    say(part(this.page, "agreement-text"), found.sentence);
    this.redraw("agreement", found, () => part(this.page, "agreement-rows").replaceChildren(...bySite(found)));
  }

  lately(entries, now) {
    const list = part(this.page, "lately");
    list.closest("section").hidden = !entries.length;
    this.redraw("lately", entries, () =>
      list.replaceChildren(
        ...entries.map(({ at, kind, by, sentence }) => {
          const when = make(at ? "time" : "span", { className: "soft" }, at ? "" : "now");
          const who = by && !sentence.includes(by) ? make("span", { className: "soft" }, ` ${by}`) : "";
          return make("li", { className: kind === "warning" ? "warned" : "" }, when, make("span", {}, kind === "warning" ? "▲ " : "", sentence, who));
        }),
      ),
    );
    entries.forEach(({ at }, k) => at && moment(list.children[k].firstElementChild, ago((now - Date.parse(at)) / 1000), at));
  }

  redraw(name, value, draw) {
    const text = JSON.stringify(value);
    if (this.drawn[name] === text) return;
    this.drawn[name] = text;
    draw();
  }
}

const line = (name, text, ...more) => make("div", {}, make("dt", {}, name), make("dd", {}, text, ...more));

function meter(share, name) {
  const bar = make("span");
  bar.style.width = `${100 * share}%`;
  return make("div", { className: "meter", role: "img", "aria-label": `${name}: ${Math.round(100 * share)} % gone` }, bar);
}

/** A line for each site: its difference, about where it lies, and 0. */
function bySite({ leader, other, sites }) {
  const shown = sites.slice(0, MOST_SITES);
  const low = Math.min(0, ...shown.map((site) => site.low));
  const high = Math.max(0, ...shown.map((site) => site.high));
  const at = (value) => `${(100 * (value - low)) / (high - low || 1)}%`;
  const places = decimals(Math.min(...shown.map((site) => (site.high - site.low) / 2)));
  const rows = shown.map((site) => {
    const [zero, range, dot] = ["guide", "whisker", "dot"].map((className) => make("span", { className }));
    zero.style.left = at(0);
    range.style.left = at(site.low);
    range.style.right = `calc(100% - ${at(site.high)})`;
    dot.style.left = at(site.difference);
    const track = make("span", { className: "track", "aria-hidden": "true" }, zero, range, dot);
    return make("li", {}, make("bdi", {}, site.site), track, make("span", { className: "number" }, end(site.difference, places)));
  });
  const rest = sites.length > MOST_SITES ? ` ${sites.length - MOST_SITES} more sites are not drawn.` : "";
  rows.push(make("li", { className: "soft" }, `${named(leader)} less ${named(other)}, in each site’s batches with both since it leads. The upright line is 0; the others hold about 95 % of the time, each by itself.${rest}`));
  return rows;
}
