"""Shallow water on a rotating plane in the style of the array API: a staggered grid, periodic along both axes.

R. Sadourny, "The Dynamics of Finite-Difference Models of the Shallow-Water Equations", J. Atmos. Sci. 32, 1975:
the scheme that conserves energy. Pressures p are in the middles of cells, velocities u on their west and v on their
south sides, vorticity on their south-west corners. Steps are those of the leapfrog with the filter of R. Asselin,
"Frequency Filter for Time Integrations", Monthly Weather Review 100, 1972.
"""

import numpy as np

SPIN = 0.1  # Coriolis parameter; lengths are in cells, the mean pressure is 1, and so is the speed of waves
STEP = 0.2
FILTER = 0.01


class Rolled:
    """Neighbours on a torus by `roll`."""

    def __init__(self, xp):
        self.xp = xp

    def west(self, a):
        return self.xp.roll(a, 1, axis=0)

    def east(self, a):
        return self.xp.roll(a, -1, axis=0)

    def south(self, a):
        return self.xp.roll(a, 1, axis=1)

    def north(self, a):
        return self.xp.roll(a, -1, axis=1)


class Joined:
    """The same by `concat` of slices."""

    def __init__(self, xp):
        self.xp = xp

    def west(self, a):
        return self.xp.concat([a[-1:, :], a[:-1, :]], axis=0)

    def east(self, a):
        return self.xp.concat([a[1:, :], a[:1, :]], axis=0)

    def south(self, a):
        return self.xp.concat([a[:, -1:], a[:, :-1]], axis=1)

    def north(self, a):
        return self.xp.concat([a[:, 1:], a[:, :1]], axis=1)


def rates(torus, u, v, p):
    """Rates of change of velocities and pressure."""
    west, east, south, north = torus.west, torus.east, torus.south, torus.north
    flow_x = (p + west(p)) * u / 2
    flow_y = (p + south(p)) * v / 2
    spin = 4 * (SPIN + v - west(v) - u + south(u)) / (p + west(p) + south(p) + west(south(p)))
    head = p + (u**2 + east(u) ** 2 + v**2 + north(v) ** 2) / 4
    across = flow_y + west(flow_y)
    du = (spin + north(spin)) * (across + north(across)) / 8 - head + west(head)
    across = flow_x + south(flow_x)
    dv = -(spin + east(spin)) * (across + east(across)) / 8 - head + south(head)
    return du, dv, flow_x - east(flow_x) + flow_y - north(flow_y)


def advance(torus, u, v, p, steps):
    """(u, v, p) so many steps later: the first of Euler's, then leapfrogs, whose two branches the filter holds."""
    now = (u, v, p)
    old = now
    for step in range(steps):
        span = STEP if step == 0 else 2 * STEP
        new = tuple(a + span * rate for a, rate in zip(old, rates(torus, *now), strict=True))
        if step:
            old = tuple(b + FILTER * (a - 2 * b + c) for a, b, c in zip(old, now, new, strict=True))
        now = new
    return now


def run(xp, u, v, p, steps):
    """(u, v, p) after the steps."""
    return (*advance(Rolled(xp), u, v, p, steps), steps)


def run_joined(xp, u, v, p, steps):
    """The same with neighbours by `concat`."""
    return (*advance(Joined(xp), u, v, p, steps), steps)


MIDDLE = (slice(1, -1), slice(1, -1))
WEST, EAST = (slice(None, -2), slice(1, -1)), (slice(2, None), slice(1, -1))
SOUTH, NORTH = (slice(1, -1), slice(None, -2)), (slice(1, -1), slice(2, None))


def close(a):
    """Copy the outermost cells into the layer around the opposite sides."""
    a[0, :] = a[-2, :]
    a[-1, :] = a[1, :]
    a[:, 0] = a[:, -2]
    a[:, -1] = a[:, 1]


def run_in_place(xp, u, v, p, steps):
    """The same with arrays that have a layer of cells around them, and are written by slices."""
    inner = (u, v, p)
    n, m = p.shape
    now, old, new, work = ([xp.zeros((n + 2, m + 2), dtype=p.dtype, device=p.device) for _ in range(3)] for _ in "4444")
    flow_x, flow_y, across = work
    spin, head = xp.zeros_like(flow_x), xp.zeros_like(flow_x)
    for target, before, a in zip(now, old, inner, strict=True):
        target[MIDDLE] = a
        close(target)
        before[...] = target
    for step in range(steps):
        u, v, p = now
        flow_x[MIDDLE] = (p[MIDDLE] + p[WEST]) * u[MIDDLE] / 2
        flow_y[MIDDLE] = (p[MIDDLE] + p[SOUTH]) * v[MIDDLE] / 2
        spin[MIDDLE] = SPIN + v[MIDDLE] - v[WEST] - u[MIDDLE] + u[SOUTH]
        spin[MIDDLE] *= 4 / (p[MIDDLE] + p[WEST] + p[SOUTH] + p[:-2, :-2])
        head[MIDDLE] = p[MIDDLE] + (u[MIDDLE] ** 2 + u[EAST] ** 2 + v[MIDDLE] ** 2 + v[NORTH] ** 2) / 4
        for a in (flow_x, flow_y, spin, head):
            close(a)
        span = STEP if step == 0 else 2 * STEP
        across[MIDDLE] = flow_y[MIDDLE] + flow_y[WEST]
        close(across)
        du = (spin[MIDDLE] + spin[NORTH]) * (across[MIDDLE] + across[NORTH]) / 8 - head[MIDDLE] + head[WEST]
        new[0][MIDDLE] = old[0][MIDDLE] + span * du
        across[MIDDLE] = flow_x[MIDDLE] + flow_x[SOUTH]
        close(across)
        dv = -(spin[MIDDLE] + spin[EAST]) * (across[MIDDLE] + across[EAST]) / 8 - head[MIDDLE] + head[SOUTH]
        new[1][MIDDLE] = old[1][MIDDLE] + span * dv
        dp = flow_x[MIDDLE] - flow_x[EAST] + flow_y[MIDDLE] - flow_y[NORTH]
        new[2][MIDDLE] = old[2][MIDDLE] + span * dp
        for a in new:
            close(a)
        if step:
            for a, b, c in zip(old, now, new, strict=True):
                b += FILTER * (a - 2 * b + c)
        old, now, new = now, new, old
    return (*(a[MIDDLE] for a in now), steps)


def vortices(n, dtype):
    """(u, v, p) of n x n cells: a jet and waves of the pressure."""
    x, y = np.meshgrid(np.arange(n) * 2 * np.pi / n, np.arange(n) * 2 * np.pi / n, indexing="ij")
    p = 1 + 0.05 * np.cos(x) * np.sin(2 * y)
    u = 0.1 * np.sin(y) + 0.02 * np.sin(3 * x + y)
    v = 0.1 * np.sin(x) * np.cos(y)
    return u.astype(dtype), v.astype(dtype), p.astype(dtype)
