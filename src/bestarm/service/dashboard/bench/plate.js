// Where a trial goes on a plate, and which trials the table shows.

/** The plate from 1, the trial it begins with, and the well of one whose batch begins with `first`, as `bestarm/wells.py`. */
export function place(number, first, size, plate, layouts) {
  const at = number - first;
  if (at >= size) return { plate: 1 + Math.floor((first - 1) / plate), begin: first, well: "" };
  const begin = number - (at % plate);
  const columns = layouts[plate]?.[1];
  const row = Math.floor((at % plate) / columns);
  const letters = `${row < 26 ? "" : "A"}${String.fromCharCode(65 + (row % 26))}`;
  const well = columns ? `${letters}${((at % plate) % columns) + 1}` : "";
  return { plate: 1 + Math.floor((begin - 1) / plate), begin, well };
}

/** The trials of the plates in hand, open or told, by plate; once all are told, those of the last. */
export function platesOf({ batches, checks, said }) {
  const rows = batches.flatMap(({ first, size, open, told }) =>
    [...open, ...told].map((one) => ({ reward: null, ...one, ...place(one.trial, first, size, said.plate ?? size, checks.plates) })),
  );
  rows.sort((a, b) => a.begin - b.begin || a.trial - b.trial);
  const open = rows.filter(({ reward }) => reward === null);
  const shown = new Set((open.length ? open : rows.slice(-1)).map(({ begin }) => begin));
  return rows.filter(({ begin }) => shown.has(begin));
}

/** The same, a list for each plate. */
export const apart = (rows) => [...new Set(rows.map(({ begin }) => begin))].map((one) => rows.filter(({ begin }) => begin === one));

/** How many plates have trials that are open. */
export const inHand = (site) => apart(platesOf(site).filter(({ reward }) => reward === null)).length;

/** A worksheet's lines, the first its header; the columns are those of the package's own worksheets. */
export function worksheet(site, rows) {
  const { terms, study, agent } = site;
  const columns = { trial: "trial" };
  if (apart(rows).length > 1) columns.plate = "plate";
  if (rows.some(({ well }) => well)) columns.well = "well";
  if (terms.items) columns.item = "item";
  columns.arm = "arm";
  const texts = terms.descriptions ?? {};
  if (Object.keys(texts).length) columns.description = "description";
  Object.assign(columns, { site: "site", reward: "reward", note: "note" });
  const line = (row) => {
    const more = { description: texts[row.arm], site: `${study}/${agent}`, reward: row.measured?.join("; ") ?? row.reward };
    return Object.keys(columns).map((name) => ({ ...row, ...more })[name]);
  };
  return [Object.keys(columns), ...rows.map(line)];
}
