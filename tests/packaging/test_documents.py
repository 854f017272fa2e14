"""What the documents say can be done: programs run, commands and names exist, links lead somewhere."""

from __future__ import annotations

import ast
import builtins
import contextlib
import functools
import io
import re
import runpy
import shlex
import sys
import textwrap
from pathlib import Path

import click
import pytest

from portagpu import cuda, errors, settings
from portagpu.cli import cli
from tools.documents import MADE

ROOT = Path(__file__).parents[2]
DOCUMENTS = [
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    ROOT / "examples/README.md",
]
TEXTS = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in DOCUMENTS}
BLOCK = re.compile(r"^(?P<fence>```+)(?P<language>[^\n`]*)\n(?P<code>.*?)^(?P=fence)$", re.S | re.M)
# (document, name of the exception or "", program, what it prints or None, package that it needs or None)
PROGRAMS = [
    (name, found["error"] or "", found["code"], found["prints"], found["needs"])
    for name in TEXTS
    for found in re.finditer(
        r"^(?:<!-- needs (?P<needs>\w+) -->\n)?(?:<!-- raises (?P<error>\w+) -->\n)?```python\n(?P<code>.*?)^```\n"
        r"(?:\n<!-- prints -->\n```text\n(?P<prints>.*?)^```$)?",
        TEXTS[name],
        re.S | re.M,
    )
]
LANGUAGES = {"python", "py", "text", "c", "cpp"}
_COMMAND = re.compile(r"(?:`|^ {4}|/)portagpu ([a-z][^`#\n&|]*)", re.M)
# the page of commands names all options of one in a pattern
COMMANDS = sorted({c.strip() for name, text in TEXTS.items() if name != "docs/cli.md" for c in _COMMAND.findall(text)})


def test_there_is_something_to_check():
    assert len(PROGRAMS) >= 20 and len(COMMANDS) >= 10
    assert sum(prints is not None for *_, prints, _ in PROGRAMS) >= 5


def test_every_block_is_of_a_known_kind():
    """```python runs, ```py is a fragment; code is nowhere without a language, where nobody would check it."""
    kinds = {(name, found["language"]) for name in TEXTS for found in BLOCK.finditer(TEXTS[name])}
    assert not {(name, language) for name, language in kinds if language not in LANGUAGES}
    indented = re.compile(r"^ {4}(?:import |from \w+ import|def |@|for .*:$)", re.M)
    prose = {name: BLOCK.sub("", text) for name, text in TEXTS.items()}
    assert not {name: found for name, text in prose.items() if (found := indented.findall(text))}
    marks = sum(text.count("<!-- raises ") + text.count("<!-- prints -->") for text in TEXTS.values())
    marks += sum(text.count("<!-- needs ") for text in TEXTS.values())
    marked = sum(bool(error) + (prints is not None) + (needs is not None) for _, error, _, prints, needs in PROGRAMS)
    assert marks - TEXTS["CONTRIBUTING.md"].count("`<!-- ") == marked, "a mark that stands before no program"


def test_fragments_are_python():
    for name, text in TEXTS.items():
        for found in BLOCK.finditer(text):
            if found["language"] == "py" and name.removeprefix("docs/") not in MADE:
                ast.parse(textwrap.dedent(found["code"]), filename=name)


@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_programs_run(device, number, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where files that a program writes go
    document, error, program, prints, needs = PROGRAMS[number]
    if needs is not None:
        pytest.importorskip(needs)
    path = tmp_path / "program.py"
    path.write_text(program, encoding="utf-8")
    printed = io.StringIO()
    if not error:
        with contextlib.redirect_stdout(printed):
            runpy.run_path(str(path))
        if prints is not None:
            assert printed.getvalue() == prints
        return
    with pytest.raises(getattr(errors, error, None) or getattr(builtins, error)) as caught:
        runpy.run_path(str(path))
    assert type(caught.value).__name__ == error
    # where the document shows the message, it is this one
    shown = [
        found["code"]
        for found in BLOCK.finditer(TEXTS[document])
        if found["language"] == "text" and found["code"].startswith(f"{error}: ")
    ]
    if shown:
        said = f"{error}: {caught.value}\n".replace(str(path), "program.py")
        assert said.replace("at " + str(tmp_path) + "/", "at ") in shown


@pytest.mark.parametrize("text", COMMANDS)
def test_commands_can_be_given(text, tmp_path, monkeypatch):
    """The command is there and takes these arguments."""
    monkeypatch.chdir(tmp_path)
    words = shlex.split(text)
    for word in words:
        if word.endswith((".json", ".jsonl")) or word == "FILE":
            Path(word).write_text("", encoding="utf-8")
    command = cli
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        if command.name == "bench" and ".py" in words[0]:  # of the kernel that a file has by that name
            words = ["kernel", *words]
        found = command.get_command(click.Context(command), words[0])
        assert found is not None, words
        command, words = found, words[1:]
    if command.name != "matrix" or words:  # named alone, it lacks its files
        command.make_context("portagpu", words)


def test_names_exist():
    named = {found for text in TEXTS.values() for found in re.findall(r"(?<![\w./])cuda\.([A-Za-z_][\w.]*\w)", text)}
    missing = []
    for name in sorted(named):
        try:
            functools.reduce(getattr, name.split("."), cuda)
        except AttributeError:
            missing.append(name)
    assert not missing


def test_environment_variables_exist():
    known = set(re.findall(r"PORTAGPU_\w+", Path(settings.__file__).read_text(encoding="utf-8")))
    named = set(re.findall(r"PORTAGPU_\w+", "".join(TEXTS.values())))
    assert named <= known


def _anchors(text):
    """The anchors of a document's headings, as GitHub and the site make them."""
    headings = re.findall(r"^#+ (.*)$", BLOCK.sub("", text), re.M)
    plain = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).replace("`", "") for heading in headings]
    return {re.sub(r"[^\w\s-]", "", heading).strip().lower().replace(" ", "-") for heading in plain}


def _links():
    """(document, address) of every link outside of code."""
    for name, text in TEXTS.items():
        prose = re.sub(r"`[^`\n]*`|\n\n {4}.*", "", BLOCK.sub("", text))
        for found in re.finditer(r"\]\(([^)\s]+)\)", prose):
            yield name, found[1]


def test_links_lead_somewhere():
    """To files of the repository, and to headings that are there; addresses of the web have their form."""
    links = list(_links())
    assert len(links) > 100
    lost = []
    for name, address in links:
        if "://" in address:
            if not re.fullmatch(r"https://[\w.-]+\.[a-z]+(?:/[\w./~%+-]*)?(?:#[\w-]+)?", address):
                lost.append((name, address))
            continue
        path, _, anchor = address.partition("#")
        target = (ROOT / name).parent.joinpath(path).resolve() if path else ROOT / name
        if not target.exists() or (anchor and anchor not in _anchors(TEXTS[target.relative_to(ROOT).as_posix()])):
            lost.append((name, address))
    assert not lost


def test_the_index_names_every_page():
    """And the site's navigation does."""
    pages = {path.name for path in (ROOT / "docs").glob("*.md")} - {"index.md"}
    assert not {page for page in pages if f"]({page})" not in TEXTS["docs/index.md"]}
    listed = re.findall(r"^ +- (\w[\w-]*\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.M)
    assert sorted(listed) == sorted({*pages, "index.md", "CONTRIBUTING.md", "CHANGELOG.md"})


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.10 has fewer functions in math")
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.thorough] if name.startswith("reference-") else [])
        for name in sorted(set(MADE) - {"not-portable.md"})
    ],
)
def test_made_pages_are_fresh(name):
    written = (ROOT / "docs" / name).read_text(encoding="utf-8")
    assert written == MADE[name](), "python -m tools.documents writes it"


_PATH = re.compile(r"(?<![\w./-])(?:\.?[\w*-]+/)+[\w*.-]*\w/?")


def test_paragraphs_begin_with_a_sentence():
    for name, text in TEXTS.items():
        begun = re.findall(r"\n\n([,:;.].*)", BLOCK.sub("", text))
        assert not begun, (name, begun)


def test_files_that_are_named_exist():
    """Paths in text, below the package or the repository; NAME and * stand for what a reader fills in."""
    named = set()
    for name, text in TEXTS.items():
        if name != "CHANGELOG.md":  # which tells what was
            shown = "\n".join(re.findall(r"`[^`\n]+`", BLOCK.sub("", text)))
            named |= {(name, path) for path in _PATH.findall(shown) if path.endswith((".py", ".mako", ".cl", "/"))}
    ways = re.findall(r"^([\w*]+/[\w*/.]*) ", TEXTS["docs/architecture.md"], re.M)  # of a launch and of a product
    assert len(ways) >= 15
    named |= {("docs/architecture.md", path) for path in ways}
    paths = {(name, path) for name, path in named if not re.search(r"[A-Z]{4}", path)}
    assert len(paths) >= 30
    missing = {row for row in paths if not any(any(root.glob(row[1])) for root in (ROOT, ROOT / "portagpu"))}
    assert not missing
