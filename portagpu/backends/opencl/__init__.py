"""The OpenCL back end: OpenCL C from IR, and PyOpenCL."""
