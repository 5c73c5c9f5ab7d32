// The token: in this tab's session storage and in a header, never in an address.

const KEY = "bestarm-token";

export const token = () => sessionStorage.getItem(KEY);
export const keep = (value) => sessionStorage.setItem(KEY, value);
export const forget = () => sessionStorage.removeItem(KEY);
