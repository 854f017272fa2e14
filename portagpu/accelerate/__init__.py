"""Plain NumPy code on a device: ``with portagpu.accelerate():``, ``python -m portagpu.accelerate``.

The module can be called: ``portagpu.accelerate`` is this module whether it was imported before or not.
"""

from __future__ import annotations

import functools
import sys
from types import ModuleType
from typing import Any

from portagpu.accelerate.acceleration import Acceleration, accelerate
from portagpu.accelerate.report import Calls, Report

__all__ = ["Acceleration", "Calls", "Report", "accelerate"]


class _Callable(ModuleType):
    """A module that is called as the function of its name."""

    @functools.wraps(accelerate)
    def __call__(self, *args: Any, **kwargs: Any) -> Acceleration:
        return accelerate(*args, **kwargs)


sys.modules[__name__].__class__ = _Callable
