// The colours of the style sheet, for what is drawn on a canvas.

/** Read anew for every drawing, since the theme may have changed. */
export function colours() {
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue(`--${name}`).trim();
  return {
    card: of("card"),
    ink: of("ink"),
    soft: of("soft"),
    line: of("line"),
    leader: of("leader"),
    fill: of("fill"),
    rival: of("rival"),
    good: of("good"),
    font: style.fontFamily,
  };
}
