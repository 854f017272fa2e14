"""Flags of the run-time compiler that generated text needs.

Memory through which threads exchange values, and that of records, is read as several types; grids may be larger than 32
bits count.
"""

from __future__ import annotations

FLAGS = ("-O2", "-w", "-fno-strict-aliasing", "-fno-sycl-id-queries-fit-in-int")
