"""Benchmarks that are run as ``python -m portagpu.bench.NAME``: errors of ours end in one message."""

from __future__ import annotations

from typing import Any

import click

from portagpu.device import DeviceRecord, default_device, find_device
from portagpu.errors import PortaGPUError


class Program(click.Command):
    """A command of its own, without the `portagpu` command around it that tells errors."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run it. Raises `click.ClickException` for an error of ours."""
        try:
            return super().invoke(ctx)
        except PortaGPUError as error:
            raise click.ClickException(str(error)) from error


device_argument = click.argument("selector", metavar="[DEVICE]", required=False)


def chosen(selector: str | None) -> DeviceRecord:
    """The device that is named, or the default one. Raises `DeviceSelectionError`, `NoDeviceError`."""
    return find_device(selector) if selector else default_device()
