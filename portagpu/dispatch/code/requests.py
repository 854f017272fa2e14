"""What code is asked for: for which types, capabilities and launch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from portagpu.device.capabilities import Capabilities
from portagpu.ir.program import GridShape
from portagpu.ir.types import ArgumentType
from portagpu.runtime.programs.launch_shape import Extent

if TYPE_CHECKING:
    from portagpu.backends.backend import Backend


@dataclass(frozen=True, slots=True)
class Counts:
    """What code counts beside what it does: its work, and which bytes it touches."""

    touched: bool


@dataclass(frozen=True, slots=True)
class Request:
    """What code is asked for: ``shared`` bytes of dynamic shared memory; see `Specialisations.build` for the others."""

    backend: Backend
    types: tuple[ArgumentType, ...]
    caps: Capabilities
    wide: bool = False
    shared: int = 0
    launch: GridShape | None = None
    block: Extent | None = None
    counts: Counts | None = None

    @property
    def may_fuse(self) -> bool:
        """Whether the code may depend on the grid: blocks that wait for each other may become one work-group."""
        return self.launch is not None and self.launch.blocks > 1 and not self.caps.cooperative_launch
