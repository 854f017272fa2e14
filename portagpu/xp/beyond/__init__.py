"""NumPy's functions that the array API standard does not have, on device arrays."""

from __future__ import annotations

from portagpu.xp.beyond import comparisons as comparisons
from portagpu.xp.beyond import dtypes as dtypes
from portagpu.xp.beyond import elements as elements
from portagpu.xp.beyond import sets as sets
from portagpu.xp.beyond import statistics as statistics
