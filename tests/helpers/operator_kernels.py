"""Kernels that the tests' operators of torch and JAX are made of."""

from portagpu import cuda


@cuda.jit
def axpy(a, x, y, out):
    """out = a x + y, of one axis."""
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a * x[i] + y[i]


@cuda.jit
def axpy_backward(a, g, gx, gy):
    """Both gradients of `axpy`."""
    i = cuda.grid(1)
    if i < g.size:
        gx[i] = a * g[i]
        gy[i] = g[i]


@cuda.jit
def multiply(x, y, out):
    """out = x y, of one axis."""
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] * y[i]


@cuda.jit
def multiply_backward(g, x, y, gx, gy):
    """Both gradients of `multiply`."""
    i = cuda.grid(1)
    if i < g.size:
        gx[i] = g[i] * y[i]
        gy[i] = g[i] * x[i]


@cuda.jit
def fused_multiply(x, y, out):
    """out += x y, of one axis."""
    i = cuda.grid(1)
    if i < out.size:
        out[i] += x[i] * y[i]


@cuda.jit
def scale_rows(x, factor, out):
    """out = factor x, of two axes."""
    i, j = cuda.grid(2)
    if i < out.shape[0] and j < out.shape[1]:
        out[i, j] = factor * x[i, j]


@cuda.jit
def fill(out, value):
    """All elements of one axis."""
    i = cuda.grid(1)
    if i < out.size:
        out[i] = value


@cuda.jit
def total(x, out):
    """out[0] = sum of x, by one thread."""
    out[0] = 0  # not 0 * out[0]: new memory may hold NaN
    for i in range(x.size):
        out[0] += x[i]
