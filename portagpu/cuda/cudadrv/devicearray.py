"""`portagpu.cuda.devicearray`, under CUDA-Python's module name."""

from __future__ import annotations

from portagpu.cuda.devicearray import *  # noqa: F403
from portagpu.cuda.devicearray import __all__ as __all__
