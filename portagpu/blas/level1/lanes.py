"""Device functions on a few numbers side by side, as a vector of the dialect or, of one lane, as a number.

Complex numbers are pairs of lanes: the real part, then the imaginary one. ``kind`` is the type of what a function works
on: a vector type, or NumPy's scalar type.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

from portagpu import cuda


@cuda.jit(device=True)
def load(memory, place, kind: cuda.constexpr, lanes: cuda.constexpr, aligned: cuda.constexpr):
    """The numbers from ``memory[place]`` on, converted to ``kind``."""
    if lanes == 1:
        return kind(memory[place])
    return kind(cuda.vload(memory, place, lanes, aligned=aligned))


@cuda.jit(device=True)
def store(value, memory, place, kind: cuda.constexpr, lanes: cuda.constexpr, aligned: cuda.constexpr):
    """Store numbers from ``memory[place]`` on; ``kind``: of the memory's elements."""
    if lanes == 1:
        memory[place] = value
    else:
        cuda.vstore(kind(value), memory, place, aligned=aligned)


@cuda.jit(device=True)
def alternating(even, odd, kind: cuda.constexpr):
    """A vector with one number in the lanes of real parts, and another in those of imaginary parts."""
    if kind.lanes == 2:
        return kind(even, odd)
    if kind.lanes == 4:
        return kind(even, odd, even, odd)
    if kind.lanes == 8:
        return kind(even, odd, even, odd, even, odd, even, odd)
    return kind(even, odd, even, odd, even, odd, even, odd, even, odd, even, odd, even, odd, even, odd)


@cuda.jit(device=True)
def exchanged_parts(v, kind: cuda.constexpr):
    """The vector with real and imaginary parts exchanged."""
    if kind.lanes == 2:
        return kind(v[1], v[0])
    if kind.lanes == 4:
        return kind(v[1], v[0], v[3], v[2])
    if kind.lanes == 8:
        return kind(v[1], v[0], v[3], v[2], v[5], v[4], v[7], v[6])
    return kind(
        *(v[1], v[0], v[3], v[2], v[5], v[4], v[7], v[6]), *(v[9], v[8], v[11], v[10], v[13], v[12], v[15], v[14])
    )


@cuda.jit(device=True)
def times_complex(v, re, im, kind: cuda.constexpr):
    """Complex numbers times one of them."""
    return cuda.fma(v, re, exchanged_parts(v, kind) * alternating(-im, im, kind))


@cuda.jit(device=True)
def sum_of_lanes(v, lanes: cuda.constexpr):
    """The sum of a vector's lanes, pairwise."""
    if lanes == 1:
        return v
    if lanes == 2:
        return v[0] + v[1]
    return sum_of_even(v, lanes) + sum_of_odd(v, lanes)


@cuda.jit(device=True)
def sum_of_even(v, lanes: cuda.constexpr):
    """The sum of a vector's lanes 0, 2, 4 ...: of the real parts."""
    if lanes == 2:
        return v[0]
    if lanes == 4:
        return v[0] + v[2]
    if lanes == 8:
        return (v[0] + v[4]) + (v[2] + v[6])
    return ((v[0] + v[8]) + (v[4] + v[12])) + ((v[2] + v[10]) + (v[6] + v[14]))


@cuda.jit(device=True)
def sum_of_odd(v, lanes: cuda.constexpr):
    """The sum of a vector's lanes 1, 3, 5 ...: of the imaginary parts."""
    if lanes == 2:
        return v[1]
    if lanes == 4:
        return v[1] + v[3]
    if lanes == 8:
        return (v[1] + v[5]) + (v[3] + v[7])
    return ((v[1] + v[9]) + (v[5] + v[13])) + ((v[3] + v[11]) + (v[7] + v[15]))


@cuda.jit(device=True)
def largest_lane(v, lanes: cuda.constexpr):
    """The largest of a vector's lanes."""
    if lanes == 1:
        return v
    if lanes == 2:
        return max(v[0], v[1])
    if lanes == 4:
        return max(max(v[0], v[2]), max(v[1], v[3]))
    if lanes == 8:
        return max(max(max(v[0], v[4]), max(v[2], v[6])), max(max(v[1], v[5]), max(v[3], v[7])))
    low = max(max(max(v[0], v[8]), max(v[4], v[12])), max(max(v[2], v[10]), max(v[6], v[14])))
    return max(low, max(max(max(v[1], v[9]), max(v[5], v[13])), max(max(v[3], v[11]), max(v[7], v[15]))))
