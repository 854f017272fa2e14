"""The languages that programs are rendered in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from portagpu.backends.source import KernelSource
from portagpu.device.capabilities import Capabilities
from portagpu.ir.operations import INSTRUCTIONS, OPERATIONS
from portagpu.ir.program import Program


class Generate(Protocol):
    """Writes the text of a typed program for a device's compiler."""

    def __call__(
        self,
        program: Program,
        caps: Capabilities,
        /,
        *,
        static_dynamic_shared: int = 0,
        subgroup_size: int | None = None,
    ) -> KernelSource:
        """``static_dynamic_shared``: bytes of dynamic shared memory that become a static array; ``subgroup_size``: what
        the kernel's subgroups must have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelLanguage:
    """A language of kernels, which several back ends may share.

    ``title``: what people call it; ``inspection``: the method of kernels that shows it; ``generate`` writes it;
    ``operations``: those and the instructions of `portagpu.ir.operations` that it knows.
    """

    title: str
    inspection: str
    generate: Generate
    operations: frozenset[str] = frozenset({*OPERATIONS, *INSTRUCTIONS})
