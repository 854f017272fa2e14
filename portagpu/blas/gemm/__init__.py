"""GEMM: one engine over variants, each tuned or modelled for a device."""
