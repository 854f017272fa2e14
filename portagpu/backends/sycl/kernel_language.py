"""SYCL C++ as the language of kernels."""

from __future__ import annotations

from portagpu.backends.languages import KernelLanguage
from portagpu.backends.sycl.codegen.generate import generate
from portagpu.backends.sycl.codegen.lowerings import RENDERED

SYCL_CPP = KernelLanguage(title="SYCL C++", inspection="inspect_sycl", generate=generate, operations=RENDERED)
