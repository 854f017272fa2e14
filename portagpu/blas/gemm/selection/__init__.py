"""Which GEMM variant and configuration a problem gets: tuned, shipped or modelled."""
