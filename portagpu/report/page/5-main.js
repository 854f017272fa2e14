// Controls, and drawing all of it again when one of them changes.
const ABOUT = new Map(data.views.map((view) => [view.key, view.about]));

const left = { rows: [], columns: [] }; // what the filters left

function options(select, entries) {
  select.replaceChildren(...entries.map(([value, text]) => element("option", { value: String(value) }, text.length > 70 ? `${text.slice(0, 69)}\u2026` : text)));
}

function drawFacts(rows, columns, { common, lines }) {
  const view = data.views[state.view];
  const found = rows.flatMap((row) => columns.map((column) => grid[row][column]).filter(Boolean));
  const measured = found.filter((place) => place.figures[state.view].value !== null);
  const values = measured.map((place) => place.figures[state.view].value).filter((value) => value > 0);
  const entries = [];
  if (view.share && values.length) {
    const worst = measured.reduce((a, b) => (b.figures[state.view].value < a.figures[state.view].value ? b : a));
    entries.push([view.title, geometricMean(values).toFixed(2), `geometric mean of ${values.length} cells`]);
    entries.push(["Worst case", worst.figures[state.view].value.toFixed(2), `${data.rows[worst.row].label} on ${data.columns[worst.column].letter}`]);
  }
  const ours = lines.find((one) => one.role === "ours");
  if (ours && columns.length > 1) {
    const metric = ours.metric.at(-1);
    const text = metric ? `${columns.length} devices, ${common} problems that all have` : missing(rows, columns, ours.name);
    entries.push(["Performance portability", metric.toFixed(2), text]);
  }
  entries.push(["Cells with a figure", `${measured.length} of ${found.length}`, view.title.toLowerCase()]);
  byId("facts").replaceChildren(...entries.map(([name, value, text]) => element("div", {}, element("dt", {}, name), element("dd", {}, value, element("small", {}, text)))));
}

function drawLegend() {
  const view = data.views[state.view];
  const scale = element("span", { class: `scale ${view.share ? "share" : "plain"}`, "aria-hidden": "true" });
  const parts = view.share
    ? [element("span", {}, "half", scale, "double; 1 is as fast")]
    : [element("span", {}, view.more ? "less" : "more", scale, "best device of the row")];
  parts.push(element("span", {}, "±: 95% interval of the median"));
  if (places.some((place) => place.implementations.some((one) => one.unsteady))) parts.push(element("span", {}, "~: unsteady times"));
  parts.push(element("span", {}, "hatched: no number, and why"));
  byId("legend").replaceChildren(...parts);
  byId("about").textContent = ABOUT.get(view.key);
}

function draw() {
  const columns = shownColumns();
  const rows = shownRows(columns);
  const found = cascades(rows, columns);
  Object.assign(left, { rows, columns });
  closeTip();
  fit();
  drawFacts(rows, columns, found);
  drawLegend();
  drawTable(rows, columns);
  drawRoofline(rows);
  drawCascade(found, columns);
  tellStatus();
}

function tellStatus() {
  const { rows, columns } = left;
  const sorted = state.sort === null ? "" : `, sorted by ${state.sort === "portability" ? "portability" : data.columns[state.sort].short}, ${state.falling ? "largest" : "smallest"} first`;
  byId("status").textContent = `${rows.length} problems on ${columns.length} devices${sorted}`;
}

function setUp() {
  options(byId("view"), data.views.map((view, index) => [index, view.unit ? `${view.title}, ${view.unit}` : view.title]));
  const distinct = (name) => [...new Set(data.rows.map((row) => row[name]))].filter(Boolean);
  options(byId("suite"), [["", "all"], ...distinct("suite").map((text) => [text, text])]);
  options(byId("arithmetic"), [["", "all"], ...distinct("arithmetic").map((text) => [text, text])]);
  options(byId("roofline-device"), data.columns.map((column, index) => [index, `${column.letter}: ${column.short}`]));
  byId("view").value = String(state.view);
  data.columns.forEach((column, index) => {
    const box = element("input", { type: "checkbox" });
    box.checked = true;
    box.addEventListener("change", () => { state.hidden[box.checked ? "delete" : "add"](index); if (state.sort === index) state.sort = null; draw(); });
    byId("devices").append(element("label", { class: "chip", title: column.title }, box, element("b", { class: "letter" }, column.letter), element("span", {}, column.short)));
  });
  const listen = (id, event, change) => byId(id).addEventListener(event, () => { change(byId(id)); draw(); });
  listen("view", "change", (one) => { state.view = Number(one.value); });
  listen("search", "input", (one) => { state.search = one.value; });
  listen("suite", "change", (one) => { state.suite = one.value; });
  listen("arithmetic", "change", (one) => { state.arithmetic = one.value; });
  listen("everywhere", "change", (one) => { state.everywhere = one.checked; });
  byId("roofline-device").addEventListener("change", (event) => { state.device = Number(event.target.value); closeTip(); drawRoofline(left.rows); });
  byId("controls").addEventListener("submit", (event) => event.preventDefault());
  byId("clear").addEventListener("click", () => {
    byId("controls").reset();
    byId("view").value = String(state.view); // what is shown stays as it is looked at
    Object.assign(state, { search: "", suite: "", arithmetic: "", everywhere: false, sort: null, falling: false });
    state.hidden.clear();
    for (const box of byId("devices").querySelectorAll("input")) box.checked = true;
    draw();
  });
}

function setUpTheme() {
  const wanted = matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;
  const button = byId("theme");
  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : wanted.matches);
  const tell = () => { button.textContent = dark() ? "Light" : "Dark"; button.setAttribute("aria-label", `${dark() ? "Light" : "Dark"} colours`); };
  const kept = (act) => { try { return act(localStorage); } catch { return null; } }; // a page of a file may have none
  const before = kept((store) => store.getItem("portagpu-theme"));
  if (before === "dark" || before === "light") root.dataset.theme = before;
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    kept((store) => store.setItem("portagpu-theme", root.dataset.theme));
    tell();
  });
  wanted.addEventListener("change", tell);
  tell();
}

state.device = Math.max(0, data.columns.findIndex((column) => column.peaks.length));
setUpTheme();
for (const id of ["matrix", "roofline", "compiled"]) explain(byId(id));
if (data.compiled.cells.length) setUpCompiled();
if (data.cells.length) {
  setUp();
  showWhatIsScrolledTo();
  for (const id of ["facts", "matrix-section", "roofline-section", "cascade-section"]) byId(id).hidden = false;
  draw();
  narrow.addEventListener("change", draw);
}
