"""CUDA-style kernels in Python on every OpenCL device."""
