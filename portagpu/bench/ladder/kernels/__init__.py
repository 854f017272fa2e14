"""The ladder's kernels: row-major ``c = a @ b``, a: (m, k), b: (k, n), c: (m, n), of any size, all of one dtype."""
