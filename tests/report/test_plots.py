"""Plots as files."""

from __future__ import annotations

import sys
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from sample_runs import cell, five, run, vendors

from portagpu.bench.records.files import save
from portagpu.cli import cli
from portagpu.errors import SettingsError
from portagpu.report import plots
from portagpu.report.merging import merge
from portagpu.report.selection import select
from portagpu.report.views import VIEWS

pytestmark = pytest.mark.one_device


@pytest.fixture(scope="module")
def matrix():
    return select(merge(*five()), ["gemm float32 4096", "potrf"], ["aurora", "zeon"])


@pytest.mark.parametrize("kind", plots.PLOTS)
def test_plots_are_pictures(kind, matrix):
    assert plots.draw(matrix, kind, VIEWS["vendor"], "png").startswith(b"\x89PNG")
    picture = plots.draw(matrix, kind, VIEWS["vendor"], "svg", title="a <b> & $c$")
    assert ElementTree.fromstring(picture).tag.endswith("svg")
    assert picture == plots.draw(matrix, kind, VIEWS["vendor"], "svg", title="a <b> & $c$")  # the same file each time


def test_lines_of_memory_are_apart():
    """A device has a dozen levels, and a plot room for few."""
    levels = {
        "cache 16 KiB": 14e12,
        "cache 64 KiB": 31.2e12,
        "local memory": 31.7e12,
        "cache 4 MiB": 10e12,
        "copy": 3e12,
    }
    assert plots.apart(levels) == [("copy", 3e12), ("local memory", 31.7e12), ("cache 16 KiB", 14e12)]
    assert plots.apart({}) == []


@pytest.mark.parametrize("name", ["$\\frac{$", "<script>", "\x1b[31m", "x" * 3000, "_^{", "\u202e"])
def test_names_in_plots_are_text(name):
    work = {"suite": name, "name": name}
    made = merge([run(cell(work=work), vendors(work=work), devices=(name,))])
    assert b"<script" not in plots.draw(made, "bars", VIEWS["vendor"], "svg", title=name)
    plots.draw(made, "roofline", VIEWS["vendor"], "svg")


def test_what_cannot_be_drawn_is_said():
    empty = merge([run(cell(None))])
    for kind in plots.PLOTS:
        with pytest.raises(SettingsError, match="nothing to draw"):
            plots.draw(empty, kind, VIEWS["vendor"], "svg")
    with pytest.raises(SettingsError, match="several units"):
        plots.draw(select(merge(*five()), ["axpy", "potrf"], []), "bars", VIEWS["rate"], "svg")
    many = merge([run(*(cell(work={"size": str(n)}) for n in range(500)))])
    with pytest.raises(SettingsError, match="cannot be read"):
        plots.draw(many, "bars", VIEWS["rate"], "svg")


def test_plots_by_the_command(tmp_path, monkeypatch):
    save(tmp_path / "a.json", run(cell(), vendors()))
    arguments = ["matrix", str(tmp_path / "a.json"), "-o", str(tmp_path / "a.svg")]
    done = CliRunner().invoke(cli, arguments)
    assert done.exit_code == 0, done.output
    assert (tmp_path / "a.svg").read_text().startswith("<?xml")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    done = CliRunner().invoke(cli, arguments)
    assert isinstance(done.exception, SettingsError) and "portagpu[plot]" in str(done.exception)


def test_tables_and_pages_need_no_matplotlib(tmp_path, monkeypatch):
    save(tmp_path / "a.json", run(cell(), vendors()))
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for name in ("t.html", "t.md"):
        done = CliRunner().invoke(cli, ["matrix", str(tmp_path / "a.json"), "-o", str(tmp_path / name)])
        assert done.exit_code == 0, done.output
