"""What calls really took, on the device and in NumPy: expectations are of other shapes, and of arrays in a cache."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass, field
from statistics import median

Key = tuple[str, str, str]  # a function, its operands' shapes, their dtype
_MOST = 4096  # kinds of calls that are remembered
_LAST = 5  # calls whose times count: what disturbs the machine passes
_FEW = 3  # calls before these tell: one may be disturbed
_FAR = 2.0  # times what NumPy should take, after which a single call tells, too


def _times() -> deque[float]:
    return deque(maxlen=_LAST)


@dataclass(slots=True)
class _Times:
    """Seconds of the last calls that are alike; the first on the device compiles, and does not count."""

    calls: int = 0
    device: deque[float] = field(default_factory=_times)
    numpy: deque[float] = field(default_factory=_times)


class Experience:
    """Times of calls by what is called; several threads may tell and ask."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._times: dict[Key, _Times] = {}

    def of_device(self, key: Key, seconds: float) -> None:
        """Note a call that the device computed."""
        with self._lock:
            times = self._of(key)
            times.calls += 1
            if times.calls > 1:
                times.device.append(seconds)

    def of_numpy(self, key: Key, seconds: float) -> None:
        """Note a call that NumPy computed."""
        with self._lock:
            self._of(key).numpy.append(seconds)

    def prefers_numpy(self, key: Key, expected: float) -> bool:
        """Whether the device takes longer than NumPy does, or should (``expected``, seconds) while that is not known.

        Both are tried some times, one after the other, unless the device is far off, or is as fast as it should be.
        """
        with self._lock:
            times = self._times.get(key)
            if times is None or not times.device:
                return False
            device = median(times.device)
            if len(times.device) < _FEW and device <= _FAR * expected:
                return False
            if len(times.numpy) < _FEW:
                return device > expected
            return device > median(times.numpy)

    def _of(self, key: Key) -> _Times:
        if key not in self._times and len(self._times) >= _MOST:
            self._times.pop(next(iter(self._times)))  # the oldest
        return self._times.setdefault(key, _Times())
