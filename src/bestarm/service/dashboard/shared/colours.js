// The colours of the style sheet, for what is drawn on a canvas.

/** Read anew for every drawing, since the theme may have changed. */
export function colours() {
  const style = getComputedStyle(document.documentElement);
  const names = ["card", "ink", "soft", "line", "leader", "fill", "rival", "good"];
  const found = names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]);
  return { ...Object.fromEntries(found), font: style.fontFamily };
}
