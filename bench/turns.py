"""How products are timed: implementations take turns, each repeats its product for a while."""

from __future__ import annotations

import time

from portagpu.bench.peers import Product

ROUNDS = 5
PAUSE_SECONDS = 0.15  # before a turn: BLAS libraries let their threads spin for some 0.1 s after a product
_TURN_SECONDS = 0.08
_MAX_TURN_REPEATS = 40


def take_turn(product: Product) -> list[float]:
    """Seconds of each repetition, after the pause: as many as fit into a turn, at least one."""
    time.sleep(PAUSE_SECONDS)
    times: list[float] = []
    begin = time.perf_counter()
    while not times or (time.perf_counter() - begin < _TURN_SECONDS and len(times) < _MAX_TURN_REPEATS):
        started = time.perf_counter()
        product()
        times.append(time.perf_counter() - started)
    return times


__all__ = ["PAUSE_SECONDS", "ROUNDS", "take_turn"]
