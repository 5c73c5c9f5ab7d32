// The token: in this tab's session storage and in a header, never in an address. A site's is kept for its bench, too.

const KEY = "bestarm-token";
const BENCH = "bestarm-bench";

export const token = () => sessionStorage.getItem(KEY);
export const keep = (value) => sessionStorage.setItem(KEY, value);

/** Whose bench this browser is: {token, study, agent}. Kept until somebody signs out. */
export const bench = () => JSON.parse(localStorage.getItem(BENCH));
export const keepBench = (who) => localStorage.setItem(BENCH, JSON.stringify(who));

export function forget() {
  sessionStorage.removeItem(KEY);
  localStorage.removeItem(BENCH);
}
