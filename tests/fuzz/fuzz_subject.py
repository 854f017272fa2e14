"""Subjects of differential fuzzing: the interface between a campaign and the programs that it draws.

A subject is a module ``fuzz_NAME.py`` in arrays/, blas/ or kernels/ with

- ``drawn(random)``: a random `Program`, a frozen dataclass, in a list; or several that run the same kernels.
- ``check(program)``: raises `Difference` where the device computes something else than the reference. Errors of other
  classes are failures, too. `Invalid` says that the program has no defined result, so that it is no example: a program
  that the minimiser wrote may read what nothing wrote, or run forever.
- ``smaller(program)``, optional: programs that are simpler in more than their text (fewer arguments, a smaller grid).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from random import Random
from typing import Any, Protocol

SUBJECTS = ("kernels", "operators", "arrays", "blas")


class Difference(AssertionError):
    """The device computes something else than the reference."""


class Invalid(Exception):
    """A program without a defined result."""


class Program(Protocol):
    """A frozen dataclass; ``str()`` of it is a Python program that runs by itself and fails where the device is wrong.

    ``source`` is Python text. The minimiser deletes statements of it and replaces expressions.
    """

    source: str


class Subject:
    """A subject's module, imported when first used: it imports the package, which reads the environment."""

    def __init__(self, name: str) -> None:
        module = importlib.import_module(f"fuzz_{name}")
        self.name = name
        self.drawn: Callable[[Random], list[Any]] = module.drawn
        self.check: Callable[[Any], None] = module.check
        self.smaller: Callable[[Any], Iterable[Any]] = getattr(module, "smaller", lambda program: ())
