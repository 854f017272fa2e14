"""The wave-matrix variant: matrix units of wavefronts (`cuda.mfma`, `cuda.wmma`)."""
