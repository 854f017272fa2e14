"""GEMM as a tunable: space, trials, verification."""
