"""Lowering of `cuda` intrinsics: thread indices, atomics, warps, matrix units, copies."""
