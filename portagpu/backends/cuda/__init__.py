"""The CUDA back end: OpenCL programs of a card on the memory and streams of CUDA."""
