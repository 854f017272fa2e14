"""Batches with any number of leading axes, as kernels take them: with one."""

from __future__ import annotations

import math
from typing import Any


def stacked(x: Any) -> Any:
    """A view with at most three axes of an array: a matrix, or a batch of them; of more axes if it is in C order."""
    return x if x.ndim <= 3 else x.reshape((math.prod(x.shape[:-2]), *x.shape[-2:]))
