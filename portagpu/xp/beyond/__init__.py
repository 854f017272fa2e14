"""NumPy's functions that the array API standard does not have, on device arrays."""

from __future__ import annotations

from portagpu.xp.beyond import arranging as arranging
from portagpu.xp.beyond import bessel as bessel
from portagpu.xp.beyond import binning as binning
from portagpu.xp.beyond import calculus as calculus
from portagpu.xp.beyond import choices as choices
from portagpu.xp.beyond import comparisons as comparisons
from portagpu.xp.beyond import diagonals as diagonals
from portagpu.xp.beyond import dtypes as dtypes
from portagpu.xp.beyond import einsum as einsum
from portagpu.xp.beyond import elements as elements
from portagpu.xp.beyond import like as like
from portagpu.xp.beyond import padding as padding
from portagpu.xp.beyond import polynomials as polynomials
from portagpu.xp.beyond import quantiles as quantiles
from portagpu.xp.beyond import ranges as ranges
from portagpu.xp.beyond import sets as sets
from portagpu.xp.beyond import shown as shown
from portagpu.xp.beyond import statistics as statistics
from portagpu.xp.beyond import subscripts as subscripts
from portagpu.xp.beyond import without_nan as without_nan
