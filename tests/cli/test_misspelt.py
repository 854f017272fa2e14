"""Misspelt commands, options and choices: what was meant is named. And one spelling of shapes."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from portagpu.cli import cli
from portagpu.cli.shapes import joined
from portagpu.device import devices
from portagpu.errors import PortaGPUError


def walk(command, words=()):
    """Every command with the words that lead to it."""
    yield words, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from walk(command.get_command(context, name), (*words, name))


COMMANDS = dict(walk(cli))


def twisted(name):
    """The name with its last two letters the other way round, or the last one twice."""
    return name[:-2] + name[-1] + name[-2] if name[-1] != name[-2] else name + name[-1]


def said(*words):
    result = CliRunner().invoke(cli, [*words])
    assert result.exit_code == (2 if isinstance(result.exception, SystemExit) else 1)
    return f"{result.output}{result.exception}"


@pytest.mark.parametrize("words", [words for words in COMMANDS if words], ids=" ".join)
def test_every_command_is_suggested(words):
    found = said(*words[:-1], twisted(words[-1]))
    assert f"No such command '{twisted(words[-1])}'. Did you mean `{words[-1]}`?" in found


CHOICES = [
    (words, parameter.opts[-1], str(choice))
    for words, command in COMMANDS.items()
    for parameter in command.params
    if isinstance(parameter.type, click.Choice)
    for choice in parameter.type.choices
    if len(str(choice)) > 3
]


@pytest.mark.parametrize("words, option, choice", CHOICES, ids=lambda v: v if isinstance(v, str) else " ".join(v))
def test_every_choice_is_suggested(words, option, choice):
    found = said(*words, option, twisted(choice))
    assert "is not one of" in found and "Did you mean `" in found


def test_no_choice_is_empty():
    for command in COMMANDS.values():
        for parameter in command.params:
            assert not (isinstance(parameter.type, click.Choice) and "" in parameter.type.choices)
    for words in (("bench",), ("tune", "gemm")):
        text = CliRunner().invoke(cli, [*words, "--help"]).output
        assert "[|" not in text and "||" not in text


def test_every_option_is_suggested_by_click():
    options = [(w, p.opts[-1]) for w, c in COMMANDS.items() for p in c.params if isinstance(p, click.Option)]
    assert len(options) > 50
    for words, option in options:
        if len(option) > 5:
            assert "Did you mean" in said(*words, twisted(option)), (words, option)


def test_names_of_devices_targets_and_tunables_are_suggested(device, tmp_path):
    word = next(word for word in device.platform.split() if len(word) > 4).lower()
    result = CliRunner().invoke(cli, ["tune", "gemm", "--device", word[:-2] + word[-1] + word[-2] + "x"])
    assert isinstance(result.exception, PortaGPUError) and "did you mean `" in result.exception.hint
    (tmp_path / "k.py").write_text(
        "from portagpu import cuda, tuning\n@cuda.jit('void(float32[::1])')\ndef scale(x):\n    x[0] = 2\n"
        "SCALE = tuning.Tunable(name='s', space=tuning.SearchSpace.of(x=(1,)), prepare=print, run=print)\n"
    )
    file = tmp_path / "k.py"
    assert "did you mean `scale`?" in said("check", f"{file}:sclae")
    assert "did you mean `sm_90`?" in said("check", f"{file}:scale", "--target", "sm90")
    assert "did you mean `SCALE`?" in said("tune", "kernel", f"{file}:SCLAE", "n=1")
    assert devices()


# shapes ---------------------------------------------------------------------------------------------------------------


def test_modules_of_a_file_are_no_kernels(tmp_path):
    (tmp_path / "mine.py").write_text("import math as np\n\n\ndef nape():\n    pass\n")
    for wanted, meant in (("nope", "nape"), ("np2", "")):
        found = said("bench", f"{tmp_path / 'mine.py'}:{wanted}")
        assert f"has no {wanted}" in found and "`np`" not in found and f"`{meant}`" * bool(meant) in found


@pytest.mark.parametrize("command", [("tune",), ("tune", "gemm")])
@pytest.mark.parametrize("words", [("64x48x32",), ("64", "48", "32")])
def test_shapes_have_one_form_and_the_old_one_is_taken_with_a_note(device, command, words):
    result = CliRunner().invoke(cli, [*command, "--explain", *words, "--device", str(device.index)])
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("64 x 48 x 32 float32 NN")
    note = "note: `--explain 64 48 32` is deprecated: write --explain 64x48x32\n"
    assert result.stderr == (note if len(words) == 3 else "")


@pytest.mark.parametrize("command", [("bench",), ("bench", "tuned"), ("tune", "gemm")])
@pytest.mark.parametrize("text", ["64", "64x64", "0x1x1", "axbxc", "64x64x64x64", "-1x2x3"])
def test_what_is_no_shape_is_told_the_form(command, text):
    assert f"'{text}' is no shape; write MxNxK, such as 4096x4096x128" in said(*command, "--shape", text)


@pytest.mark.parametrize(
    "words, made",
    [
        (["--shape", "1", "2", "3", "--shape", "4x5x6"], ["--shape", "1x2x3", "--shape", "4x5x6"]),
        (["--shape=1", "2", "3", "x"], ["--shape=1x2x3", "x"]),
        (["--shape", "1", "2"], ["--shape", "1", "2"]),
        (["--", "--shape", "1", "2", "3"], ["--", "--shape", "1", "2", "3"]),
        (["--size", "1", "2", "3"], ["--size", "1", "2", "3"]),
        (["--shape"], ["--shape"]),
    ],
)
def test_three_words_become_one(words, made):
    assert joined(words, ("--shape",)) == made
