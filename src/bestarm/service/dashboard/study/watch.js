// One study as the page knows it: the server's status, and every upload since from the stream.

import { at, read, Refusal } from "../shared/api.js";
import { follow } from "../shared/stream.js";

const SOON = 1_000; // ms between two looks at the status while uploads come in
const IDLE = 20_000; // ms between two looks while nothing happens: closing and joining make no event
const GATHER = 80; // ms in which changes become one redraw

/**
 * Keeps a study up to date. `changed(watch)` is called after every change, `refused(error)` when it is over.
 *
 * The stream says at once who leads and how sure that is. Estimates and sites are in the status, which is
 * fetched again after uploads, at most once a second, and less often where it takes long.
 */
export class Watch {
  constructor(study, changed, refused) {
    this.study = study;
    this.changed = changed;
    this.refused = refused;
    this.status = null;
    this.tail = []; // events after the status
    this.place = 0; // the last position of the log that is known here
    this.connection = { state: "connecting" };
    this.skew = 0; // the server's clock minus this one's, in ms
    this.stopping = new AbortController();
    this.signal = this.stopping.signal;
  }

  /** Load the study, then follow it; returns when the page is left. */
  async run() {
    try {
      await this.load();
      window.addEventListener("online", () => this.retry?.(), { signal: this.signal });
      this.schedule(IDLE);
      await follow(this.study, {
        place: () => this.place,
        told: (event, data) => this.told(event, data),
        connected: () => this.connected(),
        resting: () => (this.connection = { state: "resting" }),
        lost: (ms) => this.lost(ms),
        signal: this.signal,
      });
    } catch (error) {
      if (!this.signal.aborted) this.refused(error);
    }
  }

  /** Leave the study. */
  stop() {
    this.stopping.abort();
    clearTimeout(this.timer);
    clearTimeout(this.drawing);
  }

  /** The history as known: rows of position, samples, breaking index, evidence, time. */
  get history() {
    const rows = this.tail.map((e) => [e.position, e.samples, e.breaking_index, e.evidence, e.received_at]);
    return this.status.history.concat(rows);
  }

  /** The server's time, in ms. */
  now() {
    return Date.now() + this.skew;
  }

  /** The first look; tried again until the server answers. */
  async load() {
    for (let wait = SOON; this.status === null && !this.signal.aborted; wait = Math.min(wait * 2, IDLE)) {
      try {
        await this.look();
      } catch (error) {
        if (this.signal.aborted || (error instanceof Refusal && error.lasting)) throw error;
        await this.lost(wait);
      }
    }
  }

  /** Fetch the status. What the stream said since is kept. */
  async look() {
    const known = this.place;
    const began = Date.now();
    const status = await read(at(this.study, "/status"), { signal: this.signal });
    this.took = Date.now() - began;
    this.skew = Date.parse(status.time) - Date.now();
    if (status.uploads < known) {
      // A shorter log: the server was given another storage, and what was known here is past.
      this.tail = [];
      this.place = status.uploads;
    }
    this.tail = this.tail.filter((event) => event.position > status.uploads);
    this.place = Math.max(this.place, status.uploads);
    this.status = status;
    for (const event of this.tail) this.take(event);
    this.draw();
  }

  /** An event of the stream. */
  told(event, data) {
    if (event === "upload" && data.position > this.place) {
      this.place = data.position;
      this.tail.push(data);
      this.take(data);
      this.schedule(0);
      this.draw();
    } else if (event === "stop" && !this.status.verdict.stopped) {
      this.status.verdict = data;
      this.hush();
      this.schedule(0);
      this.draw();
    }
  }

  /** What an upload says about the study as a whole and about its site. */
  take(data) {
    const { status } = this;
    const { leader, challenger, breaking_index, evidence, samples, stopped } = data;
    const site = status.sites.find((one) => one.agent === data.agent);
    if (site) {
      site.samples += samples - status.samples;
      site.uploads += 1;
      site.last_seen = data.received_at;
      site.stale = false;
    }
    if (!status.verdict.stopped) {
      const arm = stopped ? leader : null;
      status.verdict = { stopped, arm, leader, challenger, breaking_index, evidence, samples };
      if (stopped) this.hush();
    }
    status.samples = samples;
    status.uploads = data.position;
    status.communications = data.communications;
    if (stopped && status.state === "open") status.state = "stopped";
    if (stopped) status.remaining = null;
  }

  /** What was answered before the verdict is not said beside it; the next look has it anew. */
  hush() {
    Object.assign(this.status.answers, { ruled_out: "", stopping_now: "", better: "", changes: [] });
  }

  /** Look again soon; how soon depends on how long the last look took. */
  schedule(ms) {
    const due = Date.now() + Math.max(ms, SOON, 4 * (this.took ?? 0));
    if (this.timer && this.due <= due) return;
    clearTimeout(this.timer);
    this.due = due;
    this.timer = setTimeout(() => this.again(), due - Date.now());
  }

  async again() {
    this.timer = 0;
    if (["live", "resting"].includes(this.connection.state) && !this.looking) {
      this.looking = true;
      try {
        await this.look();
      } catch (error) {
        if (this.signal.aborted) return;
        if (error instanceof Refusal && error.lasting) {
          this.stop();
          this.refused(error);
          return;
        }
      } finally {
        this.looking = false;
      }
    }
    if (!this.signal.aborted) this.schedule(IDLE);
  }

  connected() {
    const before = this.connection.state;
    this.connection = { state: "live" };
    if (before === "lost") this.schedule(0);
    this.draw();
  }

  /** The connection is gone for so long; the promise ends early when somebody asks for it. */
  lost(ms) {
    const since = this.connection.since ?? Date.now();
    this.connection = { state: "lost", since, until: Date.now() + ms };
    this.draw();
    return new Promise((done) => {
      this.retry = done;
      setTimeout(done, ms);
    });
  }

  draw() {
    this.drawing ??= setTimeout(() => {
      this.drawing = undefined;
      this.changed(this);
    }, GATHER);
  }
}
