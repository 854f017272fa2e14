"""GEMM variants, a folder each: `variant` with its parameters and model, `kernels` in the dialect."""
