// The colours of the style sheet, for what is drawn on a canvas.

/** Read anew for every drawing, since the theme may have changed. */
export function colours() {
  const probe = document.body.appendChild(document.createElement("i"));
  const style = getComputedStyle(probe);
  const named = (name) => {
    probe.style.color = `var(--${name})`;
    return [name, style.color];
  };
  const found = ["card", "ink", "soft", "line", "leader", "fill", "rival", "good"].map(named);
  const font = style.fontFamily;
  probe.remove();
  return { ...Object.fromEntries(found), font };
}
