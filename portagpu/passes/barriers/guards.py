"""Flags of the threads that take part in what follows, for `portagpu.passes.barriers.converge`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum

from portagpu.ir.nodes import Var


class Level(IntEnum):
    """Which threads may be left out at some place."""

    NONE = 0
    BLOCK = 1  # all threads of the block or none of them
    THREAD = 2  # some threads


@dataclass(frozen=True, slots=True)
class Guard:
    """What must hold for a thread to carry out a statement.

    ``flags`` are put down by a return of some threads, ``gates`` are closed by a return of all; the innermost ones come
    last and imply the outer ones.
    """

    flags: tuple[Var, ...] = ()
    gates: tuple[Var, ...] = ()
    level: Level = Level.NONE

    @property
    def var(self) -> Var:
        """What a thread that takes part has set; there is none at `Level.NONE`."""
        return self.gates[-1] if self.level is Level.BLOCK else self.flags[-1]

    @property
    def gate(self) -> Var | None:
        """What all threads of the block know to be set, if anything can be closed for all of them."""
        return self.gates[-1] if self.level > Level.NONE and self.gates else None

    def at(self, level: Level) -> Guard:
        """The guard after a place where threads may have left."""
        return replace(self, level=max(level, self.level))

    def without_gates(self) -> Guard:
        """The guard within a statement that the gate stands around already."""
        return replace(self, gates=())
