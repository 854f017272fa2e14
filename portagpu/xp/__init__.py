"""The Python array API standard (2025.12) over device arrays: ``xp = x.__array_namespace__()``.

Functions take device arrays and Python's numbers, and also NumPy's arrays and scalars, which are copied to the device.
Elementwise functions are put off and run as one kernel when their result is needed; see docs/arrays.md.
"""

from __future__ import annotations

from portagpu.xp import fft as fft
from portagpu.xp import linalg as linalg
from portagpu.xp.creation import *  # noqa: F403
from portagpu.xp.data_types import *  # noqa: F403
from portagpu.xp.elementwise import *  # noqa: F403
from portagpu.xp.indexing import *  # noqa: F403
from portagpu.xp.inspection import *  # noqa: F403
from portagpu.xp.manipulation import *  # noqa: F403
from portagpu.xp.products import *  # noqa: F403
from portagpu.xp.searching import *  # noqa: F403
from portagpu.xp.sets import *  # noqa: F403
from portagpu.xp.sorting import *  # noqa: F403
from portagpu.xp.statistics import *  # noqa: F403
from portagpu.xp.utility import *  # noqa: F403

__array_api_version__ = "2025.12"
