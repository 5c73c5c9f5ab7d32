// Which page is shown: sign in, the list, a study, or a new one; the address says which, without the token.

import { read, Refusal } from "./shared/api.js";
import { part, say, show } from "./shared/dom.js";
import { createPage } from "./act/create.js";
import { listPage } from "./list_page.js";
import * as notice from "./shared/notice.js";
import * as session from "./shared/session.js";
import { studyPage } from "./study/study_page.js";

let current = new AbortController();

/** Leave the page that is open and show the one that the address names. */
async function open() {
  current.abort();
  current = new AbortController();
  const { signal } = current;
  notice.clear();
  const [, kind, name, invited] = location.hash.split("/");
  if (kind === "join" && invited) return enter(decoded(invited), decoded(name));
  const bench = session.bench();
  if (!session.token() && bench) session.keep(bench.token);
  part(document, "leave").hidden = !session.token();
  const mine = bench !== null && bench.token === session.token();
  part(document, "to-bench").hidden = !mine;
  if (!session.token()) return signIn();
  if (kind === "bench" || (mine && !kind)) {
    await (await import("./bench/page.js")).benchPage(refused, signal);
    return;
  }
  const admin = await mayAct(signal);
  if (signal.aborted) return;
  if (kind === "studies" && name) await studyPage(decoded(name), refused, signal, admin);
  else if (kind === "new" && admin) createPage(signal);
  else await listPage(refused, signal, admin);
}

/** Whether the token is an administrator's; while the server is away, nothing to act with is shown. */
async function mayAct(signal) {
  try {
    return (await read("v1/token", { signal })).role === "admin";
  } catch {
    return false; // what is wrong with the token is said by what is read next
  }
}

/** Take a token from an invitation, out of the address bar, and go where it leads. */
async function enter(token, study) {
  const known = session.bench()?.token === token; // it opens without a network, too
  if (!known) session.forget();
  session.keep(token);
  history.replaceState(null, "", "#/");
  try {
    const { role } = known ? { role: "agent" } : await read("v1/token");
    location.hash = role === "agent" ? "#/bench" : `#/studies/${encodeURIComponent(study)}`;
  } catch (error) {
    refused(error, () => enter(token, study));
  }
}

/** A name from the address; one that was not written by this page is taken as it is. */
function decoded(name) {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

/** A refusal that will last: another token may help, or another page; else trying again. */
function refused(error, again = open) {
  current.abort();
  notice.clear();
  if (error instanceof Refusal && error.status === 401) {
    session.forget();
    part(document, "leave").hidden = true;
    return signIn(error.message);
  }
  if (!(error instanceof Refusal)) console.error(error);
  notice.tell(error.message, ...(error.lasting ? [] : ["Try again", again]));
  return undefined;
}

function signIn(problem = "") {
  const page = show("sign-in");
  document.title = "bestarm";
  const input = page.querySelector("#token");
  const error = part(page, "error");
  say(error, problem);
  input.focus();
  part(page, "form").addEventListener("submit", async (event) => {
    event.preventDefault();
    session.keep(input.value.trim());
    say(error, "");
    try {
      const { role } = await read("v1/token");
      if (role === "agent" && !location.hash.startsWith("#/studies/")) {
        if (location.hash === "#/bench") await open();
        else location.hash = "#/bench";
        return;
      }
      const { studies } = await read("v1/studies");
      const only = studies.length === 1 ? `#/studies/${encodeURIComponent(studies[0].study)}` : "";
      if (only && location.hash.length < 3) location.hash = only;
      else await open();
    } catch (failure) {
      session.forget();
      say(error, failure.message);
      input.select();
    }
  });
}

/** The theme: what the browser prefers, or what was chosen here. */
function themes() {
  const button = part(document, "theme");
  const preferred = matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;
  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : preferred.matches);
  const label = () => {
    say(button, dark() ? "Light" : "Dark");
    button.setAttribute("aria-label", dark() ? "Switch to the light theme" : "Switch to the dark theme");
    document.dispatchEvent(new Event("themed"));
  };
  button.addEventListener("click", () => {
    const wanted = dark() ? "light" : "dark";
    root.dataset.theme = wanted;
    localStorage.setItem("bestarm-theme", wanted);
    label();
  });
  preferred.addEventListener("change", label);
  label();
}

part(document, "leave").addEventListener("click", () => {
  session.forget();
  if (location.hash.length > 2) location.hash = "#/";
  else open();
});
part(document, "skip").addEventListener("click", (event) => {
  event.preventDefault();
  part(document, "content").focus();
});
window.addEventListener("hashchange", open);
themes();
open();
