"""What lanes hold of matrix units' operands, lane by lane from the makers' documents (docs/matrix-units.md).

They are no formulas of kernels: which row and k each element of A is that a lane holds (of a wave's B, column and k),
and which row and column its results are.
"""

from __future__ import annotations


def of_a(name, depth, lane):
    """(row, k) of each element of A in a lane of a wave."""
    if name == "mfma32":
        return [(lane % 32, depth // 2 * (lane // 32) + e) for e in range(depth // 2)]
    if name == "mfma16":
        return [(lane % 16, depth // 4 * (lane // 16) + e) for e in range(depth // 4)]
    if name == "wmma":  # lanes 16 to 31 hold what lanes 0 to 15 do
        return [(lane % 16, e) for e in range(16)]
    return [(lane % 16, (8 if lane >= 16 else 0) + e) for e in range(8)]


def of_sums(name, lane):
    """(row, column) of each result of a lane of a wave."""
    if name == "mfma32":  # blocks of four rows, eight apart
        return [(8 * block + 4 * (lane // 32) + row, lane % 32) for block in range(4) for row in range(4)]
    if name == "mfma16":
        return [(4 * (lane // 16) + e, lane % 16) for e in range(4)]
    if name == "mfma16 of float64":
        return [(4 * e + lane // 16, lane % 16) for e in range(4)]
    if name == "wmma":  # even rows in lanes 0 to 15, odd ones in lanes 16 to 31
        return [(2 * e + (1 if lane >= 16 else 0), lane % 16) for e in range(8)]
    return [((8 if lane >= 16 else 0) + e, lane % 16) for e in range(8)]


def of_subgroup_a(size, depth, lane):
    """(row, k) of each element of A in a lane of a subgroup: a lane has some of every row, or of every other one."""
    if depth < size:
        return [(2 * e + lane // depth, lane % depth) for e in range(4)]
    each = depth // size
    return [(row, each * lane + e) for row in range(8) for e in range(each)]


def of_subgroup_b(depth, lane):
    """(column, k) of each element of B in a lane of a subgroup."""
    return [(lane, k) for k in range(depth)]


def of_subgroup_sums(lane):
    """(row, column) of each result of a lane of a subgroup."""
    return [(row, lane) for row in range(8)]
