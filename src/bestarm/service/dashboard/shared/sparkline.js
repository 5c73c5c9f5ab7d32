// A line the size of a word.

const SVG = "http://www.w3.org/2000/svg";
const [WIDTH, HEIGHT] = [96, 24];

/** How evidence went, from 0 at the bottom to 1 at the top. */
export function sparkline() {
  const picture = document.createElementNS(SVG, "svg");
  picture.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
  picture.setAttribute("class", "sparkline");
  picture.setAttribute("aria-hidden", "true");
  const goal = document.createElementNS(SVG, "path");
  goal.setAttribute("class", "goal");
  goal.setAttribute("d", `M0 2H${WIDTH}`);
  const line = document.createElementNS(SVG, "path");
  picture.append(goal, line);
  picture.draw = (values) => line.setAttribute("d", path(values));
  return picture;
}

/** The path of such a line. */
export function path(values) {
  const x = (k) => (values.length > 1 ? (k * (WIDTH - 2)) / (values.length - 1) + 1 : WIDTH / 2);
  const y = (value) => HEIGHT - 2 - (HEIGHT - 4) * Math.min(Math.max(value, 0), 1);
  const points = values.map((value, k) => `${x(k).toFixed(1)} ${y(value).toFixed(1)}`);
  return points.length ? `M${points.join("L")}` : "";
}
