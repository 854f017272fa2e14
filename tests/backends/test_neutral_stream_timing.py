"""The tests of `tests/runtime/execution/test_stream_timing.py` on the back ends of `neutral`."""

from __future__ import annotations

import tiny
from neutral import shared

globals().update(shared("runtime/execution/test_stream_timing"))
DEVICES = tiny.records  # streams of cards of CUDA measure time from the beginning
