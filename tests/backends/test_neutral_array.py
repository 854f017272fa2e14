"""The tests of `tests/runtime/arrays/test_array.py` on the back ends of `neutral`."""

from __future__ import annotations

from neutral import shared

globals().update(shared("runtime/arrays/test_array"))
