// Invitations, shown once as a link and a QR code; and all tokens of a study, to be revoked.

import { at, call, read, send } from "../shared/api.js";
import { announce, make } from "../shared/dom.js";
import { ask, tell } from "./dialog.js";

const ROLES = [["agent", "a site, which experiments"], ["viewer", "somebody who only looks"]];

/** Ask for whom, make the token, and show it. */
export async function invite(study, changed) {
  const made = await ask({
    title: "Invite a site",
    fields: [
      { name: "role", label: "For", options: ROLES },
      { name: "agent", label: "Name of the site", help: "Letters, digits, dots, dashes; a viewer needs none." },
    ],
    yes: "Make an invitation",
    act: ({ role, agent }) => send("POST", at(study, "/tokens"), role === "agent" ? { role, agent } : { role }),
  });
  if (!made) return;
  changed();
  await shown(study, made);
}

/** The address of a site's bench; the token is behind the #, which no server sees. */
const link = (study, token) =>
  `${location.origin}${location.pathname}#/join/${encodeURIComponent(study)}/${encodeURIComponent(token)}`;

async function shown(study, { token, role, agent }) {
  const site = role === "agent";
  const parts = [make("p", {}, "This is shown once. Whoever has it can act as this ", site ? "site" : "viewer", ", so pass it on in person or by a safe way.")];
  const picture = make("img", { className: "qr", alt: "The link as a QR code", hidden: true });
  parts.push(kept("Link", link(study, token)), kept("Token", token), picture);
  const closed = tell(`Invitation for ${site ? agent : "a viewer"}`, parts, "I have passed it on", "main");
  try {
    const drawn = await call("v1/qr", { method: "POST", body: { text: link(study, token) } });
    picture.src = URL.createObjectURL(await drawn.blob());
    picture.hidden = false;
  } catch {
    picture.remove(); // the link is there
  }
  await closed;
  if (picture.src) URL.revokeObjectURL(picture.src);
}

/** A text in a field of its own, with a button that copies it. */
function kept(label, value) {
  const input = make("input", { readOnly: true, value, onfocus: () => input.select(), "aria-label": label });
  const onclick = () => {
    input.select();
    if (!document.execCommand("copy")) return; // `navigator.clipboard` is there with https only
    copy.textContent = "Copied";
    announce(`${label} copied.`);
  };
  const copy = make("button", { type: "button", onclick, "aria-label": `Copy the ${label.toLowerCase()}` }, "Copy");
  return make("div", { className: "kept" }, make("span", { className: "label" }, label), input, copy);
}

/** All tokens of a study, with a button to revoke each. */
export async function tokens(study) {
  const list = make("ul", { className: "tokens" });
  const closed = tell("Tokens", [list]);
  const draw = async () => {
    const found = (await read(at(study, "/tokens"))).tokens;
    list.replaceChildren(...found.map((token) => row(study, token, draw)));
    if (!found.length) list.append(make("li", {}, "None was made yet."));
  };
  await draw().catch((error) => list.replaceChildren(make("li", { className: "error" }, error.message)));
  await closed;
}

function row(study, token, draw) {
  const who = token.agent ?? token.role;
  const made = new Date(token.created_at).toLocaleDateString("en-GB", { dateStyle: "medium" });
  const about = make("span", {}, make("bdi", {}, who), " ", make("span", { className: "soft" }, `${token.id}, made ${made}`));
  if (token.revoked_at) return make("li", {}, about, make("span", { className: "tag" }, "Revoked"));
  const title = `Revoke the token of ${who}`;
  const onclick = async () => {
    const text = "Nothing is lost: what the site has done stays with it, and goes on with another token.";
    const act = () => send("DELETE", at(study, `/tokens/${token.id}`));
    if (await ask({ title, text, yes: "Revoke it", danger: true, act })) await draw();
  };
  return make("li", {}, about, make("button", { type: "button", onclick, "aria-label": title }, "Revoke…"));
}
