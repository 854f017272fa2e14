"""The table of operations that OpenCL C says in its own way: modules of lowerings register theirs here."""

from __future__ import annotations

from portagpu.backends.c_family.registry import LoweringTable

OPENCL = LoweringTable()
