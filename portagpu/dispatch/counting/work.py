"""What a launch did: floating-point operations and bytes, exactly counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from portagpu.errors import UncountedWorkError

_FLOPS = {"add": 1, "mul": 1, "div": 1, "fma": 2, "matrix": 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """Bytes that the threads of a launch asked one kind of memory for, each access of each thread by itself."""

    loaded: int = 0
    stored: int = 0
    atomic: int = 0
    """Bytes of elements that atomic operations changed, once for each operation."""

    @property
    def bytes(self) -> int:
        """All of them."""
        return self.loaded + self.stored + self.atomic


@dataclass(frozen=True, slots=True, kw_only=True)
class Touched:
    """Different bytes of the arguments' memory that a launch read and wrote: what a perfect cache would move.

    ``granule`` is how many bytes were looked at together: as many as the kernel's smallest access has.
    """

    read: int
    written: int
    granule: int

    @property
    def bytes(self) -> int:
        """Bytes read and bytes written; those that are both count twice."""
        return self.read + self.written


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """The work of one launch: of all threads, as the program has it, whatever compilers make of it.

    FLOP are counted as vendors' profilers and roofline tools do: a sum, a difference, a product and a quotient are one,
    a fused multiply-add two, a product of matrix units ``2 * m * n * k``. Roots, powers, remainders and transcendental
    functions are ``special``, and comparisons, minima and maxima ``compare``: both are told, and are no FLOP. Signs,
    absolute values, conversions, selections and roundings are not counted, nor what atomic operations add, nor integer
    arithmetic. Complex arithmetic is the real one of the textbook: 2 FLOP for a sum, 6 for a product, 11 for a
    quotient. Functions of the library that PortaGPU writes in the dialect count what they do.
    """

    kernel: str
    threads: int
    """Threads of the launch, those that return at once among them."""
    operations: Mapping[str, Mapping[str, int]]
    """By dtype, how many there were of each kind: ``add`` (differences, too), ``mul``, ``fma``, ``div``, ``special``,
    ``compare``, and of matrix units the FLOP, as ``matrix``."""
    memory: Traffic
    """Global memory, as threads ask for it."""
    shared: Traffic
    """Shared memory, as threads ask for it. What matrix units read there by themselves is not counted."""
    marks: Touched | None = None
    """`touched`, or None where it was not asked for."""

    @property
    def touched(self) -> Touched:
        """Different bytes of global memory. Raises `UncountedWorkError` where they were not asked for."""
        if self.marks is None:
            raise UncountedWorkError(
                "which bytes the launch touches was not counted", hint="kernel[grid, block].count_work(...) counts them"
            )
        return self.marks

    @property
    def flops(self) -> int:
        """Floating-point operations of all dtypes; see `Work` for what counts as one."""
        return sum(map(self.flops_of, self.operations))

    def flops_of(self, dtype: str) -> int:
        """Floating-point operations of one dtype, such as "float32"; products of integers are none."""
        if "int" in dtype:
            return 0
        return sum(_FLOPS.get(kind, 0) * n for kind, n in self.operations.get(dtype, {}).items())

    @property
    def special(self) -> int:
        """Roots, powers, remainders and transcendental functions, of all dtypes."""
        return sum(kinds.get("special", 0) for kinds in self.operations.values())

    @property
    def comparisons(self) -> int:
        """Comparisons, minima and maxima of floats, of all dtypes."""
        return sum(kinds.get("compare", 0) for kinds in self.operations.values())

    @property
    def bytes(self) -> int:
        """Bytes of global memory that threads asked for: what the first cache is asked for at most."""
        return self.memory.bytes

    @property
    def touched_bytes(self) -> int:
        """Different bytes of global memory, read and written: what main memory must move at least; see `touched`."""
        return self.touched.bytes

    @property
    def intensity(self) -> float:
        """FLOP for each byte of main memory, `touched_bytes`: a roofline's axis. Infinite where none is moved."""
        moved = self.touched_bytes
        return self.flops / moved if moved else float("inf") if self.flops else 0.0
