"""GEMM from the naive kernel to the shipped one: readable kernels, each with its measured share."""
