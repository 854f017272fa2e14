"""Kernels that an H100 would run, built without one: clang makes PTX of the OpenCL C, CUDA's assembler takes that."""

from __future__ import annotations

import dataclasses
import re
import shutil
import subprocess

import pytest

from portagpu import cuda
from portagpu.backends.opencl.codegen.generate import generate
from portagpu.backends.opencl.ptx import architecture as architecture_ptx
from portagpu.blas.gemm.core.workspace import workspaces
from portagpu.device.ideal_device import IDEAL
from portagpu.dispatch.arguments import conversion
from portagpu.dispatch.launcher import Configured
from portagpu.ir.types import ConstantType

HOPPER = dataclasses.replace(IDEAL, local_memory_static=231424, compute_units=132, clock_mhz=1980)
# what OpenCL has built in and clang has not for this target
_BUILTIN = """
#define asm __asm__
#define get_local_id(i) ((ulong)__nvvm_read_ptx_sreg_tid_x())
#define get_group_id(i) ((ulong)__nvvm_read_ptx_sreg_ctaid_x())
#define get_num_groups(i) ((ulong)__nvvm_read_ptx_sreg_nctaid_x())
#define get_local_size(i) ((ulong)__nvvm_read_ptx_sreg_ntid_x())
#define barrier(x) __syncthreads()
#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#define fma __builtin_fmaf
#define atomic_add(p, v) __sync_fetch_and_add((__global int*)(p), (v))
#define as_uint(x) __builtin_astype(x, uint)
"""
_CLANG = (
    *("-x", "cl", "-cl-std=CL2.0", "-target", "nvptx64-nvidia-cuda", "-Xclang", "-target-cpu", "-Xclang", "sm_90"),
    *("-Xclang", "-target-feature", "-Xclang", "+ptx80", "-Xclang", "-cl-ext=+cl_khr_fp16,+cl_khr_fp64", "-w"),
    *("-Xclang", "-finclude-default-header", "-O3", "-S"),
)


def assembled(source, threads, folder):
    """What CUDA's assembler says of a kernel for blocks of so many threads."""
    clang, assembler = shutil.which("clang-19"), shutil.which("ptxas")
    if clang is None or assembler is None:
        pytest.skip("clang-19 or ptxas is not installed")
    (folder / "kernel.cl").write_text(_BUILTIN + source)
    made = folder / "kernel.ptx"
    subprocess.run([clang, *_CLANG, "-o", made, folder / "kernel.cl"], check=True)
    limits = rb")\n.maxntid %d, 1, 1\n.minnctapersm 1\n" % threads
    made.write_bytes(
        re.sub(rb"\)\s*\n(?=\{|\.explicit)", limits, architecture_ptx.unmarked(made.read_bytes(), source), count=1)
    )
    command = [assembler, "-v", "-arch", "sm_90a", "-o", folder / "kernel.cubin", made]
    return subprocess.run(command, check=True, capture_output=True, text=True).stderr


def launches_of(run, monkeypatch):
    """The kernels that a call would launch, with threads of a block and arguments."""
    found = []
    with monkeypatch.context() as patch:
        patch.setattr(Configured, "__call__", lambda self, *args: found.append((self._dispatcher, self.shape, args)))
        run()
    workspaces.forget(cuda.current_context())  # counters that no kernel cleared
    return found


def source_of(kernel, given, threads):
    """A kernel's OpenCL C for these arguments and blocks of so many threads."""
    return generated(kernel, given, threads).source


def generated(kernel, given, threads):
    """What is generated of a kernel for these arguments and blocks of so many threads."""
    names, fixed = kernel.source.parameters, kernel.source.constexpr
    types = tuple(
        ConstantType(a) if n in fixed else conversion.argument_type(a, alias=False)
        for n, a in zip(names, given, strict=True)
    )
    return generate(kernel.lowered(types, HOPPER, block=(threads, 1, 1)), HOPPER)
