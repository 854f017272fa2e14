"""The table of operations that SYCL C++ says in its own way: modules of lowerings register theirs here."""

from __future__ import annotations

from portagpu.backends.c_family.registry import LoweringTable

SYCL = LoweringTable()
