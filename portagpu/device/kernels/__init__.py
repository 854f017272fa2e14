"""OpenCL C kernels that find out what a device can do."""
