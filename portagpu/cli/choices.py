"""Suggestions for misspelt options and commands."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import click

from portagpu.errors import did_you_mean

DEFAULT_PRECISION = "default"


class Choice(click.Choice):  # type: ignore[type-arg]  # not generic before click 8.2
    """As click's, with the choice that is most like what was written."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The choice. Raises `click.BadParameter`."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            meant = suggestion(str(value), map(str, self.choices))
            raise click.BadParameter(f"{error.message} {meant}".strip(), ctx, param) from None


def suggestion(name: str, known: Iterable[str]) -> str:
    """A sentence about the known name that is most like this one, or nothing."""
    meant = did_you_mean(name, known).strip()
    return meant[:1].upper() + meant[1:]


class SuggestingGroup(click.Group):
    """A group that suggests a command for one that it does not have."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """The command that the first argument names. Raises `click.UsageError`."""
        name = args[0] if args else ""
        if name and not name.startswith("-") and not ctx.resilient_parsing and self.get_command(ctx, name) is None:
            known = self.list_commands(ctx)
            meant = suggestion(name, known) or f"Commands are {', '.join(known)}."
            ctx.fail(f"No such command {name!r}. {meant}")
        return super().resolve_command(ctx, args)
