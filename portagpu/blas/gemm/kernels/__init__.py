"""Device functions and kernels that several GEMM variants use: epilogue, split sums, copies."""
