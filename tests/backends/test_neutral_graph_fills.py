"""The tests of `tests/runtime/test_graph_fills.py` on the back ends of `neutral`."""

from __future__ import annotations

from neutral import shared

globals().update(shared("runtime/test_graph_fills"))
