"""N-body simulation: all pairs, in tiles of shared memory, with a leapfrog integrator.

L. Nyland, M. Harris, J. Prins, "Fast N-Body Simulation with CUDA", GPU Gems 3, chapter 31, 2007.
"""

import math
import sys

import numpy as np

from portagpu import cuda

THREADS = 128
SOFTENING = 0.1  # keeps the force between close bodies finite


@cuda.jit(device=True)
def pull(x, y, z, other, t):
    """The acceleration of a body at (x, y, z) towards body t of a tile of (x, y, z, mass)."""
    dx, dy, dz = other[t, 0] - x, other[t, 1] - y, other[t, 2] - z
    squared = dx * dx + dy * dy + dz * dz + np.float32(SOFTENING * SOFTENING)
    strength = other[t, 3] / (squared * math.sqrt(squared))
    return strength * dx, strength * dy, strength * dz


@cuda.jit
def accelerate(bodies, acceleration):
    """Each block brings a tile of bodies into shared memory once, and every thread of it reads the whole tile."""
    tile = cuda.shared.array((THREADS, 4), np.float32)
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    n = bodies.shape[0]
    me = min(i, n - 1)  # threads behind the last body help to fill tiles, too
    x, y, z = bodies[me, 0], bodies[me, 1], bodies[me, 2]
    ax = ay = az = np.float32(0)
    for start in range(0, n, THREADS):
        for axis in range(4):
            tile[t, axis] = bodies[start + t, axis] if start + t < n else np.float32(0)  # no mass, no force
        cuda.syncthreads()
        for k in range(THREADS):
            px, py, pz = pull(x, y, z, tile, k)
            ax += px
            ay += py
            az += pz
        cuda.syncthreads()
    if i < n:
        acceleration[i, 0], acceleration[i, 1], acceleration[i, 2] = ax, ay, az


@cuda.jit
def kick(velocity, acceleration, step):
    i, axis = cuda.grid(2)
    if i < velocity.shape[0] and axis < 3:
        velocity[i, axis] += step * acceleration[i, axis]


@cuda.jit
def drift(bodies, velocity, step):
    i, axis = cuda.grid(2)
    if i < velocity.shape[0] and axis < 3:
        bodies[i, axis] += step * velocity[i, axis]


def reference(bodies, velocity, step, steps):
    """The same leapfrog in float64: (places, greatest sum of forces' sizes, greatest sum of their gradients)."""
    place, mass = bodies[:, :3].astype(np.float64), bodies[:, 3].astype(np.float64)
    velocity = velocity.astype(np.float64)
    largest = steepest = 0.0
    for turn in range(steps + 1):
        difference = place[None, :, :] - place[:, None, :]
        squared = np.einsum("ijk,ijk->ij", difference, difference) + SOFTENING**2
        strength = mass / (squared * np.sqrt(squared))
        force = np.einsum("ij,ijk->ik", strength, difference)
        largest = max(largest, (strength * np.sqrt(squared)).sum(axis=1).max())
        steepest = max(steepest, strength.sum(axis=1).max())
        velocity += (step / 2 if turn in (0, steps) else step) * force
        if turn < steps:
            place += step * velocity
    return place, largest, steepest


def main(n=1000, steps=8, step=0.01):
    """Follow a random cluster; returns (places, expected places)."""
    rng = np.random.default_rng(0)
    bodies = np.concatenate([rng.normal(size=(n, 3)), np.full((n, 1), 1 / n)], axis=1).astype(np.float32)
    velocity = rng.normal(scale=0.3, size=(n, 3)).astype(np.float32)

    places, speeds = cuda.to_device(bodies), cuda.to_device(velocity)
    forces = cuda.device_array((n, 3), np.float32)
    blocks = (n + THREADS - 1) // THREADS
    every_axis = ((n + 31) // 32, 1), (32, 4)
    whole, half = np.float32(step), np.float32(step / 2)
    for turn in range(steps + 1):
        accelerate[blocks, THREADS](places, forces)
        kick[every_axis](speeds, forces, half if turn in (0, steps) else whole)
        if turn < steps:
            drift[every_axis](places, speeds, whole)
    result = places.copy_to_host()[:, :3]

    expected, largest, steepest = reference(bodies, velocity, step, steps)
    # a sum of n forces, each with some 16 roundings, is off by (n + 16) eps of the sum of their sizes; over the time T
    # that moves a body by T*T/2 of it. Each step also rounds place and speed, the speed for the rest of the time.
    # Bodies that are off feel other forces, by 2 * steepest at most: all grows by at most cosh(sqrt(2 * steepest) T)
    eps, time = np.finfo(np.float32).eps, steps * step
    rounded = steps * eps * (np.abs(expected).max() + time * (np.abs(velocity).max() + time * largest))
    growth = math.cosh(math.sqrt(2 * steepest) * time)
    tolerance = growth * (time**2 / 2 * (n + 16) * eps * largest + rounded)
    np.testing.assert_allclose(result, expected, rtol=0, atol=tolerance)
    print(f"{cuda.get_current_device().name}: {n} bodies, {steps} steps")
    print(f"places agree with NumPy within {np.abs(result - expected).max():.1e} (allowed: {tolerance:.1e})")
    return result, expected


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
