"""The tests of `tests/runtime/execution/test_streams.py` on the back end of `tiny`."""

from __future__ import annotations

from neutral import shared

globals().update(shared("runtime/execution/test_streams"))
