"""Mako templates of the generated SYCL C++."""
