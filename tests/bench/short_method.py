"""A method of measurement that takes no time, and whose figures mean nothing."""

from __future__ import annotations

from portagpu.bench.method.plan import Method

SHORT = Method(
    least_rounds=3,
    least_samples=3,
    target=1e9,
    limit_seconds=0.0,
    round_seconds=0.0,
    sample_seconds=0.0,
    warm_up_seconds=0.0,
    pause_seconds=0.0,
    energy_seconds=0.0,
)
