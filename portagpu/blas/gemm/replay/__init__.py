"""GEMM launches that are recorded once and made again."""
