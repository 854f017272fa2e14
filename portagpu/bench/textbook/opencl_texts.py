"""The kernels in OpenCL C, as a program of PyOpenCL has them: `cuda_texts` with OpenCL's words for CUDA's."""

from __future__ import annotations

import re

from portagpu.bench.textbook import cuda_texts
from portagpu.errors import UnsupportedError

_WORDS = {
    r"__global__ void": "__kernel void",
    r"__device__ ": "",
    r"__shared__": "__local",
    r"__restrict__": "restrict",
    r"__syncthreads\(\)": "barrier(CLK_LOCAL_MEM_FENCE)",
    r"atomicAdd\(&block_counts": "atomic_add(&block_counts",
    r"atomicAdd\(": "atomic_add(",
    r"\b(sqrt|exp|log|erfc)f\(": r"\1(",
    r"unsigned long long": "ulong",
    r"(\d)ull\b": r"\1ul",
    r"\bstate\* states": "__global struct state* states",
    r"\bstate\* restrict": "struct state* restrict",
    r"blockIdx\.(\w) \* blockDim\.\1 \+ threadIdx\.\1": r"(int)get_global_id(\1)",
    r"gridDim\.(\w) \* blockDim\.\1": r"(int)get_global_size(\1)",
    r"threadIdx\.(\w)": r"(int)get_local_id(\1)",
    r"blockIdx\.(\w)": r"(int)get_group_id(\1)",
    r"blockDim\.(\w)": r"(int)get_local_size(\1)",
}
_AXES = {"x": "0", "y": "1"}


def program(name: str) -> str:
    """A kernel's text as one program. Raises `UnsupportedError` for what OpenCL C has no words for."""
    text = cuda_texts.TEXTS[name]
    if "_sync(" in text:
        raise UnsupportedError("shuffles are no part of OpenCL C")
    for theirs, ours in _WORDS.items():
        text = re.sub(theirs, ours, text)
    text = re.sub(r"(get_\w+)\(([xy])\)", lambda found: f"{found[1]}({_AXES[found[2]]})", text)
    head, bracket, rest = text.partition("__kernel void")
    arguments, end, body = rest.partition(") {")
    arguments = re.sub(r"(const )?((?:struct )?\w+\* restrict)", r"__global \1\2", arguments)
    extension = "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n" if "double" in text else ""
    return f"{extension}{head}{bracket}{arguments}{end}{body}\n"


__all__ = ["program"]
