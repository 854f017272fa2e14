"""Maxwell's equations by finite differences in time: a standing wave in a box of metal, on a stream, timed by events.

K. Yee, "Numerical Solution of Initial Boundary Value Problems Involving Maxwell's Equations in Isotropic Media",
IEEE Trans. Antennas and Propagation 14, 1966.
"""

import math
import sys

import numpy as np

from portagpu import cuda

BLOCK = (32, 4)
COURANT = 0.5  # time step, in cells that light crosses


@cuda.jit
def update_h(ez, hx, hy):
    """Half a step later: hx[y, x] lies between ez[y, x] and ez[y + 1, x], hy[y, x] between it and ez[y, x + 1]."""
    x, y = cuda.grid(2)
    rows, columns = ez.shape
    if y < rows - 1 and x < columns:
        hx[y, x] -= np.float32(COURANT) * (ez[y + 1, x] - ez[y, x])
    if y < rows and x < columns - 1:
        hy[y, x] += np.float32(COURANT) * (ez[y, x + 1] - ez[y, x])


@cuda.jit
def update_e(ez, hx, hy):
    """The electric field inside; at the metal it stays zero."""
    x, y = cuda.grid(2)
    rows, columns = ez.shape
    if 0 < y < rows - 1 and 0 < x < columns - 1:
        ez[y, x] += np.float32(COURANT) * ((hy[y, x] - hy[y, x - 1]) - (hx[y, x] - hx[y - 1, x]))


def main(size=65, steps=200, modes=(2, 3)):
    """Let a mode of the box swing; returns (field, expected field)."""
    rows, columns = size, size + 16
    ky, kx = modes[0] * math.pi / (rows - 1), modes[1] * math.pi / (columns - 1)
    shape = np.outer(np.sin(ky * np.arange(rows)), np.sin(kx * np.arange(columns)))
    # a mode of the box is also one of Yee's grid, with the frequency of the grid's dispersion relation
    frequency = 2 * math.asin(COURANT * math.sqrt(math.sin(kx / 2) ** 2 + math.sin(ky / 2) ** 2))
    # H starts half a step before E, where it has half of what its first step will bring, with the other sign
    start_hx = COURANT / 2 * np.diff(shape, axis=0)
    start_hy = -COURANT / 2 * np.diff(shape, axis=1)

    stream = cuda.stream()
    ez, hx, hy = (cuda.to_device(a.astype(np.float32), stream) for a in (shape, start_hx, start_hy))
    grid = ((columns + BLOCK[0] - 1) // BLOCK[0], (rows + BLOCK[1] - 1) // BLOCK[1])
    begin, end = cuda.event(), cuda.event()
    for turn in range(steps):
        if turn == 1:  # the first step compiles the kernels, too
            begin.record(stream)
        update_h[grid, BLOCK, stream](ez, hx, hy)
        update_e[grid, BLOCK, stream](ez, hx, hy)
    end.record(stream)
    end.synchronize()
    result = ez.copy_to_host(stream=stream)
    stream.synchronize()

    expected = math.cos(frequency * steps) * shape
    # each step rounds E by 2.5 eps at most (sums of values up to 1), and H likewise; such an error swings on as the
    # grid's modes do, without growing, so that those of all steps add up at worst. E starts with half an eps
    tolerance = (5 * steps + 1) * np.finfo(np.float32).eps
    np.testing.assert_allclose(result, expected, rtol=0, atol=tolerance)
    device = cuda.get_current_device().name
    time = cuda.event_elapsed_time(begin, end) / (steps - 1)
    print(f"{device}: {rows} x {columns} cells, {steps} steps of {time * 1e3:.0f} us")
    error = np.abs(result - expected).max()
    print(f"the field is the analytic standing wave within {error:.1e} (allowed: {tolerance:.1e})")
    return result, expected


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
