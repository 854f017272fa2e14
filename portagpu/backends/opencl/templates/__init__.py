"""Mako templates of the generated OpenCL C."""
