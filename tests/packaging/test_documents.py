"""What the documents say can be done: programs run, commands and names exist, links lead somewhere."""

from __future__ import annotations

import builtins
import functools
import re
import runpy
import shlex
import textwrap
from pathlib import Path

import click
import pytest

from portagpu import cuda, errors, settings
from portagpu.cli import cli

ROOT = Path(__file__).parents[2]
DOCUMENTS = [
    ROOT / "README.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").glob("*.md")),
    ROOT / "examples/README.md",
]
TEXTS = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in DOCUMENTS}
# (document, name of the exception or "", program): ```python raises KernelTypeError
PROGRAMS = [
    (name, *found)
    for name in TEXTS
    for found in re.findall(r"^```python(?: raises (\w+))?\n(.*?)^```", TEXTS[name], re.S | re.M)
]
_COMMAND = re.compile(r"(?:`|^ {4}|/)portagpu ([a-z][^`#\n&|]*)", re.M)
COMMANDS = sorted({found.strip() for text in TEXTS.values() for found in _COMMAND.findall(text)})


def test_there_is_something_to_check():
    assert len(PROGRAMS) >= 2 and len(COMMANDS) >= 10


@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_programs_run(device, number, tmp_path):
    document, error, program = PROGRAMS[number]
    path = tmp_path / "program.py"
    path.write_text(program, encoding="utf-8")
    if not error:
        runpy.run_path(str(path))
        return
    with pytest.raises(getattr(errors, error, None) or getattr(builtins, error)) as caught:
        runpy.run_path(str(path))
    assert type(caught.value).__name__ == error
    # where the document shows the message, it is this one
    shown = textwrap.dedent("".join(re.findall(rf"(?m)^    {error}: .*\n(?:    .*\n)*", TEXTS[document])))
    if shown:
        said = f"{error}: {caught.value}".replace(str(path), "program.py")
        assert shown.rstrip("\n") == said.replace("at " + str(tmp_path) + "/", "at ")


@pytest.mark.parametrize("text", COMMANDS)
def test_commands_can_be_given(text, tmp_path, monkeypatch):
    """The command is there and takes these arguments."""
    monkeypatch.chdir(tmp_path)
    words = shlex.split(text)
    for word in words:
        if word.endswith(".json") or word == "FILE":
            Path(word).write_text("", encoding="utf-8")
    command = cli
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
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


def test_links_lead_somewhere():
    links = [(name, target) for name in TEXTS for target in re.findall(r"\]\(([\w./-]+\.\w+)\)", TEXTS[name])]
    assert len(links) > 5
    assert not [(name, target) for name, target in links if not (ROOT / name).parent.joinpath(target).exists()]
