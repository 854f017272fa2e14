"""The tests of `tests/dispatch/test_repeated_launches.py` on the back ends of `neutral`."""

from __future__ import annotations

from neutral import shared

globals().update(shared("dispatch/test_repeated_launches"))
