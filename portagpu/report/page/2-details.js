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
  made.push(list);
  const repeat = place.details.find(([name]) => say(name) === "repeat");
  if (repeat) made.push(element("code", {}, say(repeat[1])));
  return { made, command: repeat ? say(repeat[1]) : "" };
}

function rateOf(row, seconds) {
  if (row.unit === "us") return seconds * 1e6;
  return (row.unit === "GFLOP/s" ? row.flops : row.bytes) / seconds / 1e9;
}

function showTip(anchor, place, pinned) {
  const { made, command } = describe(place);
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
  if (tip.classList.contains("pinned")) return;
  tip.hidden = true;
  opener?.removeAttribute("aria-describedby");
}

function closeTip() {
  if (tip.hidden) return;
  const pinned = tip.classList.contains("pinned");
  tip.classList.remove("pinned");
  hideTip();
  if (!pinned) return;
  silent = true;
  opener?.focus({ preventScroll: true });
  silent = false;
}

// pointer, focus and click of whatever stands for a place
function explain(target, place) {
  target.addEventListener("pointerenter", (event) => {
    if (event.pointerType !== "touch" && !tip.classList.contains("pinned")) showTip(target, place, false);
  });
  target.addEventListener("pointerleave", hideTip);
  target.addEventListener("focus", () => {
    if (!silent && target.matches(":focus-visible") && !tip.classList.contains("pinned")) showTip(target, place, false);
  });
  target.addEventListener("blur", hideTip);
  target.addEventListener("click", () => showTip(target, place, true));
  target.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " ") { event.preventDefault(); showTip(target, place, true); }
  });
}

document.addEventListener("keydown", (event) => { if (event.key === "Escape") closeTip(); });
document.addEventListener("pointerdown", (event) => {
  if (tip.classList.contains("pinned") && !tip.contains(event.target)) { tip.classList.remove("pinned"); hideTip(); }
});

// one of many is in the order of the Tab key; arrows move among them
function rove(container, items, columns) {
  items.forEach((item, index) => { item.setAttribute("tabindex", index ? "-1" : "0"); });
  container.onkeydown = (event) => {
    const index = items.indexOf(event.target);
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns }[event.key];
    const next = event.key === "Home" ? 0 : event.key === "End" ? items.length - 1 : index + step;
    if (index < 0 || !Number.isInteger(next) || !items[next]) return;
    event.preventDefault();
    items[index].setAttribute("tabindex", "-1");
    items[next].setAttribute("tabindex", "0");
    items[next].focus();
  };
}
