"""Files of others in reports: names stay in their cells, and nothing in a page is more than text."""

from __future__ import annotations

import csv
import io
import json
import re
import unicodedata
from dataclasses import replace

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from sample_runs import cell, run, vendors

from portagpu.bench.records.cell import Status
from portagpu.bench.records.files import cell_json, load, save
from portagpu.bench.records.run import Device, Machine
from portagpu.bench.records.workload import Unit
from portagpu.cli import cli
from portagpu.errors import SettingsError, StoreError
from portagpu.report import terminal
from portagpu.report.markdown import published_table, view_table
from portagpu.report.merging import merge
from portagpu.report.page import html_text
from portagpu.report.spreadsheet import COLUMNS, csv_text
from portagpu.report.views import VIEWS

pytestmark = pytest.mark.one_device

EVIL = (
    "\x1b[31mRED\x1b]0;t\x07<script>a</script>|x|\n# h [l](javascript:a) \u202e\x9b31m [red]r[/red] `c` \u2028</style>"
)
NAMES = (EVIL, "__proto__", "constructor", "]]>", "<!--<script>", "-->", "${1}", "%", "'\"&amp;", "x" * 3900, "\ud800")


def evil(text=EVIL):
    """A run in which every text is the same."""
    texts = dict.fromkeys(("implementation", "stopped", "kernel", "tuning", "repeat"), text)
    work = dict.fromkeys(("suite", "name", "arithmetic", "size"), text)
    cells = (
        cell(1.0, work=work, conditions={text: text}, **texts),
        vendors(2.0, work=work, **texts),
        cell(None, work={**work, "size": "b"}, status=Status.FAILED, reason=text, **texts),
    )
    device = Device(machine=0, name=text, platform=text, driver=text, compiler=text, vendor=text, version=text)
    machine = Machine(label=text, system=text, processor=text, software={text: text})
    return run(*cells, command=text, machines=(machine,)).__class__(
        identity=text, started=text, command=text, machines=(machine,), devices=(device,), cells=cells
    )


def harmless(text, *, lines=False):
    """Whether nothing in it steers a terminal or hides."""
    kept = text.replace("\n", "") if lines else text
    return not any(unicodedata.category(c) in {"Cc", "Cf", "Cs", "Zl", "Zp"} for c in kept)


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_names_in_markdown_stay_in_their_cells(name):
    matrix = merge([evil(name)], [name])
    for table in (published_table(matrix), view_table(matrix, VIEWS["vendor"])):
        head, _, *rows = table.split("\n\n")[0].splitlines()
        assert len(rows) == 2
        assert {row.replace("\\|", "").count("|") for row in rows} == {head.replace("\\|", "").count("|")}
        assert harmless(table, lines=True) and "javascript:" not in table
        assert not re.search(r"(?<!\\)<", table.replace("<br>", "")) and "[l]" not in table.replace("\\[l\\]", "")


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_names_in_csv_and_terminals_stay_in_their_cells(name):
    rows = list(csv.reader(io.StringIO(csv_text(merge([evil(name)], [name])))))
    assert len(rows) == 4 and {len(row) for row in rows} == {len(COLUMNS)}
    assert all(harmless(text) for row in rows for text in row)
    output = io.StringIO()
    terminal.show(Console(file=output, width=200), evil(name))
    assert harmless(output.getvalue(), lines=True)


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_names_in_pages_are_no_markup(name):
    page = html_text(merge([evil(name)], [name]), title=name)
    tags = re.findall(r"<(/?[a-z!][a-z0-9]*)", page, re.IGNORECASE)
    plain = re.findall(r"<(/?[a-z!][a-z0-9]*)", html_text(merge([evil("x")], ["x"]), title="x"), re.IGNORECASE)
    assert tags == plain
    assert "\u2028" not in page and "\x1b" not in page and "\u202e" not in page
    data = json.loads(page.partition('id="data">')[2].partition("</script>")[0])
    assert len(data["cells"]) == 2 and all(harmless(text) for text in data["texts"])


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", " =1", "\t=1", "\r=1"])
def test_no_name_is_a_formula_of_a_spreadsheet(text):
    _, *rows = csv.reader(io.StringIO(csv_text(merge([evil(text)], [text]))))
    cells = [value for row in rows for value in row if not re.fullmatch(r"-?[\d.e+-]+", value)]
    assert cells and not any(value.lstrip().startswith(("=", "+", "-", "@")) for value in cells)


@pytest.mark.parametrize("seconds", [1e-12, 1e7])
def test_numbers_at_their_limits(seconds):
    for unit in Unit:
        work = {"flops": 1e25, "nbytes": 1e-12, "unit": unit}
        values = {"samples": ((seconds,),) * 3, "work": work, "error": 1e300, "joules": 1e25, "first_call": 1e7}
        matrix = merge([run(cell(**values), vendors(samples=((1e7,),) * 3, work=work))])
        for made in (published_table(matrix), csv_text(matrix), html_text(matrix)):
            assert "nan" not in made.lower().replace("finance", "")
        json.loads(html_text(matrix).partition('id="data">')[2].partition("</script>")[0], parse_constant=pytest.fail)


@pytest.mark.parametrize("value", [0.0, 5e-324, 1e-13, 1e8])
def test_times_that_no_call_takes_are_refused(value, tmp_path):
    """So that no rate is infinite."""
    good = tmp_path / "a.json"
    save(good, run(cell(samples=((1.5,),) * 3)))
    good.write_text(good.read_text().replace("1.5", repr(value)))
    with pytest.raises(StoreError, match="damaged"):
        load(good)


@pytest.mark.thorough
def test_very_many_cells():
    """They are merged and written; a page is refused, since nobody could read it, with what helps."""
    one = cell(samples=((1.0,),))
    cells = [replace(one, workload=replace(one.workload, size=str(n))) for n in range(100_000)]
    matrix = merge([run(*cells)])
    assert len(matrix.places) == 100_000 and csv_text(matrix).count("\n") == 100_001
    with pytest.raises(SettingsError, match="a page holds"):
        html_text(matrix)


def test_a_page_of_long_texts_is_refused():
    cells = [cell(work={"size": f"{n:05d}" + "x" * 3000}, repeat=f"{n}" + "y" * 3000) for n in range(1500)]
    with pytest.raises(SettingsError, match="MB"):
        html_text(merge([run(*cells)]))


def test_damaged_files_end_in_one_line(tmp_path):
    good = tmp_path / "good.json"
    save(good, run(cell(), vendors()))
    text = good.read_text()
    contents = (text[:-40], text.replace("0.999", '"x"'), text.replace('"device": 0', '"device": 7'), "[]")
    for number, damaged in enumerate(contents):
        file = tmp_path / f"{number}.json"
        file.write_text(damaged)
        for arguments in ([file], ["--compare", good, file], ["--compare", file, good]):
            done = CliRunner().invoke(cli, ["matrix", *map(str, arguments)])
            assert isinstance(done.exception, StoreError) and not done.output
            assert harmless(done.exception.message)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(st.sampled_from(sorted(cell_json(cell()))), JSON)
def test_any_value_in_a_cell_is_refused_or_printed(tmp_path_factory, name, value):
    file = tmp_path_factory.getbasetemp() / "any.json"
    save(file, run(cell()))
    data = json.loads(file.read_text())
    data["cells"][0][name] = value
    file.write_text(json.dumps(data))
    try:
        matrix = merge([load(file)])
    except StoreError:
        return
    assert harmless(published_table(matrix), lines=True) and "<script>alert" not in html_text(matrix)
