"""PortaGPU's own kernels, found by dry runs: what its routines launch on devices that run nothing."""
