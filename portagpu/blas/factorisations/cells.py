"""Neighbouring rows of a matrix in a kernel's memory, as a number or as a vector; in the dialect."""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

from portagpu import cuda


@cuda.jit(device=True)
def take(memory, at, lanes: cuda.constexpr):
    """A cell: the element at a place, or as many from there on as a vector has lanes."""
    if lanes == 1:
        return memory[at]
    return cuda.vload(memory, at, lanes)


@cuda.jit(device=True)
def put(cell, memory, at, lanes: cuda.constexpr):
    """Store a cell, as `take` reads it."""
    if lanes == 1:
        memory[at] = cell
    else:
        cuda.vstore(cell, memory, at)


@cuda.jit(device=True)
def sum_of_lanes(cell, lanes: cuda.constexpr):
    """The sum of a cell's lanes, in their order."""
    if lanes == 1:
        return cell
    total = cell[0]
    for lane in cuda.unroll(range(1, lanes)):
        total += cell[lane]
    return total


@cuda.jit(device=True)
def real_product(one, other, is_complex: cuda.constexpr):
    """The real part of a number's conjugate times another: of a number and itself the squared magnitude."""
    return one.real * other.real + one.imag * other.imag if is_complex else one * other


@cuda.jit(device=True)
def scaled(value, factor, is_complex: cuda.constexpr):
    """A number times a real one, its parts apart, as LAPACK's zdscal has it: one that is 0 stays 0 beside NaN."""
    return type(value)(complex(value.real * factor, value.imag * factor)) if is_complex else value * factor


@cuda.jit(device=True)
def conjugate(value, is_complex: cuda.constexpr):
    """The conjugate of a number."""
    return value.conjugate() if is_complex else value


@cuda.jit(device=True)
def real_part(value, is_complex: cuda.constexpr):
    """The real part of a number."""
    return value.real if is_complex else value
