// Plots as SVG: their colours follow the page's, and each point is a place that can be reached by the keyboard.
const SVG = "http://www.w3.org/2000/svg";
const SHAPES = [
  (r) => `M${-r},0a${r},${r} 0 1,0 ${2 * r},0a${r},${r} 0 1,0 ${-2 * r},0`,
  (r) => `M${-r},${-r}h${2 * r}v${2 * r}h${-2 * r}z`,
  (r) => `M0,${-1.25 * r}L${1.2 * r},${r}H${-1.2 * r}z`,
  (r) => `M0,${-1.35 * r}L${1.35 * r},0L0,${1.35 * r}L${-1.35 * r},0z`,
  (r) => `M${-r},${-r}L0,${-r / 3}L${r},${-r}L${r / 3},0L${r},${r}L0,${r / 3}L${-r},${r}L${-r / 3},0z`,
  (r) => `M0,${1.25 * r}L${1.2 * r},${-r}H${-1.2 * r}z`,
];
const colour = (index) => `var(--s${index % 6})`;

function svg(name, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "style") for (const [property, text] of Object.entries(value)) made.style.setProperty(property, text);
    else made.setAttribute(key, String(value));
  }
  made.append(...children);
  return made;
}

function key(index, text) {
  const shape = svg("path", { d: SHAPES[index % SHAPES.length](5), transform: "translate(7 7)", style: { fill: colour(index) } });
  return element("li", {}, svg("svg", { viewBox: "0 0 14 14", "aria-hidden": "true" }, shape), text);
}

const box = { width: 680, height: 430, left: 62, right: 18, top: 14, bottom: 48 };
const narrow = matchMedia("(max-width: 46rem)");
const fit = () => { box.width = narrow.matches ? 400 : 680; }; // text keeps its size on a phone
const gutter = () => (narrow.matches ? 100 : 196); // for what the compute roofs are called, right of a roofline
const rounded = (value) => Math.round(value * 100) / 100;

function logScale(low, high, start, end) {
  const [from, to] = [Math.log10(low), Math.log10(high)];
  return (value) => rounded(start + ((Math.log10(value) - from) / (to - from || 1)) * (end - start));
}

function decades(low, high) {
  const found = [];
  for (let power = Math.ceil(Math.log10(low) - 1e-9); power <= Math.log10(high) + 1e-9; power += 1) found.push(10 ** power);
  return found;
}

function tickText(value) {
  const power = Math.round(Math.log10(value));
  if (power >= -2 && power <= 3) return String(Number(value.toPrecision(1)));
  return `10${[...String(power)].map((sign) => "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079"[Number(sign)] ?? "\u207b").join("")}`;
}

const peakText = (rate) => (rate >= 1e4 ? `${digits(rate / 1e3)} TFLOP/s` : `${digits(rate)} GFLOP/s`);

function logAxes(chart, x, y, xRange, yRange, xTitle, yTitle) {
  for (const value of decades(...xRange)) {
    chart.append(svg("line", { class: "grid", x1: x(value), x2: x(value), y1: box.top, y2: box.height - box.bottom }),
      svg("text", { class: "tick", x: x(value), y: box.height - box.bottom + 18, "text-anchor": "middle" }, tickText(value)));
  }
  for (const value of decades(...yRange)) {
    chart.append(svg("line", { class: "grid", x1: box.left, x2: box.width - box.right, y1: y(value), y2: y(value) }),
      svg("text", { class: "tick", x: box.left - 8, y: y(value) + 4, "text-anchor": "end" }, tickText(value)));
  }
  axisTitles(chart, xTitle, yTitle);
}

function axisTitles(chart, xTitle, yTitle) {
  const middle = (box.height - box.bottom + box.top) / 2;
  chart.append(svg("text", { x: (box.left + box.width - box.right) / 2, y: box.height - 8, "text-anchor": "middle" }, xTitle),
    svg("text", { x: 14, y: middle, "text-anchor": "middle", transform: `rotate(-90 14 ${middle})` }, yTitle));
}

function rooflinePoints(rows, column) {
  const found = [];
  for (const row of rows) {
    const place = grid[row][column];
    const { flops, bytes, suite } = data.rows[row];
    const ours = place?.implementations.find((one) => one.role === "ours" && one.seconds !== null);
    if (ours && flops && bytes) found.push({ place, suite, x: flops / bytes, y: flops / ours.seconds / 1e9 });
  }
  return found;
}

function drawRoofline(rows) {
  const device = data.columns[state.device];
  const points = rooflinePoints(rows, state.device);
  const memory = device.bandwidths.find(([name]) => name === "copy")?.[1];
  const area = byId("roofline");
  if (!points.length) {
    area.replaceChildren(element("p", { class: "empty" }, "No kernel here has a time, and known operations and bytes."));
    return;
  }
  const top = Math.max(...device.peaks.map(([, rate]) => rate), ...points.map((point) => point.y));
  const ridges = memory ? device.peaks.map(([, rate]) => rate / memory) : [];
  const xs = [...points.map((point) => point.x), ...ridges];
  const xRange = [10 ** Math.floor(Math.log10(Math.min(...xs))), 10 ** Math.ceil(Math.log10(2 * Math.max(...xs)))];
  const yRange = [10 ** Math.floor(Math.log10(Math.min(...points.map((point) => point.y)))), 10 ** Math.ceil(Math.log10(top * 1.3))];
  box.right = device.peaks.length ? gutter() : 18;
  const x = logScale(...xRange, box.left, box.width - box.right);
  const y = logScale(...yRange, box.height - box.bottom, box.top);
  const chart = svg("svg", { class: "chart", viewBox: `0 0 ${box.width} ${box.height}`, role: "group",
    "aria-label": `Roofline of ${device.title}: ${points.length} kernels, ${device.peaks.length} compute roofs, ${device.bandwidths.length} memory roofs` });
  logAxes(chart, x, y, xRange, yRange, "arithmetic intensity, FLOP/byte", "GFLOP/s");
  const names = svg("g", { "pointer-events": "none" });
  drawRoofs(chart, names, device, x, y, xRange, yRange, top);
  const suites = [...new Set(data.rows.map((row) => row.suite))];
  const group = svg("g");
  const marks = points.map((point) => {
    const index = suites.indexOf(point.suite);
    const row = data.rows[point.place.row];
    const mark = svg("path", { class: "point", d: SHAPES[index % SHAPES.length](5.5), transform: `translate(${x(point.x)} ${y(point.y)})`, role: "button",
      "aria-label": `${row.label}: ${digits(point.y)} GFLOP/s at ${digits(point.x)} FLOP/byte`, style: { fill: colour(index) } });
    panels.set(mark, () => describe(point.place));
    return mark;
  });
  group.append(...marks);
  rove(group, marks);
  chart.append(group, names);
  const keys = element("ul", { class: "keys" });
  suites.forEach((suite, index) => { if (points.some((point) => point.suite === suite)) keys.append(key(index, suite)); });
  area.replaceChildren(chart, keys, roofsText(device));
}

// all roofs in words: in the plot there is no room for each
function roofsText({ peaks, bandwidths }) {
  const told = [...peaks.map(([name, rate]) => `${name} ${peakText(rate)}`), ...bandwidths.map(([name, rate]) => `${name === "copy" ? "memory" : name} ${digits(rate)} GB/s`)];
  if (!told.length) return element("p", { class: "quiet" }, "No roof of this device was measured.");
  return element("details", { class: "roofs" }, element("summary", {}, "All measured roofs"), element("ul", {}, ...told.map((text) => element("li", {}, text))));
}

function wrapped(parts, width) {
  const lines = [];
  for (const part of parts) {
    if (lines.length && lines.at(-1).length + part.length < width) lines[lines.length - 1] += ` ${part}`; else lines.push(part);
  }
  return lines;
}

// compute roofs, from the highest down: those within 5% share a label, and labels in the gutter keep clear of each other
function drawRoofs(chart, names, device, x, y, xRange, yRange, top) {
  const memory = device.bandwidths.find(([name]) => name === "copy")?.[1];
  const peaks = [...device.peaks].sort((a, b) => b[1] - a[1]);
  const right = box.width - box.right;
  let free = 0; // where a label may begin
  let told = [];
  peaks.forEach(([name, rate], index) => {
    const start = memory ? Math.max(rate / memory, xRange[0]) : xRange[0];
    chart.append(svg("path", { class: "roof", d: `M${x(start)},${y(rate)}H${right}` }));
    told.push([name.replace(/ matrix unit$/, " (matrix)"), rate]);
    if (peaks[index + 1]?.[1] >= told[0][1] / 1.05) return;
    const text = told.map(([one], at) => (at < told.length - 1 ? `${one},` : one));
    const lines = narrow.matches ? [peakText(told[0][1])] : wrapped([...text, peakText(told[0][1])], 28);
    const begin = Math.max(free, y(told[0][1]) - 6.5 * lines.length);
    lines.forEach((line, at) => names.append(svg("text", { class: "label", x: right + 15, y: rounded(begin + 10.5 + 13 * at) }, line)));
    chart.append(svg("path", { class: "leader", d: `M${right},${y(told[0][1])}L${right + 12},${rounded(begin + 6.5 * lines.length)}` }));
    free = begin + 13 * lines.length + 4;
    told = [];
  });
  drawBandwidths(chart, names, device, x, y, xRange, yRange, top);
}

// memory first, then the fastest, then what there is room for; all of them stand below in words
function drawBandwidths(chart, names, device, x, y, xRange, yRange, top) {
  const order = [...device.bandwidths].sort((a, b) => (b[0] === "copy") - (a[0] === "copy") || b[1] - a[1]);
  const drawn = [];
  for (const [name, rate] of order) {
    const end = Math.min(top / rate, xRange[1]);
    const start = Math.max(xRange[0], yRange[0] / rate);
    if (start >= end) continue;
    const angle = Math.atan2(y(end * rate) - y(start * rate), x(end) - x(start));
    const decade = y(rate * start) - y(rate * start * 10);
    if (drawn.some((other) => Math.abs(Math.log10(other / rate)) * decade * Math.cos(angle) < 17)) continue;
    drawn.push(rate);
    chart.append(svg("path", { class: `roof${name === "copy" ? "" : " cache"}`, d: `M${x(start)},${y(start * rate)}L${x(end)},${y(end * rate)}` }));
    const at = start * 10 ** 0.1;
    names.append(svg("text", { class: "label", transform: `translate(${x(at)} ${rounded(y(at * rate) - 5)}) rotate(${rounded((angle * 180) / Math.PI)})` }, `${name === "copy" ? "memory" : name} ${digits(rate)} GB/s`));
  }
}

function drawCascade({ common, lines }, columns) {
  const area = byId("cascade");
  const most = lines.slice(0, 6);
  byId("cascade-about").textContent = common
    ? `Efficiency is the best time of anybody on a device over an implementation's, the geometric mean of those of the ${common} shown problems of every device that the implementation has; 0 where it does not run one. Solid: by falling efficiency; dotted: the metric, the harmonic mean of the first devices.`
    : "";
  if (!most.length || columns.length < 2) {
    area.replaceChildren(element("p", { class: "empty" }, "It takes two devices, and problems that each of them has."));
    return;
  }
  box.right = 18;
  const strip = 22 * most.length;
  const height = box.height + strip;
  const x = (index) => rounded(box.left + 24 + (index * (box.width - box.left - box.right - 48)) / Math.max(1, columns.length - 1));
  const y = (value) => rounded(box.height - box.bottom - value * (box.height - box.bottom - box.top));
  const chart = svg("svg", { class: "chart", viewBox: `0 0 ${box.width} ${height}`, role: "img",
    "aria-label": most.map((one) => `${one.name}: portability ${one.metric.at(-1).toFixed(2)}`).join("; ") });
  for (const value of [0, 0.2, 0.4, 0.6, 0.8, 1]) {
    chart.append(svg("line", { class: "grid", x1: box.left, x2: box.width - box.right, y1: y(value), y2: y(value) }), svg("text", { class: "tick", x: box.left - 8, y: y(value) + 4, "text-anchor": "end" }, value.toFixed(1)));
  }
  columns.forEach((_, index) => chart.append(svg("text", { class: "tick", x: x(index), y: box.height - box.bottom + 18, "text-anchor": "middle" }, String(index + 1))));
  axisTitles(chart, "devices, by falling efficiency of each", "efficiency");
  most.forEach((one, index) => {
    const path = (values) => values.map((value, at) => `${at ? "L" : "M"}${x(at)},${y(value)}`).join("");
    chart.append(svg("path", { class: "line metric", d: path(one.metric), style: { stroke: colour(index) } }), svg("path", { class: "line", d: path(one.efficiencies), style: { stroke: colour(index) } }));
    one.efficiencies.forEach((value, at) => chart.append(svg("path", { d: SHAPES[index](4.5), transform: `translate(${x(at)} ${y(value)})`, style: { fill: colour(index) } })));
    const level = box.height + 10 + 22 * index;
    chart.append(svg("path", { d: SHAPES[index](5), transform: `translate(${box.left - 30} ${level - 4})`, style: { fill: colour(index) } }));
    one.devices.forEach((column, at) => chart.append(svg("text", { x: x(at), y: level, "text-anchor": "middle", opacity: one.efficiencies[at] ? 1 : 0.45 }, one.efficiencies[at] ? data.columns[column].letter : `(${data.columns[column].letter})`)));
  });
  const keys = element("ul", { class: "keys" }, ...most.map((one, index) => key(index, `${one.name}: ${one.metric.at(-1).toFixed(2)} (${one.problems} problems)`)));
  if (lines.length > most.length) keys.append(element("li", {}, `and ${lines.length - most.length} more`));
  area.replaceChildren(chart, keys);
}
