// Where a trial goes on a plate, and which trials the table shows.

/** The plate, counted from 1, and the well of a trial whose batch begins with trial `first`; as `bestarm/wells.py`. */
export function place(number, first, size, plate, layouts) {
  const at = number - first;
  if (at >= size) return { plate: 1 + Math.floor((first - 1) / plate), well: "" };
  const begin = number - (at % plate);
  const columns = layouts[plate]?.[1];
  const row = Math.floor((at % plate) / columns);
  const letters = `${row < 26 ? "" : "A"}${String.fromCharCode(65 + (row % 26))}`;
  const well = columns ? `${letters}${((at % plate) % columns) + 1}` : "";
  return { plate: 1 + Math.floor((begin - 1) / plate), well };
}

/** The trials of the plate in hand, open or told, by their numbers. */
export function plateOf({ batches, checks, said }) {
  const rows = batches.flatMap(({ first, size, open, told }) =>
    [...open, ...told].map((one) => ({ reward: null, ...one, ...place(one.trial, first, size, said.plate ?? size, checks.plates) })),
  );
  rows.sort((a, b) => a.trial - b.trial);
  const last = (rows.findLast(({ reward }) => reward === null) ?? rows.at(-1))?.plate;
  return rows.filter(({ plate, reward }) => reward === null || plate === last);
}

/** A worksheet's lines, the first being its header; the columns are those of the package's own worksheets. */
export function worksheet(site, rows) {
  const { terms, study, agent } = site;
  const columns = { trial: "trial" };
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
