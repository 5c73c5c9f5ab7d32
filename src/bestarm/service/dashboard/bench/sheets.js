// Worksheets and histories as CSV and .xlsx, made and read here: raw rewards stay in this browser.

import { SiteError } from "./agent.js";

const NEEDED = ["trial", "arm", "reward"];
const SPACE = "http://schemas.openxmlformats.org/";
const RUN = /^'*(\s*[=+\-@＝＋－＠]|[\t\r\n])/; // what a spreadsheet would run, as in `bestarm/cells.py`
const PLAIN = /^[+-]?(\d+[.,]?\d*|[.,]\d+)([eE][+-]?\d+)?$/;

const written = (text) => (RUN.test(text) && !PLAIN.test(text) ? `'${text}` : text);
const unwritten = (text) => (text.startsWith("'") && RUN.test(text) ? text.slice(1) : text);
const cell = (value) => written(value === null || value === undefined ? "" : String(value));

/** A table as CSV text. */
export function toCsv(rows) {
  const quote = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  return rows.map((row) => `${row.map((value) => quote(cell(value))).join(",")}\n`).join("");
}

function records(text, separator) {
  const rows = [[""]];
  let quotes = false;
  for (let k = 0; k < text.length; k += 1) {
    const letter = text[k];
    const row = rows.at(-1);
    if (quotes && letter === '"' && text[k + 1] === '"') row[row.length - 1] += text[(k += 1)];
    else if (letter === '"' && (quotes || row.at(-1) === "")) quotes = !quotes;
    else if (quotes) row[row.length - 1] += letter;
    else if (letter === separator) row.push("");
    else if (letter === "\n") rows.push([""]);
    else if (letter !== "\r") row[row.length - 1] += letter;
  }
  if (quotes) throw new SiteError("the file has a quotation mark that is out of place.");
  return rows.map((row) => row.map((one) => one.trim()));
}

/** The lines of a file whose first has these columns, and what is between its cells. */
async function readLines(file, columns) {
  const has = ([first]) => columns.every((name) => first?.some((one) => one.toLowerCase() === name));
  const bytes = new Uint8Array(await file.arrayBuffer());
  if (bytes[0] === 0x50 && bytes[1] === 0x4b) {
    const rows = await readXlsx(bytes);
    if (has(rows)) return [rows, ""];
  }
  const text = new TextDecoder().decode(bytes).replace(/^\ufeff/, "");
  for (const separator of [",", ";", "\t"]) {
    const rows = records(text, separator);
    if (has(rows)) return [rows, separator];
  }
  throw new SiteError(`${file.name}: the first line must name the columns ${columns.join(", ")}.`);
}

/** The filled lines of a worksheet: [{line, trial, arm, rewards, site, sure}], or a refusal. */
export const readSheet = async (file) => filled(...(await readLines(file, NEEDED)));

/** The lines of an exported history, with the text of each of these columns. */
export async function readHistory(file, columns) {
  const [[first, ...rows]] = await readLines(file, columns);
  const places = columns.map((name) => first.findIndex((one) => one.toLowerCase() === name));
  const line = (row) => Object.fromEntries(columns.map((name, k) => [name, unwritten(row[places[k]] ?? "")]));
  return rows.filter((row) => row.some(Boolean)).map(line);
}

function filled([first, ...rows], separator) {
  const header = first.map((name) => name.toLowerCase());
  const at = (row, name) => row[header.indexOf(name)] ?? "";
  const found = rows.map((row, k) => {
    const more = row.filter((_, place) => /^reward\s?\d+$/.test(header[place] ?? ""));
    const [trial, arm, site, sure] = ["trial", "arm", "site", "sure"].map((name) => unwritten(at(row, name)));
    const rewards = [at(row, "reward"), ...more].filter(Boolean);
    const asked = { line: k + 2, trial: Number(trial), arm, site, rewards };
    return { ...asked, sure: !["", "no", "n", "0", "false"].includes(sure.toLowerCase()), refusal: moved(row, header, separator) };
  });
  return found.filter(({ rewards }) => rewards.length);
}

/** Between commas, `0,73` would read as 0 and a note. */
function moved(row, header, separator) {
  const place = header.indexOf("reward");
  const [reward, after] = [row[place] ?? "", row[place + 1] ?? ""];
  if (row.slice(header.length).some(Boolean)) return `it has ${row.length} cells, and the first line names ${header.length}.`;
  const two = separator === "," && header[place + 1] === "note" && /^\d+([eE][+-]?\d+)?$/.test(after);
  return two && !reward.includes(".") ? `${reward},${after} may be one number or two cells; write ${reward}.${after} if it is one.` : "";
}

// .xlsx: a zip of XML. Written without compression; read with the browser's own.

async function unzipped(bytes) {
  const view = new DataView(bytes.buffer);
  let end = bytes.length - 22;
  while (end >= 0 && view.getUint32(end, true) !== 0x06054b50) end -= 1;
  if (end < 0) throw new SiteError("the file is damaged: it is no .xlsx.");
  const parts = new Map();
  for (let k = view.getUint16(end + 10, true), at = view.getUint32(end + 16, true); k > 0; k -= 1) {
    const [how, size, name, extra, note] = [
      view.getUint16(at + 10, true), view.getUint32(at + 20, true), view.getUint16(at + 28, true),
      view.getUint16(at + 30, true), view.getUint16(at + 32, true),
    ];
    const local = view.getUint32(at + 42, true);
    const start = local + 30 + view.getUint16(local + 26, true) + view.getUint16(local + 28, true);
    const raw = new Blob([bytes.subarray(start, start + size)]);
    const read = () => new Response(how ? raw.stream().pipeThrough(new DecompressionStream("deflate-raw")) : raw).text();
    parts.set(new TextDecoder().decode(bytes.subarray(at + 46, at + 46 + name)), read);
    at += 46 + name + extra + note;
  }
  return async (name) => {
    const text = await (parts.get(name) ?? (() => "<none/>"))();
    return new DOMParser().parseFromString(text, "application/xml");
  };
}

async function readXlsx(bytes) {
  const part = await unzipped(bytes);
  const all = (node, name) => [...node.getElementsByTagNameNS("*", name)];
  const [first] = all(await part("xl/workbook.xml"), "sheet");
  const id = [...(first?.attributes ?? [])].find(({ localName, prefix }) => localName === "id" && prefix)?.value;
  const link = all(await part("xl/_rels/workbook.xml.rels"), "Relationship").find((one) => one.getAttribute("Id") === id);
  if (!link) throw new SiteError("the file has no sheet.");
  const target = link.getAttribute("Target").replace(/^\/?(xl\/)?/, "xl/");
  const words = (node) => all(node, "t").map((one) => one.textContent).join("");
  const shared = all(await part("xl/sharedStrings.xml"), "si").map(words);
  const rows = [];
  for (const one of all(await part(target), "c")) {
    const [, letters, line] = /^([A-Z]+)(\d+)$/.exec(one.getAttribute("r"));
    const column = [...letters].reduce((sum, letter) => sum * 26 + letter.charCodeAt(0) - 64, 0) - 1;
    const value = all(one, "v")[0]?.textContent ?? "";
    const kind = one.getAttribute("t") ?? "n";
    const text = kind === "s" ? shared[Number(value)] : kind === "inlineStr" ? words(one) : value;
    // A number of a spreadsheet can be read in one way only, and says so with a digit more.
    const sure = kind === "n" && /^-?\d{1,3}\.\d{3}$/.test(text) ? `${text}0` : text;
    (rows[line - 1] ??= [])[column] = sure.trim();
  }
  return Array.from(rows, (row) => Array.from(row ?? [], (text) => text ?? ""));
}

const TABLE = Uint32Array.from({ length: 256 }, (_, k) => {
  let x = k;
  for (let bit = 0; bit < 8; bit += 1) x = x & 1 ? (x >>> 1) ^ 0xedb88320 : x >>> 1;
  return x;
});

function zipped(files) {
  const [parts, directory] = [[], []];
  let at = 0;
  for (const [name, text] of files) {
    const [path, body] = [name, `<?xml version="1.0" encoding="UTF-8"?>${text}`].map((one) => new TextEncoder().encode(one));
    const sum = ~body.reduce((x, byte) => TABLE[(x ^ byte) & 255] ^ (x >>> 8), -1);
    const head = new DataView(new ArrayBuffer(26));
    [20, 0, 0, 0, 33].forEach((value, k) => head.setUint16(2 * k, value, true));
    [sum, body.length, body.length].forEach((value, k) => head.setInt32(10 + 4 * k, value, true));
    head.setUint16(22, path.length, true);
    parts.push(Uint32Array.of(0x04034b50), head, path, body);
    directory.push(Uint32Array.of(0x02014b50), Uint16Array.of(20), head, new Uint8Array(10), Uint32Array.of(at), path);
    at += 30 + path.length + body.length;
  }
  const size = directory.reduce((sum, one) => sum + one.byteLength, 0);
  const many = Uint16Array.of(0, 0, files.length, files.length);
  return new Blob([...parts, ...directory, Uint32Array.of(0x06054b50), many, Uint32Array.of(size, at), new Uint16Array(1)]);
}

/** A table as an .xlsx file; numbers are numbers there. */
export function toXlsx(rows) {
  const safe = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replace(/[\0-\x08\x0b\x0c\x0e-\x1f]/g, "");
  const one = (value, place, line) => {
    const name = `${String.fromCharCode(65 + place)}${line}`; // there are never more than 26 columns
    if (typeof value === "number") return `<c r="${name}"><v>${value}</v></c>`;
    return `<c r="${name}" t="inlineStr"><is><t xml:space="preserve">${safe(cell(value))}</t></is></c>`;
  };
  const line = (row, k) => `<row>${row.map((value, place) => one(value, place, k + 1)).join("")}</row>`;
  const sheet = rows.map(line).join("");
  const main = `xmlns="${SPACE}spreadsheetml/2006/main"`;
  const office = `${SPACE}officeDocument/2006/relationships`;
  const kind = "application/vnd.openxmlformats-officedocument.spreadsheetml";
  const links = (type, target) =>
    `<Relationships xmlns="${SPACE}package/2006/relationships"><Relationship Id="r1" Type="${office}/${type}" Target="${target}"/></Relationships>`;
  const types =
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>' +
    `<Override PartName="/xl/workbook.xml" ContentType="${kind}.sheet.main+xml"/>` +
    `<Override PartName="/xl/sheet.xml" ContentType="${kind}.worksheet+xml"/>`;
  return zipped([
    ["[Content_Types].xml", `<Types xmlns="${SPACE}package/2006/content-types">${types}</Types>`],
    ["_rels/.rels", links("officeDocument", "xl/workbook.xml")],
    ["xl/workbook.xml", `<workbook ${main} xmlns:r="${office}"><sheets><sheet name="plate" sheetId="1" r:id="r1"/></sheets></workbook>`],
    ["xl/_rels/workbook.xml.rels", links("worksheet", "sheet.xml")],
    ["xl/sheet.xml", `<worksheet ${main}><sheetData>${sheet}</sheetData></worksheet>`],
  ]);
}
