"""The ladder: GEMM from the naive kernel to the shipped one, each step a readable kernel with its measured share."""
