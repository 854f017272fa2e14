"""Numbers of other threads of a warp; in the dialect."""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

from portagpu import cuda

_ALL = 0xFFFFFFFF


@cuda.jit(device=True)
def from_lane(value, lane, is_complex: cuda.constexpr):
    """The value of another thread of the warp."""
    if is_complex:
        return complex(cuda.shfl_sync(_ALL, value.real, lane), cuda.shfl_sync(_ALL, value.imag, lane))
    return cuda.shfl_sync(_ALL, value, lane)
