"""Shapes of products in options: MxNxK everywhere; ``M N K``, three words, is taken where it was the form once."""

from __future__ import annotations

from typing import Any

import click

from portagpu.bench.problems import parse_shape

FORM = "MxNxK, such as 4096x4096x128"


class ProductShape(click.ParamType):  # type: ignore[type-arg]  # not generic before click 8.2
    """``MxNxK``: rows and columns of the result, and the length of the sums."""

    name = "MxNxK"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The three sizes. Raises `click.BadParameter`."""
        if isinstance(value, tuple):
            return value
        shape = parse_shape(str(value))
        if shape is None:
            raise click.BadParameter(f"{value!r} is no shape; write {FORM}", ctx, param)
        return shape[1:]


def joined(args: list[str], options: tuple[str, ...]) -> list[str]:
    """The arguments with ``M N K`` behind one of the options as one word, which is noted as the old form."""
    made: list[str] = []
    rest = list(args)
    while rest:
        word = rest.pop(0)
        made.append(word)
        if word == "--":
            return [*made, *rest]
        option, equals, first = word.partition("=")
        if option not in options:
            continue
        sizes = ([first] if equals else []) + rest[: 2 if equals else 3]
        if len(sizes) == 3 and all(size.lstrip("-").isdecimal() for size in sizes):
            text = "x".join(sizes)
            click.echo(f"note: `{option} {' '.join(sizes)}` is deprecated: write {option} {text}", err=True)
            made[-1:] = [f"{option}={text}"] if equals else [option, text]
            del rest[: 2 if equals else 3]
    return made


class OldShapes(click.Command):
    """A command whose ``--shape`` and ``--explain`` take three words, too."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse them."""
        return super().parse_args(ctx, joined(args, ("--shape", "--explain")))
