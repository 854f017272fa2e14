"""Lattice Boltzmann (D2Q9): a fluid driven through a channel becomes Poiseuille's parabola.

Y. Qian, D. d'Humières, P. Lallemand, "Lattice BGK Models for Navier-Stokes Equation", Europhysics Letters 17, 1992;
Z. Guo, C. Zheng, B. Shi, "Discrete Lattice Effects on the Forcing Term", Phys. Rev. E 65, 2002.
"""

import math
import sys

import numpy as np

from portagpu import cuda

CX = np.array([0, 1, 0, -1, 0, 1, -1, -1, 1], np.int32)
CY = np.array([0, 0, 1, 0, -1, 1, 1, -1, -1], np.int32)
OPPOSITE = np.array([0, 3, 4, 1, 2, 7, 8, 5, 6], np.int32)
WEIGHT = np.array([4 / 9] + 4 * [1 / 9] + 4 * [1 / 36], np.float32)
BLOCK = (32, 4)
WIDTH = 32  # periodic
RELAXATION = 0.5 + math.sqrt(3 / 16)  # puts walls exactly half a cell outside of the first and the last row


@cuda.jit
def step(old, new, force):
    """Stream (each cell pulls from its neighbours, walls bounce back), then collide.

    Arrays hold populations less their weights, small numbers that float32 rounds less: old[direction, y, x].
    """
    cx, cy = cuda.const.array_like(CX), cuda.const.array_like(CY)
    opposite, weight = cuda.const.array_like(OPPOSITE), cuda.const.array_like(WEIGHT)
    f = cuda.local.array(9, np.float32)
    x, y = cuda.grid(2)
    _, height, width = old.shape
    if x >= width or y >= height:
        return
    density = ux = uy = np.float32(0)
    for k in range(9):
        row = y - cy[k]
        column = (x - cx[k] + width) % width
        f[k] = old[k, row, column] if 0 <= row < height else old[opposite[k], y, x]
        density += f[k]
        ux += np.float32(cx[k]) * f[k]
        uy += np.float32(cy[k]) * f[k]
    ux = (ux + np.float32(0.5) * force) / (1 + density)
    uy = uy / (1 + density)
    rate = np.float32(1 / RELAXATION)
    squared = np.float32(1.5) * (ux * ux + uy * uy)
    for k in range(9):
        cu = 3 * (np.float32(cx[k]) * ux + np.float32(cy[k]) * uy)
        equilibrium = weight[k] * (density + (1 + density) * (cu + np.float32(0.5) * cu * cu - squared))
        push = (
            weight[k]
            * (1 - np.float32(0.5) * rate)
            * force
            * (3 * (np.float32(cx[k]) - ux) + 3 * cu * np.float32(cx[k]))
        )
        new[k, y, x] = f[k] + rate * (equilibrium - f[k]) + push


def main(height=12, speed=0.05):
    """Drive the fluid until it is steady; returns (profile, parabola)."""
    viscosity = (RELAXATION - 0.5) / 3
    force = 8 * viscosity * speed / height**2
    # the slowest mode dies as exp(-pi^2 viscosity t / height^2)
    eps = np.finfo(np.float32).eps
    steps = int(math.log(1e5) * height**2 / (math.pi**2 * viscosity))
    rest = np.zeros((9, height, WIDTH), np.float32)
    old, new = cuda.to_device(rest), cuda.to_device(rest)
    grid = ((WIDTH + BLOCK[0] - 1) // BLOCK[0], (height + BLOCK[1] - 1) // BLOCK[1])
    for _ in range(steps):
        step[grid, BLOCK](old, new, np.float32(force))
        old, new = new, old

    f = old.copy_to_host().astype(np.float64)
    momentum = np.tensordot(CX, f, 1)
    density = 1 + f.sum(axis=0)
    profile = (momentum - force / 2) / density  # halfway between the momenta before and after the collision
    y = np.arange(height) + 0.5
    parabola = 4 * speed * y * (height - y) / height**2
    # Left of the way to the steady state: 1e-5 of the speed. Rounding: populations are of the size of the speed, and
    # all of a cell's 9, in some 16 operations each, may add 0.5 eps of it to the force in each step, which the speed
    # follows
    tolerance = speed * (1e-5 + 9 * 16 * 0.5 * eps * speed / force)
    np.testing.assert_allclose(profile, np.broadcast_to(parabola[:, None], profile.shape), rtol=0, atol=tolerance)
    print(f"{cuda.get_current_device().name}: {WIDTH} x {height} cells, {steps} steps")
    error = np.abs(profile - parabola[:, None]).max()
    print(f"the flow is Poiseuille's parabola within {error:.1e} (allowed: {tolerance:.1e}), peak {profile.max():.4f}")
    return profile, parabola


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
