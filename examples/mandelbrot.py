"""Mandelbrot set: a device function, a two-dimensional grid."""

import numpy as np

from portagpu import cuda


@cuda.jit(device=True)
def escape_time(c_re, c_im, max_iterations):
    """Iterations until z = z * z + c leaves the circle of radius 2."""
    z_re = z_im = np.float32(0)  # float32: some GPUs have no float64
    for i in range(max_iterations):
        z_re, z_im = z_re * z_re - z_im * z_im + c_re, 2.0 * z_re * z_im + c_im
        if z_re * z_re + z_im * z_im >= 4.0:
            return i
    return max_iterations


@cuda.jit
def mandelbrot(left, top, step, image, max_iterations):
    x, y = cuda.grid(2)
    if y < image.shape[0] and x < image.shape[1]:
        image[y, x] = escape_time(left + np.float32(x) * step, top + np.float32(y) * step, max_iterations)


def reference(left, top, step, shape, max_iterations):
    """The same with NumPy."""
    c_re = left + np.arange(shape[1], dtype=np.float32) * step
    c_im = (top + np.arange(shape[0], dtype=np.float32) * step)[:, None]
    z_re, z_im = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
    image = np.full(shape, max_iterations, np.int32)
    inside = np.ones(shape, bool)
    for i in range(max_iterations):
        z_re, z_im = z_re * z_re - z_im * z_im + c_re, 2.0 * z_re * z_im + c_im
        z_re, z_im = np.where(inside, z_re, 0), np.where(inside, z_im, 0)
        escaped = inside & (z_re * z_re + z_im * z_im >= 4.0)
        image[escaped] = i
        inside &= ~escaped
    return image


def main(shape=(96, 144), max_iterations=60):
    """Draw the set; returns (result, expected)."""
    image = np.zeros(shape, np.int32)
    block = (16, 8)
    grid = ((shape[1] + block[0] - 1) // block[0], (shape[0] + block[1] - 1) // block[1])
    mandelbrot[grid, block](-2.0, -1.0, 3.0 / shape[1], image, max_iterations)
    expected = reference(-2.0, -1.0, 3.0 / shape[1], shape, max_iterations)
    # a device may fuse multiplication and addition, which moves single pixels of the fractal's edge
    assert np.mean(image != expected) < 0.01
    return image, expected


if __name__ == "__main__":
    result, _ = main()
    for line in result[::6, ::2]:
        print("".join(" .:-=+*#%@"[min(9, v * 10 // 61)] for v in line))
