"""Compilation ahead: the strategy proposes several points, and the measured one is compiled already."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from portagpu.tuning.searches.history import History
from portagpu.tuning.trials.compilers import Compilation, Compilers
from portagpu.tuning.tunables.space import Point, PointKey, point_key

_IN_STOCK = 2  # points beside those under way, so that no compiler waits while something is measured


class Ahead:
    """One problem's candidates at the compilers; ``request``: what every request to them names, such as the problem."""

    def __init__(self, compilers: Compilers, request: dict[str, object], *, verifies: bool) -> None:
        """``verifies``: whether verifications of points have programs of their own."""
        self._compilers, self._request, self._verifies = compilers, request, verifies
        self._points: dict[PointKey, Compilation] = {}
        self._verifications: dict[PointKey, Compilation] = {}
        self._verified: Point | None = None  # whose verification is under way
        self._begun = False

    def next(
        self, history: History, propose: Callable[[], Point | None], most: int | None, deadline: float
    ) -> Point | None:
        """The first of the proposed points that is compiled, well or not; waits until there is one.

        ``propose`` is asked for so many more that no compiler waits, but for no more than ``most`` in all. The very
        first point is taken as it is: whoever measures would only wait. None where nothing is proposed any more, or
        at the deadline (`time.monotonic`).
        """
        for key in [key for key in self._points if key in history.tried]:  # somebody else has measured it meanwhile
            self._compilers.drop([self._points.pop(key)])
            del history.pending[key]
        first = None if self._begun else self._propose(history, propose)
        self._begun = True
        room = self._compilers.count + _IN_STOCK
        room = room if most is None else min(room, most - (first is not None))
        while len(self._points) < room:
            point = self._propose(history, propose)
            if point is None:
                break
            self._points[point_key(point)] = self._compilers.ask({**self._request, "action": "measure", "point": point})
        return first if first is not None else self._taken(history, deadline)

    def _propose(self, history: History, propose: Callable[[], Point | None]) -> Point | None:
        point = propose()
        if point is not None:
            history.pending[point_key(point)] = point
        return point

    def _taken(self, history: History, deadline: float) -> Point | None:
        """The first one that is compiled."""
        if self._points:
            self._compilers.wait(self._points.values(), deadline - time.monotonic())
        done = next((key for key, compilation in self._points.items() if compilation.is_done), None)
        if done is None:
            return None
        del self._points[done]
        return history.pending[done]

    def verify(self, points: Sequence[Point]) -> None:
        """Have the programs of these points' verifications compiled, before any that waits."""
        for point in points:
            key = point_key(point)
            if self._verifies and key not in self._verifications:
                request = {**self._request, "action": "verify", "point": point}
                self._verifications[key] = self._compilers.ask(request, urgent=True)

    def verifiable(self, best: Point) -> Point | None:
        """A point whose verification is compiled, told once. Where none is under way, that of the best begins.

        One at a time: each is some trials' work, and the first few trials may each find a new best.
        """
        self._verified = best if self._verified is None else self._verified
        point = self._verified
        self.verify([point])
        compilation = self._verifications.get(point_key(point))
        if compilation is not None and not compilation.is_done:
            return None
        self._verified = None
        return point

    def wait_for_verification(self, point: Point, seconds: float) -> None:
        """Wait until a point's verification is compiled, at most so long."""
        self.verify([point])
        compilation = self._verifications.get(point_key(point))
        if compilation is not None:
            self._compilers.wait([compilation], seconds)

    def drop(self, history: History) -> None:
        """Give up what was proposed, and not measured."""
        self._compilers.drop(self._points.values())
        for key in self._points:
            history.pending.pop(key, None)
        self._points.clear()

    def close(self, history: History) -> None:
        """Give up everything."""
        self.drop(history)
        self._compilers.drop(self._verifications.values())
