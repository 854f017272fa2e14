"""What all GEMM variants share: problems, operands, the interface of a variant, scratch memory."""
