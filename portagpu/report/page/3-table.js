// The heat map: a table whose cells are buttons.
function headings(columns, several) {
  const line = element("tr", {}, heading(null, element("span", { class: "name" }, "Problem")));
  for (const column of columns) {
    const { letter, short, title, driver } = data.columns[column];
    const made = heading(column, element("span", { class: "letter" }, letter), element("small", {}, driver), element("span", { class: "name" }, short));
    made.title = title;
    line.append(made);
  }
  if (several) line.append(heading("portability", element("span", { class: "name" }, "Portability")));
  byId("matrix").tHead.replaceChildren(line);
}

function heading(key, ...children) {
  const button = element("button", { type: "button" }, ...children);
  button.lastChild.append(element("span", { class: "order", "aria-hidden": "true" }));
  button.addEventListener("click", () => sortBy(key));
  const made = element("th", { scope: "col" }, button);
  made.dataset.key = key === null ? "problem" : String(key);
  made.setAttribute("aria-sort", state.sort !== key ? "none" : state.falling ? "descending" : "ascending");
  return made;
}

function sortBy(key) {
  const first = key !== null; // numbers begin with the largest
  state.falling = state.sort === key ? !state.falling : first;
  state.sort = key;
  closeTip();
  drawTable(left.rows, left.columns);
  tellStatus();
  const pressed = [...byId("matrix").tHead.rows[0].cells].find((one) => one.dataset.key === (key === null ? "problem" : String(key)));
  pressed?.querySelector("button").focus({ preventScroll: true });
}

function ordered(rows, columns) {
  const sign = state.falling ? -1 : 1;
  if (state.sort === null) return state.falling ? [...rows].reverse() : rows;
  const value = (row) => (state.sort === "portability" ? metricOf(row, columns) : grid[row][state.sort]?.figures[state.view].value ?? null);
  const keyed = rows.map((row) => [row, value(row)]);
  keyed.sort(([a, x], [b, y]) => (x === null) - (y === null) || sign * (x - y) || a - b);
  return keyed.map(([row]) => row);
}

// how strongly a cell is coloured, and in which direction
function tone(figure, view, row, columns) {
  if (view.share) {
    const factor = Math.log2(Math.max(figure.value, 1e-6));
    return { kind: factor < 0 ? "less" : "more", strength: Math.min(1, Math.abs(factor)) };
  }
  const values = columns.map((column) => grid[row][column]?.figures[state.view].value).filter((value) => value > 0);
  const best = view.more ? Math.max(...values) : Math.min(...values);
  return { kind: "more", strength: view.more ? figure.value / best : best / figure.value };
}

function cell(place, row, columns) {
  const view = data.views[state.view];
  if (!place) return element("td");
  const figure = place.figures[state.view];
  const ours = place.implementations[0]; // what the figures are of, where there is any of ours
  const button = element("button", { class: "cell", type: "button", tabindex: "-1" });
  if (figure.value === null) {
    button.classList.add("absent");
    if (data.bad.includes(figure.why)) button.classList.add("bad");
    button.append(figure.why);
  } else {
    const { kind, strength } = tone(figure, view, row, columns);
    button.classList.add(kind);
    button.style.setProperty("--t", strength.toFixed(3));
    const mark = ours?.unsteady ? element("span", { title: "unsteady" }, "~", element("span", { class: "sr" }, " unsteady")) : "";
    button.append(element("span", {}, shown(figure.value, view), mark));
    const spread = spreadOf(figure);
    if (spread) button.append(element("small", {}, spread));
  }
  panels.set(button, () => describe(place));
  return element("td", {}, button);
}

function rowHeading(row) {
  const { name, arithmetic, size, unit, remark } = data.rows[row];
  const second = [size, ...(data.views[state.view].key === "rate" ? [unit] : []), remark].filter(Boolean).join(" · ");
  return element("th", { scope: "row" }, element("b", {}, ...breakable(name)), arithmetic ? ` ${arithmetic}` : "", element("small", {}, second));
}

// lines are made once for a view and its devices: sorting and filtering only place them
const made = { of: "", lines: new Map(), metrics: new Map() };

function keep(columns) {
  const of = `${state.view}/${columns}`;
  if (made.of === of) return;
  made.of = of;
  made.lines.clear();
  made.metrics.clear();
}

function metricOf(row, columns) {
  keep(columns);
  if (!made.metrics.has(row)) made.metrics.set(row, columns.length > 1 ? rowPortability(row, columns) : null);
  return made.metrics.get(row);
}

function lineOf(row, columns) {
  keep(columns);
  if (!made.lines.has(row)) {
    const line = element("tr", {}, rowHeading(row), ...columns.map((column) => cell(grid[row][column], row, columns)));
    const metric = metricOf(row, columns);
    if (columns.length > 1) line.append(element("td", { class: "portability" }, metric === null ? "–" : metric.toFixed(2)));
    made.lines.set(row, { line });
  }
  return made.lines.get(row);
}

function groupLine(suite, count, columns) {
  const label = `${suite} · ${count} problem${count > 1 ? "s" : ""}`;
  return element("tr", { class: "group" }, element("th", { scope: "rowgroup" }, label), element("td", { colspan: String(columns.length + (columns.length > 1 ? 1 : 0)) }));
}

// A browser takes seconds to lay out thousands of cells: lines come as they are scrolled to.
const AT_ONCE = 200;
const waiting = { lines: [] };

function showMore(count = AT_ONCE) {
  const body = byId("matrix").tBodies[0];
  body.querySelector(".rest")?.remove();
  body.append(...waiting.lines.splice(0, count).map((make) => make()));
  if (!waiting.lines.length) return;
  const button = element("button", { class: "button", type: "button" }, `Show ${waiting.lines.length} more lines`);
  button.addEventListener("click", () => { const last = body.rows[body.rows.length - 2]; showMore(Infinity); last.nextElementSibling?.querySelector(".cell")?.focus(); });
  body.append(element("tr", { class: "rest" }, element("td", { colspan: String(shownColumns().length + 2) }, button)));
}

function drawTable(rows, columns) {
  const table = byId("matrix");
  const several = columns.length > 1;
  headings(columns, several);
  table.style.setProperty("--columns", String(columns.length + (several ? 1 : 0)));
  const counts = new Map();
  for (const row of rows) counts.set(data.rows[row].suite, (counts.get(data.rows[row].suite) ?? 0) + 1);
  waiting.lines = [];
  let suite = null;
  for (const row of ordered(rows, columns)) {
    if (state.sort === null && data.rows[row].suite !== suite) {
      const next = suite = data.rows[row].suite;
      waiting.lines.push(() => groupLine(next, counts.get(next), columns));
    }
    waiting.lines.push(() => lineOf(row, columns).line);
  }
  const none = () => element("tr", {}, element("td", { class: "empty", colspan: String(columns.length + 2) }, "No problem is left by these filters."));
  if (!rows.length) waiting.lines.push(none);
  table.setAttribute("aria-rowcount", String(waiting.lines.length + 1));
  table.tBodies[0].replaceChildren();
  showMore();
  if (waiting.lines.length) table.parentElement.scrollTop = 0; // the place is gone with the lines that it was in
  roveTable(table.tBodies[0], showMore);
  table.tFoot.replaceChildren(...(data.views[state.view].share ? [footer(rows, columns, several)] : []));
  clearHeadings(table);
}

function showWhatIsScrolledTo() {
  const box = byId("matrix").parentElement;
  box.addEventListener("scroll", () => {
    const isAsked = document.activeElement?.closest(".rest"); // the button must not go while somebody has it
    if (!isAsked && waiting.lines.length && box.scrollTop + 2 * box.clientHeight > box.scrollHeight) showMore();
  }, { passive: true });
  addEventListener("beforeprint", () => showMore(Infinity));
}

function footer(rows, columns, several) {
  const line = element("tr", {}, element("th", { scope: "row" }, "Geometric mean"));
  for (const column of columns) {
    const values = rows.map((row) => grid[row][column]?.figures[state.view].value).filter((value) => value > 0);
    const mean = geometricMean(values);
    line.append(element("td", {}, mean === null ? "–" : mean.toFixed(2)));
  }
  if (several) line.append(element("td"));
  return line;
}
