"""What calls really took, on the device and in NumPy: expectations are of other shapes, and of arrays in a cache."""

from __future__ import annotations

import threading
from dataclasses import dataclass

Key = tuple[str, str, str]  # a function, its operands' shapes, their dtype
_MOST = 4096  # kinds of calls that are remembered


@dataclass(slots=True)
class _Times:
    """Shortest seconds of calls that are alike; the first on the device compiles, and does not count."""

    calls: int = 0
    device: float | None = None
    numpy: float | None = None


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
                times.device = min(seconds, times.device or seconds)

    def of_numpy(self, key: Key, seconds: float) -> None:
        """Note a call that NumPy computed."""
        with self._lock:
            times = self._of(key)
            times.numpy = min(seconds, times.numpy or seconds)

    def prefers_numpy(self, key: Key, expected: float) -> bool:
        """Whether the device took longer than NumPy did, or should (``expected``, seconds) while that is not known."""
        with self._lock:
            times = self._times.get(key)
            if times is None or times.device is None:
                return False
            return times.device > (expected if times.numpy is None else times.numpy)

    def _of(self, key: Key) -> _Times:
        if key not in self._times and len(self._times) >= _MOST:
            self._times.pop(next(iter(self._times)))  # the oldest
        return self._times.setdefault(key, _Times())
