"""The tests of `tests/runtime/execution/test_streams.py` on the back ends of `neutral`."""

from __future__ import annotations

from neutral import shared

globals().update(shared("runtime/execution/test_streams"))
