"""What a back end makes of a program: text for its compiler, and what launches, errors and inspection need of it."""

from __future__ import annotations

from dataclasses import dataclass

from portagpu.ir.program import Finding, GridShape, KernelException, Parameter, Remark
from portagpu.source import Span


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelSource:
    """A generated kernel: text, entry point, the C parameters that remain, and the way back to Python lines."""

    source: str
    name: str
    parameters: tuple[Parameter, ...]
    lines: tuple[Span | None, ...]  # span of each line of ``source``
    static_shared: int  # bytes
    block_dim: tuple[int, int, int] | None
    cluster: tuple[int, int, int] | None = None  # blocks that run together
    cooperative: bool = False
    fused: GridShape | None = None  # the grid that became one work-group
    max_threads: int | None = None  # of a block, where warps are emulated
    has_line_directives: bool = False  # the driver's messages then name lines of the Python file
    constant_bytes: int = 0  # of captured arrays
    shared_bytes: int = 0  # of static shared arrays, as declared
    local_bytes: int = 0  # of the local arrays of a thread, as declared
    prints: bool = False
    findings: tuple[Finding, ...] = ()  # what wastes a GPU's time
    faults: tuple[KernelException, ...] = ()  # exceptions that the launch may raise, by number
    remarks: tuple[Remark, ...] = ()  # what looks wrong
    python_name: str = ""
    waits: Span | None = None  # the loop in which threads wait for others, on CPUs
    counted: tuple[tuple[str, str], ...] = ()  # `portagpu.ir.program.Program` has these of programs that count
    granule: int = 0

    def span_of(self, line: int) -> Span | None:
        """The place in Python text of a line that the driver names, or of the nearest C line before it."""
        if self.has_line_directives:
            return next((s for s in self.lines if s is not None and s.line == line), None)
        for index in range(min(line, len(self.lines)) - 1, -1, -1):
            if self.lines[index] is not None:
                return self.lines[index]
        return None
