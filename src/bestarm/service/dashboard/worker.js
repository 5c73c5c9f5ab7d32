// The page without a network: its own files, of one version.
// What the server says about studies is never kept, and never answered from here.
"use strict";

const CACHE = "bestarm-page";
const own = (url) => url.origin === location.origin && !/^\/(v1|healthz|metrics|openapi\.json)/.test(url.pathname);

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

let last = Promise.resolve(); // two at once delete each other's

/** The files that the page is made of: fetched anew, they replace the old ones together. */
self.addEventListener("message", (event) => {
  const keep = async () => {
    const next = `${CACHE}-${Date.now()}`;
    try {
      const files = event.data.filter((path) => own(new URL(path, location)));
      await (await caches.open(next)).addAll(files.map((path) => new Request(path, { cache: "no-cache" })));
    } catch {
      await caches.delete(next); // the network went away: the old ones stay
      return;
    }
    for (const name of await caches.keys()) if (name !== next) await caches.delete(name);
    event.source.postMessage("kept");
  };
  event.waitUntil((last = last.then(keep, keep)));
});

self.addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.method !== "GET" || !own(new URL(request.url))) return;
  const kept = (error) =>
    caches.match(request, { ignoreSearch: true }).then((found) => found ?? Promise.reject(error));
  event.respondWith(fetch(request).catch(kept));
});
