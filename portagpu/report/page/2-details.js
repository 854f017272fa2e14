// The panel of a cell: beside the pointer or the focus, or pinned by a click or Enter, so that one can copy from it.
const tip = byId("tip");
let opener = null;
let silent = false; // while the focus goes back to a cell whose panel was closed

function describe(place) {
  const row = data.rows[place.row];
  const column = data.columns[place.column];
  const made = [element("h3", {}, row.label), element("p", { class: "quiet" }, `${column.letter} · ${column.title}`)];
  const best = Math.min(...timesOf(place));
  const body = element("tbody");
  for (const one of place.implementations) {
    const name = element("td", {}, one.arithmetic ? `${one.name}, ${one.arithmetic}` : one.name, element("small", { class: "quiet" }, ` ${one.role}`));
    if (one.seconds === null) {
      body.append(element("tr", {}, name, element("td", { class: "said" }, one.said)));
      continue;
    }
    const bar = element("span", { class: "bar", "aria-hidden": "true" });
    bar.style.setProperty("--t", String(best / one.seconds));
    name.append(bar);
    const error = one.error === null ? "" : element("div", { class: "quiet" }, `error ${digits(one.error)} of allowed`);
    const rate = element("div", {}, `${digits(rateOf(row, one.seconds))} ${row.unit} ${one.spread}${one.unsteady ? " ~" : ""}`);
    body.append(element("tr", {}, name, element("td", {}, rate, error)));
  }
  made.push(element("table", {}, element("caption", { class: "sr" }, "Implementations"), body));
  const list = element("dl");
  const add = (name, text) => { if (text) list.append(element("dt", {}, name), element("dd", {}, text)); };
  data.views.forEach((view, index) => {
    const figure = place.figures[index];
    if (view.key !== "rate" && figure.value !== null) {
      add(view.title, `${shown(figure.value, view)}${view.unit ? ` ${view.unit}` : ""} ${spreadOf(figure)}${figure.note ? ` (${figure.note})` : ""}`);
    }
  });
  for (const [name, text] of place.details) if (say(name) !== "repeat") add(say(name), say(text));
  const repeat = place.details.find(([name]) => say(name) === "repeat");
  if (repeat) made.push(element("code", {}, say(repeat[1]))); // before the list: a panel that is too tall ends below
  made.push(list);
  return { made, command: repeat ? say(repeat[1]) : "" };
}

function rateOf(row, seconds) {
  if (row.unit === "us") return seconds * 1e6;
  return (row.unit === "GFLOP/s" ? row.flops : row.bytes) / seconds / 1e9;
}

function showTip(anchor, pinned) {
  const { made, command } = panels.get(anchor)();
  tip.replaceChildren(...made);
  tip.classList.toggle("pinned", pinned);
  tip.setAttribute("role", pinned ? "dialog" : "tooltip");
  if (pinned) {
    tip.setAttribute("aria-label", "Details");
    const close = element("button", { class: "button", type: "button" }, "Close");
    close.addEventListener("click", closeTip);
    const actions = element("div", { class: "actions" });
    if (command) {
      const copy = element("button", { class: "button", type: "button" }, "Copy the command");
      copy.addEventListener("click", () => copyText(command, copy));
      actions.append(copy);
    }
    actions.append(close);
    tip.append(actions);
  } else {
    tip.removeAttribute("aria-label");
  }
  tip.hidden = false;
  if (opener !== anchor) opener?.removeAttribute("aria-describedby");
  opener = anchor;
  if (!pinned) anchor.setAttribute("aria-describedby", "tip");
  placeTip(anchor);
  if (pinned) { tip.tabIndex = -1; tip.focus({ preventScroll: true }); }
}

function placeTip(anchor) {
  const box = anchor.getBoundingClientRect();
  const { width, height } = tip.getBoundingClientRect();
  const below = box.bottom + 8 + height < innerHeight;
  const top = below ? box.bottom + 8 : Math.max(8, box.top - height - 8);
  tip.style.setProperty("left", `${Math.max(8, Math.min(box.left, innerWidth - width - 12))}px`);
  tip.style.setProperty("top", `${top}px`);
}

async function copyText(text, button) {
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(tip.querySelector("code"));
    button.textContent = "Selected: press Ctrl+C";
  }
}

function hideTip() {
  if (pinned()) return;
  tip.hidden = true;
  opener?.removeAttribute("aria-describedby");
}

function closeTip() {
  if (tip.hidden) return;
  const before = pinned();
  tip.classList.remove("pinned");
  hideTip();
  if (!before) return;
  silent = true;
  opener?.focus({ preventScroll: true });
  silent = false;
}

// what stands for a place, and makes its panel: one set of listeners for all of a table or plot
const panels = new WeakMap();
const subject = (event) => { const one = event.target.closest?.(".cell, .point"); return one && panels.has(one) ? one : null; };
const pinned = () => tip.classList.contains("pinned");

function explain(container) {
  container.addEventListener("pointerover", (event) => {
    const one = subject(event);
    if (one && event.pointerType !== "touch" && !pinned() && (tip.hidden || opener !== one)) showTip(one, false);
  });
  container.addEventListener("pointerout", (event) => { if (!subject(event)?.contains(event.relatedTarget)) hideTip(); });
  container.addEventListener("focusin", (event) => {
    const one = subject(event);
    if (one && !silent && one.matches(":focus-visible") && !pinned()) showTip(one, false);
  });
  container.addEventListener("focusout", hideTip);
  container.addEventListener("click", (event) => { if (subject(event)) showTip(subject(event), true); });
  container.addEventListener("keydown", (event) => {
    if (subject(event) && (event.key === "Enter" || event.key === " ")) { event.preventDefault(); showTip(subject(event), true); }
  });
}

document.addEventListener("keydown", (event) => { if (event.key === "Escape") closeTip(); });
document.addEventListener("pointerdown", (event) => {
  if (pinned() && !tip.contains(event.target)) { tip.classList.remove("pinned"); hideTip(); }
});

function move(event, container, to) {
  event.preventDefault();
  if (!to) return;
  for (const one of container.querySelectorAll('[tabindex="0"]')) one.setAttribute("tabindex", "-1");
  to.setAttribute("tabindex", "0");
  to.focus();
}

// one of many is in the order of the Tab key; arrows move among them
function rove(container, items) {
  items.forEach((item, index) => { item.setAttribute("tabindex", index ? "-1" : "0"); });
  container.onkeydown = (event) => {
    const index = items.indexOf(event.target);
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 1, ArrowUp: -1 }[event.key];
    const next = event.key === "Home" ? 0 : event.key === "End" ? items.length - 1 : index + step;
    if (index >= 0 && Number.isInteger(next)) move(event, container, items[next]);
  };
}

// the same in a table: up and down stay in the column, and pass what has no cell there
const inColumn = (line, index) => line.cells[index]?.querySelector(".cell") ?? null;

function further(from, key, whole) {
  const [place, line] = [from.parentElement, from.closest("tr")];
  const inLine = [...line.querySelectorAll(".cell")];
  const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 }[key];
  if (step) {
    const lines = [...line.parentElement.rows].filter((one) => inColumn(one, place.cellIndex));
    const at = lines.indexOf(line) + step;
    return inColumn(lines[Math.max(0, Math.min(lines.length - 1, at))], place.cellIndex);
  }
  const all = whole ? [...line.parentElement.querySelectorAll(".cell")] : inLine;
  const at = inLine.indexOf(from);
  return { ArrowRight: inLine[at + 1], ArrowLeft: inLine[at - 1], Home: all[0], End: all.at(-1) }[key];
}

// ``more`` adds lines that are not there yet
function roveTable(body, more = () => {}) {
  for (const one of body.querySelectorAll('.cell[tabindex="0"]')) one.setAttribute("tabindex", "-1");
  body.querySelector(".cell")?.setAttribute("tabindex", "0");
  body.onkeydown = (event) => {
    const from = event.target.closest(".cell");
    if (!from || !/^(Arrow|Page|Home|End)/.test(event.key)) return;
    if (event.ctrlKey && event.key === "End") more(Infinity);
    if (/Down$/.test(event.key) && from.closest("tr").rowIndex + 12 > body.rows.length) more();
    move(event, body, further(from, event.key, event.ctrlKey));
  };
}

// what is under the headings, which stay in view, is not seen: a focused cell scrolls clear of them
function clearHeadings(table) {
  const corner = table.tHead.rows[0].cells[0];
  const foot = table.tFoot?.rows[0]?.offsetHeight ?? 0;
  table.parentElement.style.scrollPadding = `${corner.offsetHeight + 4}px 4px ${foot + 4}px ${corner.offsetWidth + 4}px`;
}
