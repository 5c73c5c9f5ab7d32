// Files for the reader to keep.

import { at, call } from "../shared/api.js";
import { make } from "../shared/dom.js";

/** Hand a file over. */
export function save(blob, name) {
  const link = make("a", { href: URL.createObjectURL(blob), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** The study's log as the server exports it. */
export async function saveLog(study, format) {
  const response = await call(at(study, `/export?format=${format}`));
  save(await response.blob(), `${study}.${format}`);
}

/** A canvas as a picture. */
export const savePicture = (canvas, name) => canvas.toBlob((blob) => save(blob, `${name}.png`), "image/png");

/** The report, on a page of its own; where windows are not opened, as a file. */
export async function openReport(study) {
  const report = await (await call(at(study, "/report"))).blob();
  const address = URL.createObjectURL(report);
  if (!window.open(address)) save(report, `${study}-report.html`);
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
