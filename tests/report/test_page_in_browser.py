"""The page in Chromium: it sorts, filters, explains, is dark and narrow, and asks nothing of a network."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from browser import Visit, chromium
from sample_runs import cell, five, run, vendors

from portagpu.report import compiled
from portagpu.report.merging import merge
from portagpu.report.metrics import cascades, summary
from portagpu.report.page import html_text
from portagpu.report.views import VIEWS

pytestmark = pytest.mark.one_device

SIZES = {"desktop": (1440, 900), "phone": (390, 844)}


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def matrix():
    return merge(*five())


@pytest.fixture(scope="module")
def path(matrix, checked, tmp_path_factory):
    file = tmp_path_factory.mktemp("page") / "matrix.html"
    file.write_text(html_text(matrix, checked, title="Five machines"))
    return file


@pytest.fixture(scope="module")
def checked(tmp_path_factory):
    """Three kernels for four targets: one spills, one is not supported on a target, one is not there on another."""
    results = []
    for number, target in enumerate(("gfx-m42", "gfx-m50", "xe-i2", "sm-a90")):
        for kernel, registers in (("sum_blocks", 12), ("tile_product", 250), ("float64_chain", 40)):
            figures = {"registers": registers + number, "scratch_bytes": 0, "spilled": 0, "occupancy": 16 - 4 * number}
            figures |= {"slots": 16, "limiter": "registers", "local_bytes": 512}
            one = {"target": target, "title": f"Product {number}", "compiler": {"name": "clang", "version": "19"}}
            one |= {"group": "textbook", "case": f"textbook {kernel}", "kernel": kernel, "signature": "(float32[:])"}
            one |= {"status": "compiled", "ok": True, "figures": figures, "problems": []}
            if kernel == "tile_product" and number == 1:
                figures |= {"spilled": 9, "scratch_bytes": 64}
            if kernel == "float64_chain" and number == 2:
                told = {"message": "the target has no float64", "file": "/k/mine.py", "line": 7}
                one |= {"status": "unsupported", "ok": False, "figures": None, "problems": [told]}
            if (kernel, number) != ("sum_blocks", 3):
                results.append(one)
    file = tmp_path_factory.mktemp("check") / "check.json"
    file.write_text(json.dumps({"format": compiled.FORMAT, "version": 1, "results": results}))
    return compiled.load(file)


@pytest.fixture
def visit(browser, path):
    found = Visit(browser, path)
    yield found
    found.close()


@pytest.fixture
def page(visit):
    return visit.page


def numbers(page, column):
    """What stands in a column, from the top; None where there is no number."""
    texts = page.locator(f"#matrix tbody tr:not(.group) td:nth-of-type({column}) .cell").all_inner_texts()
    return [float(found[0]) if (found := re.match(r"[\d.]+", text)) else None for text in texts]


def rows(page):
    return page.locator("#matrix tbody tr:not(.group) > th").all_inner_texts()


def test_the_file_is_small(path):
    assert path.stat().st_size < 500_000


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_it_fits_its_window(browser, path, size, scheme, tmp_path):
    width, height = SIZES[size]
    visit = Visit(browser, path, width=width, height=height, color_scheme=scheme)
    page = visit.page
    assert page.evaluate("document.documentElement.scrollWidth") <= width  # only tables scroll sideways
    assert page.evaluate("getComputedStyle(document.body).fontSize") == "16px"
    shot = page.screenshot(path=tmp_path / f"{size}-{scheme}.png", full_page=True)
    assert len(shot) > 50_000
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(14, 19, 25)"
    assert dark == (scheme == "dark")
    first = page.locator("#matrix tbody tr:not(.group) > th").first
    before = first.bounding_box()["x"]
    page.locator("#matrix-section .scroll").evaluate("box => { box.scrollLeft = 200; }")
    assert first.bounding_box()["x"] == pytest.approx(before, abs=1)  # names stay beside their numbers
    visit.close()


def test_it_says_what_the_tables_say(page, matrix):
    found = summary(matrix.places.values(), VIEWS["vendor"])
    facts = page.locator("#facts").inner_text()
    assert f"{found.mean:.2f}" in facts and f"{found.worst.value:.2f}" in facts and found.where.row.label in facts
    ours, *others = cascades(matrix)
    keys = page.locator("#cascade .keys").inner_text()
    assert f"PortaGPU: {ours.portabilities[-1]:.2f} ({ours.problems} problems)" in keys
    for other in others[:5]:
        assert f"{other.implementation}: {other.portabilities[-1]:.2f} ({other.problems} problems)" in keys
    assert len(rows(page)) == len(matrix.rows)


def test_sorting(page):
    heading = page.locator("#matrix thead th").nth(1)
    heading.get_by_role("button").click()
    assert heading.get_attribute("aria-sort") == "descending"
    shown = numbers(page, 1)
    known = [value for value in shown if value is not None]
    assert known == sorted(known, reverse=True) and shown[: len(known)] == known  # without numbers: at the end
    assert "largest first" in page.locator("#status").inner_text()
    page.keyboard.press("Enter")  # the heading kept the focus
    known = [value for value in numbers(page, 1) if value is not None]
    assert heading.get_attribute("aria-sort") == "ascending" and known == sorted(known)
    page.locator("#matrix thead th").first.get_by_role("button").click()
    names = rows(page)
    page.locator("#matrix thead th").first.get_by_role("button").click()
    assert rows(page) == names[::-1] and len(set(names)) == len(names)
    page.get_by_role("button", name="Portability").click()
    metrics = [text for text in page.locator("#matrix tbody .portability").all_inner_texts() if "." in text]
    assert metrics[0] == max(metrics) and metrics[-1] == "0.00"


def test_filtering(page, matrix):
    page.get_by_label("Find a problem").fill("GEMM float32 4096")
    expected = [row for row in matrix.rows if all(w in row.label for w in ("gemm", "float32", "4096"))]
    assert len(rows(page)) == len(expected)
    page.get_by_label("Find a problem").fill("nothing such")
    assert "No problem is left" in page.locator("#matrix tbody").inner_text()
    page.get_by_role("button", name="Reset").click()
    page.get_by_label("Suite").select_option("textbook")
    assert len(rows(page)) == 4
    page.get_by_label("on every device").check()
    assert len(rows(page)) == 3  # one was throttled on a device
    page.get_by_label("Suite").select_option("")
    page.get_by_label("Arithmetic").select_option("float64")
    assert len(rows(page)) == 0
    page.locator("#devices input").nth(2).uncheck()  # the one without float64
    assert len(rows(page)) == 13 and page.locator("#matrix thead th").count() == 6
    page.get_by_role("button", name="Reset").click()
    assert len(rows(page)) == len(matrix.rows)
    assert page.locator("#matrix thead th").count() == 7


def test_views(page):
    for key, text in (("rate", "GFLOP/s"), ("energy", "10^12"), ("cold", "compilation"), ("roof", "measured peak")):
        page.get_by_label("View").select_option(str(list(VIEWS).index(key)))
        assert text in page.locator("#matrix-section").inner_text()
    assert "wrong result" in page.locator("#matrix").inner_text()


def test_tooltips_by_pointer_and_keyboard(page):
    tip = page.locator("#tip")
    first = page.locator(".cell").first
    first.hover()
    text = tip.inner_text()
    for part in (
        "PortaGPU",
        "auBLAS",
        "error",
        "9 rounds, 27 samples",
        "core clock mhz 1755",
        "portagpu bench --filter",
    ):
        assert part in text
    command, panel = tip.locator("code").bounding_box(), tip.bounding_box()
    assert command["y"] + command["height"] <= panel["y"] + panel["height"] <= 900  # it is not below the panel's end
    assert tip.get_attribute("role") == "tooltip" and first.get_attribute("aria-describedby") == "tip"
    page.mouse.move(2, 2)
    assert tip.is_hidden()
    page.get_by_role("button", name="Portability").focus()
    page.keyboard.press("Tab")
    assert tip.is_visible() and first.evaluate("cell => cell === document.activeElement")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    assert "asum/float64" in tip.inner_text() and "B · Meridian" in tip.inner_text()
    page.keyboard.press("Enter")
    assert tip.get_attribute("role") == "dialog" and tip.evaluate("tip => tip === document.activeElement")
    assert page.get_by_role("button", name="Copy the command").is_visible()
    page.keyboard.press("Escape")
    assert tip.is_hidden() and "0.90" in page.evaluate("document.activeElement.innerText")
    page.keyboard.press("End")
    assert tip.is_visible()
    page.keyboard.press("Escape")
    assert tip.is_hidden()


def test_arrows_stay_in_their_column_and_in_view(browser, matrix, tmp_path):
    """Also where a row has no cell; and what has the focus is not under the headings."""
    few = {place: one for place, one in matrix.places.items() if sum(place) % 3 or place[1] == 0}
    (tmp_path / "a.html").write_text(html_text(replace(matrix, places=few)))
    visit = Visit(browser, tmp_path / "a.html", width=900, height=700)
    page = visit.page
    page.locator("#matrix .cell").nth(1).focus()
    where = """() => { const one = document.activeElement; const box = one.getBoundingClientRect();
        const [head, side] = [document.querySelector("#matrix thead th"), one.closest("tr").cells[0]];
        return [one.parentElement.cellIndex, one.closest("tr").rowIndex, box.top - head.getBoundingClientRect().bottom,
          box.left - side.getBoundingClientRect().right,
          document.querySelectorAll('#matrix .cell[tabindex="0"]').length]; }"""
    column, last, *_ = page.evaluate(where)
    for _ in range(12):
        page.keyboard.press("ArrowDown")
        found, line, below, beside, tabs = page.evaluate(where)
        assert found == column and line > last and below >= -1 and beside >= -1 and tabs == 1
        last = line
    page.keyboard.press("Control+End")
    page.keyboard.press("Control+Home")
    assert page.evaluate(where)[1] <= 3
    for _ in range(12):
        page.keyboard.press("PageDown")
        page.keyboard.press("ArrowUp")
        assert page.evaluate(where)[2] >= -1
    page.keyboard.press("End")
    page.keyboard.press("Home")
    assert page.evaluate(where)[3] >= -1
    visit.close()


def test_lines_of_a_large_table_come_as_they_are_scrolled_to(browser, tmp_path):
    cells = [cell(1.0 + n / 1000, work={"size": str(n), "flops": 1e9 + n}) for n in range(700)]
    (tmp_path / "a.html").write_text(html_text(merge([run(*cells)])))
    visit = Visit(browser, tmp_path / "a.html")
    page = visit.page
    lines = page.locator("#matrix tbody tr:not(.rest)")
    assert lines.count() == 200 and page.locator("#matrix").get_attribute("aria-rowcount") == "702"
    page.locator("#matrix-section .scroll").evaluate("box => { box.scrollTop = box.scrollHeight; }")
    # not wait_for_function: it evaluates text within the page, which the page's policy rightly refuses
    page.locator("#matrix tbody tr").nth(300).wait_for(state="attached")
    page.locator("#matrix thead button").nth(1).click()
    assert lines.count() == 200 and "1" in lines.nth(0).locator(".cell").inner_text()
    page.locator("#matrix .cell").first.focus()
    for _ in range(25):
        page.keyboard.press("PageDown")
    assert lines.count() == 400
    page.keyboard.press("Control+End")
    assert lines.count() == 700 and page.locator("#matrix .rest").count() == 0
    assert page.evaluate("document.activeElement.closest('tr').rowIndex") == 700
    page.get_by_label("Find a problem").fill("699")
    assert lines.count() == 1
    page.get_by_role("button", name="Reset").click()
    page.get_by_role("button", name="Show 501 more lines").focus()  # which scrolls to it
    page.keyboard.press("Enter")
    assert lines.count() == 701
    visit.close()


def test_compiled_kernels(page):
    table = page.locator("#compiled-table")
    heads = table.locator("thead th")
    assert heads.count() == 5 and "Product 1" in heads.nth(2).inner_text() and "gfx-m50" in heads.nth(2).inner_text()
    assert "1 spill, 1 failed" in page.locator("#compiled-about").inner_text()
    assert table.locator("tbody tr").count() == 3 and table.locator(".cell").count() == 11
    page.locator("#compiled-search").fill("FLOAT64")
    assert table.locator("tbody tr").count() == 1
    cell = table.locator(".cell", has_text="unsupported")
    cell.hover()
    assert "the target has no float64 (mine.py:7)" in page.locator("#tip").inner_text()
    page.locator("#compiled-search").fill("")
    spilled = table.locator(".cell", has_text="spills")
    spilled.focus()
    page.keyboard.press("Enter")
    for part in ("9 registers, 64 bytes", "12 of 16 (registers)", "512 bytes", "clang 19", "spilled to memory"):
        assert part in page.locator("#tip").inner_text()
    page.keyboard.press("Escape")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.innerText").startswith("41")
    heads.nth(1).get_by_role("button").click()
    assert heads.nth(1).get_attribute("aria-sort") == "descending"
    assert table.locator("tbody th b").all_inner_texts() == ["tile_product", "float64_chain", "sum_blocks"]


def test_details_on_a_phone(browser, path):
    visit = Visit(browser, path, width=390, height=844, has_touch=True, is_mobile=True)
    visit.page.locator(".cell").nth(2).tap()
    box = visit.page.locator("#tip").bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= 390 and box["y"] + box["height"] <= 844
    visit.page.get_by_role("button", name="Close").tap()
    assert visit.page.locator("#tip").is_hidden()
    visit.close()


CONTRAST = """() => {
  const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const channels = (colour) => {
    context.fillStyle = colour; context.fillRect(0, 0, 1, 1);
    return [...context.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const light = (colour) => channels(colour).map((one) => one / 255)
    .map((one) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4))
    .reduce((sum, one, index) => sum + one * [0.2126, 0.7152, 0.0722][index], 0);
  const worst = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
  const behind = (one) => {
    const colour = getComputedStyle(one).backgroundColor;
    return colour === "rgba(0, 0, 0, 0)" && one.parentElement ? behind(one.parentElement) : colour;
  };
  return Math.min(...[...document.querySelectorAll(".cell, .quiet, th, td, dd, dt, label, button, h1, h2, li, .chip")]
    .filter((one) => one.innerText && !one.closest("noscript"))
    .map((one) => worst(getComputedStyle(one).color, behind(one))));
}"""


def test_dark_and_light_by_the_button_with_enough_contrast(page):
    for name, other in (("Dark colours", "Light colours"), ("Light colours", "Dark colours")):
        assert page.evaluate(CONTRAST) >= 4.5
        page.get_by_role("button", name=name).click()
        assert page.get_by_role("button", name=other).is_visible()
    page.get_by_role("button", name="Dark colours").click()
    page.reload()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(14, 19, 25)"  # it is remembered
    assert page.evaluate(CONTRAST) >= 4.5


def test_the_roofline(page, matrix):
    def known(column):
        places = [one for one in matrix.column_places(column) if one and one.ours and one.ours.seconds]
        return sum(one.row.workload.intensity is not None for one in places)

    for column in (0, 3):
        page.locator("#roofline-device").select_option(str(column))
        assert page.locator("#roofline .point").count() == known(column)
    assert "memory 461 GB/s" in page.locator("#roofline svg.chart").text_content()
    page.get_by_label("Suite").select_option("gemm")
    assert 0 < page.locator("#roofline .point").count() < known(3)
    page.locator("#roofline .point").first.hover()
    assert "gemm/matmul" in page.locator("#tip").inner_text()
    label = page.locator("#roofline .point").first.get_attribute("aria-label")
    assert "FLOP/byte" in label and "gemm/matmul" in label


OVERLAPS = """() => {
  const labels = [...document.querySelectorAll("#roofline .label:not([transform])")];
  const boxes = labels.map((one) => one.getBoundingClientRect());
  const frame = document.querySelector("#roofline svg.chart").getBoundingClientRect();
  const cut = boxes.filter((one) => one.right > frame.right + 1 || one.left < frame.left || one.top < frame.top - 1);
  const pairs = boxes.flatMap((a, i) => boxes.slice(i + 1).filter((b) =>
    a.left < b.right && b.left < a.right && a.top < b.bottom - 4 && b.top < a.bottom - 4));
  return [boxes.length, cut.length, pairs.length];
}"""


@pytest.mark.parametrize("size", SIZES)
def test_labels_of_roofs_can_be_read(browser, path, size):
    width, height = SIZES[size]
    visit = Visit(browser, path, width=width, height=height)
    for device in range(5):
        visit.page.locator("#roofline-device").select_option(str(device))
        count, cut, overlapping = visit.page.evaluate(OVERLAPS)
        assert count > 0 and cut == 0 and overlapping == 0
    visit.page.get_by_text("All measured roofs").click()
    assert "memory 338 GB/s" in visit.page.locator("#roofline .roofs").inner_text()
    visit.close()


def test_everything_has_a_name(page):
    """Controls, headings and regions, for those who hear the page."""
    unnamed = page.evaluate("""() => [...document.querySelectorAll("button, select, input")].filter((one) =>
        !(one.labels?.length || one.getAttribute("aria-label") || one.innerText.trim())).map((one) => one.outerHTML)""")
    assert unnamed == []
    assert page.locator("th:not([scope])").count() == 0 and page.locator("h1").count() == 1
    tabs = page.evaluate("""() => document.querySelectorAll('#matrix .cell[tabindex="0"]').length""")
    assert tabs == 1  # the Tab key passes the table in one step


def test_printing(page):
    page.emulate_media(media="print")
    assert page.locator("#controls").is_hidden() and page.locator("#matrix").is_visible()


def test_without_scripts_the_published_table_is_there(browser, path, matrix):
    visit = Visit(browser, path, java_script_enabled=False)
    assert visit.page.locator("noscript table").first.locator("tr").count() == len(matrix.places) + 1
    assert visit.page.locator("noscript table").nth(1).locator("tr").count() == 12
    assert visit.page.locator("#controls").is_hidden()
    visit.close()


EVIL = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 2'>"
NAMES = (
    EVIL,
    "__proto__",
    "constructor",
    "javascript:alert(1)",
    "\u2028\u202e",
    "x" * 3900,
    "https://example.org/a.png",
)


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_hostile_names_are_text(browser, name, tmp_path):
    work = dict.fromkeys(("suite", "name", "arithmetic", "size"), name)
    texts = {"tuning": name, "repeat": name, "conditions": {name: name}, "work": work}
    runs = [run(cell(**texts), vendors(**texts, implementation=name), devices=(name, f"{name}b"), command=name)]
    (tmp_path / "a.html").write_text(html_text(merge(runs, [name]), title=name))
    visit = Visit(browser, tmp_path / "a.html")
    visit.page.locator(".cell").first.click()
    visit.page.get_by_label("Suite").select_option(index=1)
    assert visit.page.locator("#matrix tbody .cell").count() == 1
    assert visit.page.evaluate("window.hacked === undefined && ({}).suite === undefined")
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= 1440
    visit.close()
