// A site's memory, in IndexedDB: where it stands, its items, answered batches and corrections.
// What is written together is there together, on the disk, before anybody hears of it.

const STORES = ["site", "batches", "fixes"];
const PREFIX = "bestarm/";

/** Another tab has written: this one must look again. */
export class OtherTab extends Error {}

const finished = (request, good = "success") =>
  new Promise((resolve, reject) => {
    request.addEventListener(good, () => resolve(request.result));
    for (const bad of ["error", "abort"]) request.addEventListener(bad, () => reject(request.error));
  });

export const nameOf = (study, agent) => `${PREFIX}${study}/${agent}`;

/** The journals that this browser has, as [study, agent]. */
export async function journals() {
  const names = ((await indexedDB.databases?.()) ?? []).map(({ name }) => name);
  return names.filter((name) => name.startsWith(PREFIX)).map((name) => name.split("/").slice(1));
}

/** A number from 0 to 1 that the text decides: what was not written down is drawn again as it was. */
export function chance(text) {
  let [a, b] = [0x9e3779b9, 0x85ebca6b];
  const mix = (x, by) => Math.imul(x ^ (x >>> 15), by);
  for (const letter of text) {
    a = mix(a ^ letter.codePointAt(0), 0x2c1b3c6d);
    b = mix(b + a, 0x297a2d39);
  }
  const last = (x) => (mix(mix(x, 0x2c1b3c6d), 0x297a2d39) ^ (x >>> 13)) >>> 0;
  return (last(a) * 2 ** 21 + (last(b) >>> 11)) / 2 ** 53;
}

export class Journal {
  /** The journal of this name, made if it is not there. */
  static async open(name) {
    const opening = indexedDB.open(name, 1);
    opening.onupgradeneeded = () => STORES.forEach((store) => opening.result.createObjectStore(store));
    const journal = new Journal();
    journal.database = await finished(opening);
    journal.database.onversionchange = () => journal.close();
    await journal.load();
    const random = () => Array.from(crypto.getRandomValues(new Uint8Array(8)), (x) => x.toString(16).padStart(2, "0")).join("");
    const said = { plate: null, cannot: [], number: 0, plates: 1 };
    if (!journal.site) await journal.write({ version: 0, id: random(), seed: random(), said, closed: "" });
    return journal;
  }

  async load() {
    const reading = this.database.transaction(STORES);
    for (const store of STORES) {
      const at = reading.objectStore(store);
      const [keys, values] = await Promise.all([finished(at.getAllKeys()), finished(at.getAll())]);
      this[store] = new Map(keys.map((key, place) => [key, values[place]]));
    }
    this.items = this.site.get("items") ?? []; // the names that the site gave them
    this.imported = this.site.get("imported") ?? []; // lines of exported histories
    this.site = this.site.get("now"); // plain values: who it is, how it works, and the agent's state
  }

  /** Let the site stand so from now on, with these batches, fixes, items and lines; all or nothing. */
  async write(site, batches = [], fixes = [], items = null, imported = null) {
    const writing = this.database.transaction(STORES, "readwrite", { durability: "strict" });
    const done = finished(writing, "complete");
    done.catch(() => undefined); // it is awaited below
    const at = writing.objectStore("site");
    const now = { ...site, version: site.version + 1 };
    if (((await finished(at.get("now")))?.version ?? 0) !== site.version) {
      writing.abort();
      throw new OtherTab("another tab has gone on at this bench; load this page again.");
    }
    at.put(now, "now");
    if (items) at.put(items, "items");
    if (imported) at.put(imported, "imported");
    for (const [key, value] of batches) writing.objectStore("batches").put(value, key);
    for (const [key, value] of fixes) writing.objectStore("fixes").put(value, key);
    await done;
    this.site = now;
    this.items = items ?? this.items;
    this.imported = imported ?? this.imported;
    for (const [key, value] of batches) this.batches.set(key, value);
    for (const [key, value] of fixes) this.fixes.set(key, value);
  }

  close() {
    this.database.close();
  }
}
