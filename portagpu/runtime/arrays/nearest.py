"""Hints for NumPy functions, methods and operators that device arrays do not have: what comes nearest."""

from __future__ import annotations

_ELEMENTWISE = "write a kernel, or a function of elements with @cuda.vectorize, or use the host: x.copy_to_host()"
_OTHER = "write a kernel, or copy to the host with copy_to_host()"

_SPECIAL = {
    "__cuda_array_interface__": "they show it to Python code that names it, and to no library of CUDA's",
    "tobytes": "copy first: x.copy_to_host().tobytes()",
    "data": "x.copy_to_host() is NumPy's; x.to_pyopencl().data is the buffer",
    "ctypes": "x.copy_to_host() has an address on the host; kernels of other libraries take x.to_pyopencl().data",
    "get": "x.copy_to_host()",
    "cpu": "x.copy_to_host()",
    "numpy": "x.copy_to_host()",
    "einsum": "np.tensordot, np.matmul and np.vecdot, with transpose() before",
    "einsum_path": "np.tensordot, np.matmul and np.vecdot, with transpose() before",
    "convolve": "products of portagpu.xp.fft.rfft, or a kernel",
    "correlate": "products of portagpu.xp.fft.rfft, or a kernel",
    "gradient": "np.diff, and slices: (x[2:] - x[:-2]) / 2",
    "trapezoid": "((y[1:] + y[:-1]) * np.diff(x)).sum() / 2",
    "ediff1d": "np.diff(x.ravel())",
    "interp": "np.searchsorted finds places, x[places] the numbers there",
    "pad": "cuda.zeros(shape), and out[1:-1] = x",
    "insert": "np.concatenate of slices",
    "delete": "x[mask] with bools, or np.concatenate of slices",
    "block": "np.concatenate, or np.stack",
    "resize": "np.tile and reshape",
    "trim_zeros": "slices between the first and the last of np.flatnonzero(x)",
    "select": "np.where, one in another",
    "choose": "np.where, one in another, or np.take_along_axis",
    "piecewise": "np.where, one in another",
    "place": "x[mask] = values",
    "diag": "x.diagonal(), or np.where with cuda.eye",
    "diagflat": "np.where with cuda.eye",
    "fill_diagonal": "np.where with cuda.eye",
    "hsplit": "np.split(x, n, axis=1)",
    "vsplit": "np.split(x, n, axis=0)",
    "dsplit": "np.split(x, n, axis=2)",
    "ix_": "x[k[:, None], l]",
    "unravel_index": "np.divmod by the extents",
    "ravel_multi_index": "sums of subscripts times strides",
    "sort_complex": "np.sort(x)",
    "vander": "x[:, None] ** cuda.arange(n)",
    "polyval": "Horner's rule: y = y * x + c for each coefficient, which becomes one kernel",
    "unwrap": "np.diff, np.round and np.cumsum",
    "linspace": "cuda.linspace, with numbers",
    "logspace": "base ** cuda.linspace(start, stop, num)",
    "geomspace": "np.exp(cuda.linspace(math.log(start), math.log(stop), num))",
    "histogram2d": "np.bincount of numbers of bins: np.digitize(x, edges) * n + np.digitize(y, edges)",
    "histogramdd": "np.bincount of numbers of bins: np.digitize(x, edges) * n + np.digitize(y, edges)",
    "histogram_bin_edges": "np.histogram gives edges",
    "apply_along_axis": "functions with axis=, or a kernel with a row for each thread",
    "apply_over_axes": "functions with axis=(0, 1) and keepdims=True",
    "nanargmax": "np.argmax(np.where(np.isnan(x), -np.inf, x))",
    "nanargmin": "np.argmin(np.where(np.isnan(x), np.inf, x))",
    "nancumsum": "np.cumsum(np.where(np.isnan(x), 0, x))",
    "nancumprod": "np.cumprod(np.where(np.isnan(x), 1, x))",
    "nanmedian": "np.median(x[~np.isnan(x)])",
    "nanquantile": "np.quantile(x[~np.isnan(x)], q)",
    "nanpercentile": "np.percentile(x[~np.isnan(x)], q)",
    "savetxt": "numpy.savetxt(file, x.copy_to_host())",
    "savez": "numpy.savez(file, x=x.copy_to_host())",
    "savez_compressed": "numpy.savez_compressed(file, x=x.copy_to_host())",
    "array2string": "numpy.array2string(x.copy_to_host())",
    "array_repr": "repr(x.copy_to_host())",
    "array_str": "str(x.copy_to_host())",
    "linalg.eig": "np.linalg.eigh for Hermitian matrices; others on the host: x.copy_to_host()",
    "linalg.eigvals": "np.linalg.eigvalsh for Hermitian matrices; others on the host: x.copy_to_host()",
    "linalg.tensorinv": "reshape, and np.linalg.inv",
    "linalg.tensorsolve": "reshape, and np.linalg.solve",
    "matvec": "np.matmul",
    "vecmat": "np.matmul",
    "shares_memory": "x.allocation_key == y.allocation_key",
    "may_share_memory": "x.allocation_key == y.allocation_key",
}


def hint_for(name: str, *, elementwise: bool = False) -> str:
    """What to do in place of ``numpy.<name>``, or of the array's method; elementwise: it is an operator or a ufunc."""
    if name in _SPECIAL:
        return _SPECIAL[name]
    return _ELEMENTWISE if elementwise else _OTHER


def is_known(name: str) -> bool:
    """Whether there is a hint of its own for a missing attribute."""
    return name in _SPECIAL
