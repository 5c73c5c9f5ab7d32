// Light or dark, before anything is drawn. Without a choice the browser's preference holds.
"use strict";
(() => {
  const kept = localStorage.getItem("bestarm-theme");
  if (kept === "light" || kept === "dark") document.documentElement.dataset.theme = kept;
})();
