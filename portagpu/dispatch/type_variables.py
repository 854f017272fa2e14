"""Type variables for type checkers: parameters and result of a decorated function.

Left out they are anything, so that ``cuda.Dispatcher`` alone is a type, too. Python 3.10 has no such defaults; type
checkers bring them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import ParamSpec, TypeVar

    P = ParamSpec("P", default=...)
    R = TypeVar("R", default=Any)
else:
    from typing import ParamSpec, TypeVar

    P = ParamSpec("P")
    R = TypeVar("R")
