"""`Method`: the rules by which everything is measured, as a value that result files repeat."""

from __future__ import annotations

from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """How implementations of a workload are timed; times in seconds.

    They take turns. A turn (a *round* of samples) lasts ``round_seconds``, a sample at least ``sample_seconds``: so
    many calls back to back as that takes, four at the least where they are short, so that the host prepares one while
    the device computes another. Before the first round each runs until two turns in a row differ by less than
    ``steady``, for ``warm_up_seconds`` at most. Rounds end once there are ``least_rounds`` and ``least_samples``, and
    the relative standard error of each implementation (see `portagpu.bench.method.statistics`) is at most ``target``;
    or after ``limit_seconds`` for each of them. Before a turn on the host's arrays there is a pause of
    ``pause_seconds``: threads of BLAS libraries spin for some 0.1 s after a call. Energy is measured over
    ``energy_seconds``, by counters that change every 20 to 100 ms; 0: not at all.
    """

    least_rounds: int = 5
    least_samples: int = 9
    target: float = 0.005
    limit_seconds: float = 4.0
    round_seconds: float = 0.05
    sample_seconds: float = 0.02
    warm_up_seconds: float = 1.0
    steady: float = 0.02
    pause_seconds: float = 0.15
    energy_seconds: float = 0.6

    @property
    def facts(self) -> dict[str, float | str]:
        """The rules by name."""
        return asdict(self)


FULL = Method()
"""What published numbers are measured with."""

QUICK = Method(
    least_rounds=3,
    target=0.02,
    limit_seconds=0.5,
    round_seconds=0.02,
    sample_seconds=0.005,
    warm_up_seconds=0.2,
    pause_seconds=0.1,
    energy_seconds=0.0,
)
"""A look: intervals are wider."""


CACHES_BYTES = 1 << 28
"""What the largest caches of today's devices hold: as much is written before a call with cold ones."""


__all__ = ["CACHES_BYTES", "FULL", "QUICK", "Method"]
