// What the page shows, and figures of it. Names of files and devices are never keys of objects, nor markup.
const data = JSON.parse(document.getElementById("data").textContent);
const say = (index) => data.texts[index];
const byId = (id) => document.getElementById(id);

const places = data.cells.map(([row, column, figures, details, implementations]) => ({
  row, column, details,
  figures: figures.map((one) => (Array.isArray(one)
    ? { value: one[0], low: one[1] ?? null, high: one[2] ?? null, note: one[3] == null ? "" : say(one[3]) }
    : { value: null, low: null, high: null, note: "", why: say(one) })),
  implementations: implementations.map(([name, arithmetic, role, seconds, spread, error, said, unsteady]) => ({
    name: say(name), arithmetic: say(arithmetic), role: data.roles[role], seconds, spread, error, said: say(said), unsteady: Boolean(unsteady),
  })),
}));
const grid = data.rows.map(() => new Array(data.columns.length).fill(null));
for (const place of places) grid[place.row][place.column] = place;

const state = { view: data.view, search: "", suite: "", arithmetic: "", everywhere: false, sort: null, falling: false,
  hidden: new Set(), device: 0 };

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "class") made.className = value; else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

// names of kernels have no spaces where a line could end
const breakable = (text) => text.split(/(?<=[_-])/).flatMap((part, index) => (index ? [document.createElement("wbr"), part] : [part]));

function digits(value) {
  const size = Math.abs(value);
  if (size >= 1e7 || (size > 0 && size < 1e-3)) return value.toExponential(2);
  return size >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(3)));
}

const shown = (value, view) => (view.share && value < 100 ? value.toFixed(2) : digits(value));

function spreadOf(figure) {
  if (figure.value === null || figure.low === null) return "";
  const width = Math.max(figure.high - figure.value, figure.value - figure.low) / figure.value;
  return width < 10 ? `±${(100 * width).toPrecision(2).replace(/\.0$/, "")}%` : "±large";
}

const shownColumns = () => data.columns.map((_, index) => index).filter((index) => !state.hidden.has(index));

function shownRows(columns) {
  const words = state.search.toLowerCase().split(/\s+/).filter(Boolean);
  return data.rows.map((_, index) => index).filter((index) => {
    const row = data.rows[index];
    if (state.suite && row.suite !== state.suite) return false;
    if (state.arithmetic && row.arithmetic !== state.arithmetic) return false;
    if (!words.every((word) => row.label.toLowerCase().includes(word))) return false;
    const found = columns.map((column) => grid[index][column]);
    if (state.everywhere) return found.every((place) => place && place.figures[state.view].value !== null);
    return found.some(Boolean);
  });
}

function geometricMean(values) {
  return values.length ? Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length) : null;
}

// the harmonic mean of efficiencies: 0 if one is 0, unknown if one is
function portability(efficiencies) {
  if (!efficiencies.length || efficiencies.some((value) => value === null)) return null;
  if (efficiencies.some((value) => value === 0)) return 0;
  return efficiencies.length / efficiencies.reduce((sum, value) => sum + 1 / value, 0);
}

const timesOf = (place) => place.implementations.filter((one) => one.seconds !== null).map((one) => one.seconds);

function efficiency(place, name) {
  if (!place) return null;
  const own = place.implementations.filter((one) => one.name === name);
  const times = own.filter((one) => one.seconds !== null).map((one) => one.seconds);
  const all = timesOf(place);
  if (times.length && all.length) return Math.min(...all) / Math.min(...times);
  if (own.length ? own.some((one) => !data.notRun.includes(one.said.split(":")[0])) : !all.length) return null;
  return 0;
}

// whether anybody else has a time: the fastest of one says nothing, and probes of roofs compete with nobody
function contested(row, columns) {
  if (data.rows[row].roof) return false;
  const others = columns.flatMap((column) => grid[row][column]?.implementations ?? []);
  return others.some((one) => (one.role === "vendor" || one.role === "peer") && one.seconds !== null);
}

function rowPortability(row, columns) {
  if (data.rows[row].roof) return null;
  const found = columns.map((column) => grid[row][column]);
  if (data.views[state.view].key === "roof") {
    return portability(found.map((place) => {
      const ours = place && place.implementations.find((one) => one.role === "ours");
      if (!ours) return null;
      if (ours.seconds === null) return data.notRun.includes(ours.said.split(":")[0]) ? 0 : null;
      const share = place.figures[state.view].value;
      return share === null ? null : Math.min(share, 1);
    }));
  }
  if (!contested(row, columns)) return null;
  const ours = found.flatMap((place) => (place ? place.implementations : [])).find((one) => one.role === "ours");
  return ours ? portability(found.map((place) => efficiency(place, ours.name))) : null;
}

// why an implementation's portability is 0: the first problem that it does not run, and where
function missing(rows, columns, name) {
  for (const row of rows.filter((one) => !data.rows[one].roof)) {
    for (const column of columns) {
      const place = grid[row][column];
      if (!place || !timesOf(place).length || efficiency(place, name) !== 0) continue;
      const own = place.implementations.find((one) => one.name === name);
      return `${data.rows[row].label} on ${data.columns[column].letter}: ${own ? own.said.split(":")[0] : "not there"}`;
    }
  }
  return "";
}

// what another than ours supports nowhere is no problem of its own
const has = (place, name) => place.implementations.some((one) => one.name === name && (one.role === "ours" || one.seconds !== null || one.said.split(":")[0] !== "not supported"));

function cascades(rows, columns) {
  const common = rows.filter((row) => contested(row, columns) && columns.every((column) => grid[row][column] && timesOf(grid[row][column]).length));
  const names = new Map();
  for (const row of common) {
    for (const column of columns) for (const one of grid[row][column].implementations) names.set(one.name, one.role);
  }
  const made = [];
  for (const [name, role] of names) {
    const own = common.filter((row) => columns.some((column) => has(grid[row][column], name)));
    const found = columns.map((column) => {
      const values = own.map((row) => efficiency(grid[row][column], name));
      if (values.some((value) => value === null)) return null;
      return values.every((value) => value > 0) ? geometricMean(values) : 0;
    });
    if (found.some((value) => value === null)) continue;
    const order = columns.map((column, index) => [column, found[index]]).sort((a, b) => b[1] - a[1] || a[0] - b[0]);
    const falling = order.map(([, value]) => value);
    made.push({ name, role, problems: own.length, devices: order.map(([column]) => column), efficiencies: falling,
      metric: falling.map((_, index) => portability(falling.slice(0, index + 1))) });
  }
  const total = (one) => one.efficiencies.reduce((sum, value) => sum + value, 0);
  made.sort((a, b) => (b.role === "ours") - (a.role === "ours") || total(b) - total(a));
  return { common: common.length, lines: made };
}
