// Kernels that were only compiled: kernels by targets, with what limits them, or why there is no program.
const compiledState = { search: "", sort: null, falling: false };
const compiledGrid = data.compiled.kernels.map(() => new Array(data.compiled.targets.length).fill(null));
for (const [kernel, target, kind, share, main, small, texts] of data.compiled.cells) compiledGrid[kernel][target] = { kernel, target, kind, share, main, small, texts };

function describeCompiled({ kernel, target, kind, texts }) {
  const { name, group } = data.compiled.kernels[kernel];
  const { title } = data.compiled.targets[target];
  const list = element("dl");
  texts.forEach((index, at) => {
    const text = say(index);
    if (text && text !== "-") list.append(element("dt", {}, data.compiled.headings[at]), element("dd", {}, text));
  });
  const told = { failed: "There is no program, or none that is allowed.", spills: "Registers are spilled to memory.", fits: "Compiled; nothing was run." }[kind];
  return { made: [element("h3", {}, `${group ? `${group}: ` : ""}${name}`), element("p", { class: "quiet" }, title), element("p", {}, told), list], command: "" };
}

function compiledCell(one) {
  if (!one) return element("td");
  const button = element("button", { class: `cell ${{ failed: "absent bad", spills: "less bad", fits: "less" }[one.kind]}`, type: "button", tabindex: "-1" }, element("span", {}, one.main));
  if (one.small) button.append(element("small", {}, one.small));
  button.style.setProperty("--t", one.kind === "spills" ? "1" : String(0.75 * (1 - (one.share ?? 1))));
  panels.set(button, () => describeCompiled(one));
  return element("td", {}, button);
}

function compiledHeading(key, ...children) {
  const button = element("button", { type: "button" }, ...children);
  button.lastChild.append(element("span", { class: "order", "aria-hidden": "true" }));
  const { sort, falling } = compiledState;
  button.addEventListener("click", () => {
    Object.assign(compiledState, { sort: key, falling: sort === key ? !falling : key !== null });
    closeTip();
    drawCompiled();
    byId("compiled-table").tHead.rows[0].cells[key === null ? 0 : key + 1].querySelector("button").focus({ preventScroll: true });
  });
  const made = element("th", { scope: "col", "aria-sort": sort !== key ? "none" : falling ? "descending" : "ascending" }, button);
  return made;
}

const compiledLines = new Map();

function compiledLine(kernel) {
  if (!compiledLines.has(kernel)) {
    const { name, detail } = data.compiled.kernels[kernel];
    const heading = element("th", { scope: "row" }, element("b", {}, ...breakable(name)), element("small", {}, ...breakable(detail)));
    compiledLines.set(kernel, element("tr", {}, heading, ...compiledGrid[kernel].map(compiledCell)));
  }
  return compiledLines.get(kernel);
}

function drawCompiled() {
  const { targets, kernels } = data.compiled;
  const words = compiledState.search.toLowerCase().split(/\s+/).filter(Boolean);
  const found = kernels.map((_, index) => index).filter((index) => {
    const text = `${kernels[index].group} ${kernels[index].name} ${kernels[index].detail}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  const { sort, falling } = compiledState;
  const value = (kernel) => (sort === null ? kernel : compiledGrid[kernel][sort] && Number.parseInt(compiledGrid[kernel][sort].main, 10));
  const known = Number.isFinite;
  found.sort((a, b) => known(value(b)) - known(value(a)) || (falling ? -1 : 1) * (known(value(a)) ? value(a) - value(b) : 0) || a - b);
  const line = element("tr", {}, compiledHeading(null, element("span", { class: "name" }, "Kernel")));
  targets.forEach(({ code, title, compiler }, index) => {
    const made = compiledHeading(index, element("span", { class: "letter" }, code), element("small", {}, compiler), element("span", { class: "name" }, title.replace(` (${code})`, "")));
    made.title = title;
    line.append(made);
  });
  const table = byId("compiled-table");
  table.style.setProperty("--columns", String(targets.length));
  table.tHead.replaceChildren(line);
  const none = element("tr", {}, element("td", { class: "empty", colspan: String(targets.length + 1) }, "No kernel is left by this filter."));
  table.tBodies[0].replaceChildren(...(found.length ? found.map(compiledLine) : [none]));
  roveTable(table.tBodies[0]);
  clearHeadings(table);
  byId("compiled-status").textContent = `${found.length} kernels for ${targets.length} targets`;
}

function setUpCompiled() {
  byId("compiled-section").hidden = false;
  byId("compiled-search").addEventListener("input", (event) => { compiledState.search = event.target.value; closeTip(); drawCompiled(); });
  byId("compiled-controls").addEventListener("submit", (event) => event.preventDefault());
  const counts = { failed: 0, spills: 0, fits: 0 };
  for (const [, , kind] of data.compiled.cells) counts[kind] += 1;
  byId("compiled-about").textContent = `What the offline compilers say of each kernel; nothing was run. ${counts.fits} fit their registers, ${counts.spills} spill, ${counts.failed} failed or are not supported.`;
  drawCompiled();
}
