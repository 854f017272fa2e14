"""NVIDIA's GPUs and CPUs as targets: what clang makes for them, and what is said where CUDA's assembler is missing."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import pytest
from compilers import compiler_of

from portagpu import cuda
from portagpu.backends.opencl.offline import nvptx
from portagpu.backends.opencl.offline.cpu import figures_of_remarks
from portagpu.backends.opencl.offline.nvidia_targets import NVIDIA
from portagpu.backends.opencl.offline.nvptx import assemblers, in_dynamic_memory
from portagpu.backends.opencl.offline.targets import TARGETS
from portagpu.errors import BuildError, MissingCapabilityError, PortaGPUError

GPUS = [target.name for target in NVIDIA]
OTHERS = ["sm_75", "sm_90", "sm_120", "x86-64-v3", "x86-64-v4", "neoverse-v1"]


@cuda.jit("void(float32[::1], int64[::1])", fastmath=True)
def various(x, n):
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    tile = cuda.shared.array(64, np.float32)
    tile[t] = math.sin(x[i]) + math.exp(x[i]) + math.pow(x[i], 0.3) + math.sqrt(x[i]) / math.log(x[i])
    cuda.syncthreads()
    cuda.atomic.add(n, 0, 1)
    cuda.atomic.max(n, 1, i)
    cuda.atomic.cas(n, 2, 0, i)
    cuda.atomic.add(x, 0, tile[63 - t])
    cuda.threadfence()
    print("value", x[i])
    x[i] = cuda.shfl_down_sync(0xFFFFFFFF, tile[t], 1)


@cuda.jit
def sums(x, n: cuda.constexpr):
    tile = cuda.shared.array(n, np.float32)
    t = cuda.threadIdx.x
    tile[t] = x[t]
    cuda.syncthreads()
    x[t] = tile[n - 1 - t]


@cuda.jit("void(float32[::1])")
def halve(x):
    x[0] = x[0] / 2


@pytest.mark.parametrize("name", OTHERS)
def test_functions_atomics_prints_and_warps(name):
    target = compiler_of(TARGETS[name])
    made = various.compile_for(target, block=64)
    assert ("shfl.sync" in made.assembly) == ("asm volatile" in made.source) == target.is_gpu
    if target.is_gpu:
        assert ".reqntid 64" in made.assembly and "vprintf" in made.assembly


@pytest.mark.parametrize("name", GPUS)
def test_a_block_may_have_what_a_multiprocessor_has(name):
    target = compiler_of(TARGETS[name])
    most = target.capabilities.local_memory_static
    made = sums.compile_for(target, "void(float32[::1])", constants={"n": most // 4}, block=256)
    assert made.figures.local_bytes == most
    assert made.remark is not None or made.figures.occupancy == 2  # one block of eight warps on four schedulers
    with pytest.raises(PortaGPUError, match="shared"):
        sums.compile_for(target, "void(float32[::1])", constants={"n": most // 4 + 1}, block=256)


def test_registers_can_be_limited():
    target = compiler_of(TARGETS["sm_90"])
    if not assemblers():
        pytest.skip("ptxas is not installed")

    def many(x):
        a = cuda.local.array(64, np.float32)
        for i in cuda.unroll(range(64)):
            a[i] = x[i * 64 + cuda.threadIdx.x]
        for _r in range(10):
            for i in cuda.unroll(range(64)):
                a[i] = a[i] * a[(i * 7 + 1) % 64]
        for i in cuda.unroll(range(64)):
            x[i * 64 + cuda.threadIdx.x] = a[i]

    free, limited = (
        cuda.jit(many, **options).compile_for(target, "void(float32[::1])", block=64).figures
        for options in ({}, {"max_registers": 32})
    )
    assert free.registers > 64 and not free.spills
    assert limited.registers <= 32 and limited.spilled > 0 and limited.spills
    assert limited.occupancy > free.occupancy


def test_without_an_assembler_there_is_ptx_and_what_it_says(monkeypatch):
    target = compiler_of(TARGETS["sm_80"])
    monkeypatch.setattr(nvptx, "assemblers", list)
    made = sums.compile_for(target, "void(float32[::1])", constants={"n": 256}, block=256)
    assert made.figures.registers is None and made.figures.occupancy is None
    assert made.figures.local_bytes == 1024 and not made.figures.spills
    assert "pip install nvidia-cuda-nvcc" in made.remark and "not installed" in made.remark
    assert ".target sm_80" in made.assembly


FAKES = {
    "new": "ptxas fatal : Value 'sm_70' is not defined for option 'gpu-name'",
    "old": "ptxas a.ptx, line 6; fatal : Unsupported .version 8.5; current version is '7.8'",
    "other": "ptxas error : Illegal operand",
}


def _fake(folder: Path, text: str, status: int) -> str:
    program = folder / "ptxas"
    folder.mkdir(parents=True, exist_ok=True)
    program.write_text(f'#!/bin/sh\ncat <<"END"\n{text}\nEND\nexit {status}\n')
    program.chmod(0o755)
    return str(program)


def test_assemblers_that_do_not_know_a_target_are_passed_over(tmp_path, monkeypatch):
    target = compiler_of(TARGETS["sm_70"])
    works = _fake(
        tmp_path / "works",
        "0 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads\nUsed 21 registers, used 1 barriers",
        0,
    )
    new, old, other = (_fake(tmp_path / name, text, 1) for name, text in FAKES.items())

    def made(*programs):
        monkeypatch.setattr(nvptx, "assemblers", lambda: [*programs])
        return halve.compile_for(target)

    figures = made(new, old, works).figures
    assert (figures.registers, figures.spilled, figures.scratch_bytes) == (21, 2, 0) and figures.spills
    assert made(new).remark == f"PTX only: {new} does not know sm_70; for registers: pip install nvidia-cuda-nvcc-cu12"
    assert made(old).remark.endswith("too old for clang's PTX; for registers: pip install nvidia-cuda-nvcc")
    with pytest.raises(BuildError, match="refused"):
        made(other)


def test_the_assembler_is_found_in_packages_of_the_environment(tmp_path, monkeypatch):
    program = _fake(tmp_path / "nvidia" / "cu13" / "bin", "", 0)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    assert program in assemblers()
    own = _fake(tmp_path / "home" / "bin", "", 0)
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "home"))
    assert assemblers().index(program) < assemblers().index(own)


def test_large_arrays_share_dynamic_memory_at_places_of_their_own():
    text = (
        ".version 8.5\n.target sm_90\n.address_size 64\n\n"
        "\t.shared .align 4 .b8 k_$_t[40000];\n\t.shared .align 16 .b8 k_$_tt[40000];\n"
        "\tmov.u64 %rd1, k_$_t;\n\tst.shared.f32 [k_$_tt+8], %f1;\n\tld.shared.f32 %f1, [k_$_t+39996];\n"
    )
    made = in_dynamic_memory(text)
    assert made.count(".extern .shared .align 128 .b8 pg_shared[];") == 1 and "k_$_t" not in made
    assert "mov.u64 %rd1, pg_shared+0;" in made
    assert "[pg_shared+40072]" in made and "[pg_shared+39996]" in made  # 40064: the next multiple of 128
    assert in_dynamic_memory(text.replace("40000", "400")) == text.replace("40000", "400")


def test_a_cpu_has_no_tensor_cores():
    @cuda.jit("void(float32[::1])")
    def mma(x):
        x[0] = cuda.mfma("m16n16k16", "float16", cuda.int16x4(0), cuda.int16x4(0), cuda.float32x4(0))[0]

    for name in ("x86-64-v3", "sm_90"):
        with pytest.raises(MissingCapabilityError, match="does not have"):
            mma.compile_for(name)


# CPUs -----------------------------------------------------------------------------------------------------------------


@cuda.jit("void(float32[::1], float32[::1])")
def axpy8(x, y):
    i = cuda.grid(1) * 8
    cuda.vstore(cuda.vload(x, i, 8) * 3 + cuda.vload(y, i, 8), y, i)


@pytest.mark.parametrize("name, lanes", [("x86-64-v3", 8), ("x86-64-v4", 8), ("neoverse-v1", 4)])
def test_vectors_of_the_kernel_are_seen(name, lanes):
    figures = axpy8.compile_for(compiler_of(TARGETS[name])).figures
    assert figures.lanes == lanes and not figures.spills
    assert halve.compile_for(name).figures.lanes in (1, 4)


def test_remarks_are_added_up():
    said = (
        "k.ll:1:1: remark: 3 spills 1.0e+00 total spills cost 6 reloads generated in loop [-Rpass-missed=regalloc]\n"
        "remark: <unknown>:0:0: \nFunction: k\nOffset: [SP-8], Type: Spill, Align: 8, Size: 8\n"
        "Offset: [SP-104], Type: Variable, Align: 16, Size: 96 [-Rpass-analysis=stack-frame-layout]\n"
        "k.ll:1:1: remark: 9 spills 2.7e+00 total spills cost generated in function [-Rpass-missed=regalloc]\n"
    )
    figures = figures_of_remarks(said, "\t.comm\tk.t,256,16\n\tvaddps\t%zmm1, %zmm2, %zmm31\n")
    assert (figures.spilled, figures.scratch_bytes, figures.local_bytes) == (9, 104, 256)
    assert (figures.registers, figures.lanes) == (3, 16)
    assert figures_of_remarks("", "").spills is False
    saved = "Offset: [SP-8], Type: Spill, Align: 8, Size: 8\nOffset: [SP-16], Type: Spill, Align: 8, Size: 8\n"
    assert figures_of_remarks(saved, "").spills is False  # registers that the caller wants back


@pytest.mark.parametrize("name", ["x86-64-v3", "x86-64-v4", "neoverse-v1"])
def test_spills_and_arrays_of_a_cpu_are_counted(name):
    @cuda.jit("void(float32[::1])")
    def many(x):
        a = cuda.local.array(80, np.float32)
        for i in cuda.unroll(range(80)):
            a[i] = x[i * 64 + cuda.threadIdx.x]
        for _r in range(10):
            for i in cuda.unroll(range(80)):
                a[i] = a[i] * a[(i * 7 + 1) % 80]
        for i in cuda.unroll(range(80)):
            x[i * 64 + cuda.threadIdx.x] = a[i]

    @cuda.jit("void(float32[::1], int32)")
    def indexed(x, n):
        a = cuda.local.array(64, np.float32)
        for i in range(64):
            a[i] = x[i]
        x[0] = a[n]

    target = compiler_of(TARGETS[name])
    figures = many.compile_for(target).figures
    assert figures.spilled > 0 and figures.scratch_bytes > 0 and figures.spills
    figures = indexed.compile_for(target).figures
    assert figures.spilled == 0 and figures.scratch_bytes >= 256 and figures.spills
