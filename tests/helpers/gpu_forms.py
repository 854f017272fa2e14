"""Kernels with many threads that exchange what they find, as hosts choose them on GPUs, whatever the device is.

What a program computes does not depend on that choice, so CPUs find faults of the choice: of blocks without elements,
of the ends of blocks, of vectors. How text is made stays as the driver needs it.
"""

from __future__ import annotations

from contextlib import contextmanager

import pytest

from portagpu import cuda
from portagpu.device.capabilities import Capabilities
from portagpu.fourier import transforms
from portagpu.primitives.sorts import radix_plan, radix_sort


@contextmanager
def gpu_forms():
    """Within it hosts choose as on GPUs, for the current context."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Capabilities, "is_serial", False)
        patch.setattr(Capabilities, "shares_on_chip", True)
        patch.setattr(cuda.current_context(), "expression_launches", {})  # none that another form left
        patch.setattr(radix_plan, "_MOST_ITEMS", 1)  # kernels that compile fast, and several tiles of few keys
        patch.setattr(radix_plan, "_MOST_PAIRS", 1)
        patch.setattr(radix_sort, "_SMALL_ITEMS", 2)
        transforms._blocks.cache_clear()
        try:
            yield
        finally:
            transforms._blocks.cache_clear()
