"""The tests of `tests/runtime/execution/test_stream_timing.py` on the back ends of `neutral`."""

from __future__ import annotations

from neutral import shared

globals().update(shared("runtime/execution/test_stream_timing"))
