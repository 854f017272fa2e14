"""Ranking of points by the times that a model predicts, within a time limit."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable

from portagpu.tuning.searches.history import History
from portagpu.tuning.tunables.space import Point, Space, candidates, point_key

_PROBED = 16  # points after which it is estimated how long the others take
_PATIENCE = 4.0  # times as long it is looked for a point that can run, where none of those so far can


def rank(space: Space, predict: Callable[[Point], float] | None, seconds: float = math.inf) -> History:
    """The legal points in the order of their predicted times; in the space's order without a model. Points for which
    ``predict`` says NaN have no prediction, and come last.

    Of a space with a very large number of points these are some at random (`candidates`). Where ``seconds`` do not
    suffice to ask about all of them, it is done for some at random, and the others have no prediction either. Where
    they do, the order depends on the predictions alone.
    """
    points = candidates(space)
    if predict is None:
        return History(space, points)
    predicted = _predicted(points, predict, seconds)
    known = sorted((said, index) for index, said in predicted.items() if not math.isnan(said))
    ranked = [points[index] for _, index in known]
    leading = {index for _, index in known}
    unknown = [point for index, point in enumerate(points) if index not in leading]
    return History(space, ranked + unknown, {point_key(points[index]): said for said, index in known})


def _predicted(points: list[Point], predict: Callable[[Point], float], seconds: float) -> dict[int, float]:
    """What is predicted, by the point's index.

    A beginning of the space would be a corner of it: as soon as the time seems not to suffice, the rest is asked about
    at random.
    """
    order, is_shuffled = list(range(len(points))), False
    found: dict[int, float] = {}
    begun, can_run = time.monotonic(), False
    for count in range(len(points)):
        now = time.monotonic()
        left = begun + seconds - now
        # whoever takes the best would get one that cannot run, if nothing else is known
        if count > 0 and left <= 0 and (can_run or left <= (1 - _PATIENCE) * seconds):
            break
        if count >= _PROBED and not is_shuffled and (now - begun) * (len(points) - count) > left * count:
            rest = order[count:]
            random.Random(0).shuffle(rest)
            order[count:], is_shuffled = rest, True
        found[order[count]] = said = predict(points[order[count]])
        can_run = can_run or said != math.inf
    return found
