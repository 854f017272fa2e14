"""Kernels of users' files for commands that compile them: ``FILE.py:KERNEL``."""

from __future__ import annotations

import click

from portagpu.cli.user_files import load
from portagpu.dispatch.dispatcher import Dispatcher
from portagpu.errors import did_you_mean


def kernel_of(text: str) -> Dispatcher:
    """The kernel that ``FILE.py:NAME`` names; the file is run as a module. Raises `click.BadParameter`."""
    module, name = load(text)
    found = getattr(module, name, None)
    if not isinstance(found, Dispatcher) or found.is_device_function:
        kernels = [one for one, value in vars(module).items() if isinstance(value, Dispatcher)]
        meant = did_you_mean(name, kernels) or "kernels are decorated with @cuda.jit"
        raise click.BadParameter(f"{module.__file__} has no kernel called {name}; {meant.strip()}")
    return found
