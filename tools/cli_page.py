"""The text of docs/cli.md, made from the commands themselves."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import click

from portagpu.cli import cli
from tools.docstrings import escaped, markdown, table

HEAD = """\
# Command line

Every command, with all of its arguments and options. This page is made from the commands themselves:
`python -m tools.documents` writes it, and a test fails when it is stale. `portagpu bench --help` shows the same.

`python -m portagpu` is another way to write `portagpu`. Commands end with status 0 where all went well, 1 after an
error of which they tell in one message, 2 where they were called in a wrong way, and 130 after Ctrl-C.
`portagpu --debug` shows the traceback of an error.

Environment variables that every command obeys: [environment.md](environment.md).

"""


def commands(command: click.Command = cli, name: str = "portagpu") -> Iterator[tuple[str, click.Command]]:
    """Every command with its full name, groups before their members."""
    yield name, command
    if isinstance(command, click.Group):
        context = click.Context(command, info_name=name)
        for member in command.list_commands(context):
            found = command.get_command(context, member)
            if found is not None and not found.hidden:
                yield from commands(found, f"{name} {member}")


def value_of(parameter: click.Parameter) -> str:
    """What stands for a parameter's value; empty where it takes none."""
    if isinstance(parameter, click.Option) and (parameter.is_flag or parameter.count):
        return ""
    if parameter.metavar:
        return parameter.metavar
    if isinstance(parameter.type, click.Choice):
        return "|".join(str(getattr(choice, "value", choice)) for choice in parameter.type.choices if choice != "")
    name = (parameter.name or "") if isinstance(parameter, click.Argument) else parameter.type.name
    return (name + "..." * (parameter.nargs == -1)).replace(" ", "_").upper()


def default_of(option: click.Option) -> str:
    """A default that is worth a word."""
    default = option.to_info_dict().get("default")
    if option.is_flag or not isinstance(default, str | int | float) or default == "" or isinstance(default, bool):
        return ""
    return f" Default: `{default}`."


def _usage(name: str, command: click.Command) -> str:
    words = [name]
    if any(isinstance(p, click.Option) for p in command.params):
        words.append("[OPTIONS]")
    for parameter in command.params:
        if isinstance(parameter, click.Argument):
            shown = value_of(parameter)
            words.append(shown if parameter.required or shown.startswith("[") else f"[{shown}]")
    if isinstance(command, click.Group):
        words.append("COMMAND ..." if not command.invoke_without_command else "[COMMAND ...]")
    return " ".join(words)


def _rows(command: click.Command) -> Iterator[tuple[str, str]]:
    for option in command.params:
        if not isinstance(option, click.Option) or option.hidden:
            continue
        value = value_of(option)
        names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
        meaning = (option.help or "").strip()
        meaning = meaning[:1].upper() + meaning[1:] + ("" if not meaning or meaning.endswith(".") else ".")
        if option.multiple and "repeated" not in meaning:
            meaning = f"{meaning} May be repeated.".strip()
        yield names + (f" `{escaped(value)}`" if value else ""), escaped(meaning + default_of(option)).strip()
    yield "`--help`", "Show the options and end."


def text() -> str:
    """The whole document."""
    found = list(commands())
    parts = [HEAD]
    for name, command in found:
        parts.append(f"{'#' * min(len(name.split()) + 1, 3)} {name}\n")
        parts.append(f"```text\n{_usage(name, command)}\n```\n")
        help_text = inspect.cleandoc(command.help or "").partition("\f")[0].replace("\b\n", "")
        if help_text:
            parts.append(markdown(help_text))
        if isinstance(command, click.Group):
            prefix = f"{name} "
            members = [(n, c) for n, c in found if n.startswith(prefix) and len(n.split()) == len(name.split()) + 1]
            rows = [(f"[`{n}`](#{n.replace(' ', '-')})", escaped(c.get_short_help_str(200))) for n, c in members]
            parts.append(table("Command | What it does", rows))
        parts.append(table("Option | Meaning", list(_rows(command))))
    return "\n".join(part.rstrip("\n") + "\n" for part in parts)
