"""The CUDA back end: what the OpenCL driver of a card compiled runs on the memory and streams of CUDA's libraries."""
