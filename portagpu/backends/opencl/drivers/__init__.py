"""OpenCL drivers: found, registered, checked."""
