"""OpenCL C as the language of kernels, of every back end whose compiler takes it."""

from __future__ import annotations

from portagpu.backends.languages import KernelLanguage
from portagpu.backends.opencl.codegen.generate import generate
from portagpu.backends.opencl.codegen.lowerings import RENDERED

OPENCL_C = KernelLanguage(title="OpenCL C", inspection="inspect_opencl", generate=generate, operations=RENDERED)
