"""Matrix units of subgroups in SYCL C++: the driver's compiler gets calls of its own functions, and has them.

No device here has such units: the programs are compiled for one that does, by SYCL's run-time compiler and, where it is
installed, by the compiler of the driver for it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from sycl_devices import WORKING, needs_sycl
from sycl_spirv import spirv

from portagpu import cuda, errors
from portagpu.backends.sycl.codegen.flags import FLAGS
from portagpu.backends.sycl.identity import listed
from portagpu.backends.sycl.library import library
from portagpu.backends.sycl.probing.kernels import matrix_product, program
from portagpu.backends.sycl.probing.matrix_units import UNITS, listed_units

pytestmark = [needs_sycl, pytest.mark.one_device]
DEVICES = WORKING
_GOLDEN = Path(__file__).parents[1] / "golden"
_FUNCTIONS = (
    b"_Z38intel_sub_group_f16_f16_matrix_mad_k16Dv8_sDv8_iDv8_f",
    b"_Z40intel_sub_group_bf16_bf16_matrix_mad_k16Dv8_sDv8_iDv8_f",
    b"_Z39intel_sub_group_tf32_tf32_matrix_mad_k8Dv4_fDv8_fS0_",
    b"_Z36intel_sub_group_i8_i8_matrix_mad_k32Dv8_sDv8_iS0_",
    b"_Z38intel_sub_group_f16_f16_matrix_mad_k16sDv8_if",
)


@pytest.fixture
def compiled(device):
    """What gives a program's SPIR-V."""
    native = next(one.device for one in listed(library()) if one.name == device.native)
    return lambda source: spirv(native, source, FLAGS)


def instructions(folder, binary):
    """The products among the instructions that the driver's compiler makes of SPIR-V for a device with matrix units."""
    if shutil.which("ocloc") is None:
        pytest.skip("apt install intel-opencl-icd brings ocloc")
    (folder / "kernel.spv").write_bytes(binary)
    dumped = {**os.environ, "IGC_ShaderDumpEnable": "1", "IGC_DumpToCustomDir": str(folder)}
    command = ["ocloc", "compile", "-file", "kernel.spv", "-spirv_input", "-device", "pvc", "-output", "kernel"]
    done = subprocess.run(command, cwd=folder, env=dumped, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0 and "Build succeeded" in done.stdout, done.stdout
    lines = [line.split() for path in folder.glob("*.asm") for line in path.read_text().splitlines()]
    return [words[0] for words in lines if words and words[0].startswith("dpas")]


@pytest.mark.parametrize("name", ["subgroup_products", "subgroup_products_wide"])
def test_golden_products_compile(compiled, name, tmp_path):
    binary = compiled((_GOLDEN / f"{name}.cpp").read_text(encoding="utf-8"))
    assert all(function in binary for function in _FUNCTIONS)
    found = instructions(tmp_path, binary)
    assert {"dpas.8x8", "dpas.8x1"} <= set(found), found
    assert found.count("dpas.8x8") >= 3  # ocloc of Debian 12 does not have that of TF32


@pytest.mark.parametrize("unit", UNITS)
def test_trials_compile(compiled, unit, tmp_path):
    binary = compiled(program([("unit", matrix_product(UNITS[unit].function, 16))]))
    assert UNITS[unit].function.encode() in binary
    assert unit == "subgroup_tfloat32" or "dpas.8x8" in instructions(tmp_path, binary)


_HALVES = "fp16:fp16:fp32:fp32:8x16x16"


@pytest.mark.parametrize(
    ("shapes", "smallest", "wanted"),
    [
        ("", 16, ()),
        (_HALVES, 16, ("subgroup",)),
        (_HALVES, 8, ()),
        ("fp16:fp16:fp32:fp32:8x8x16", 8, ("subgroup",)),
        (f"bf16:bf16:fp32:fp32:8x16x16 {_HALVES} tf32:tf32:fp32:fp32:8x16x8", 16, ("subgroup", "subgroup_tfloat32")),
        ("fp16:fp16:fp32:fp32:16x16x16 fp16:fp16:fp32:fp32:32x8x16", 16, ()),  # another maker's
        ("bf16:bf16:fp32:fp32:16x16x32 sint8:sint8:sint32:sint32:16x16x64", 4, ()),  # a CPU's
    ],
)
def test_units_that_are_worth_a_trial(shapes, smallest, wanted):
    assert listed_units({"matrix_combinations": shapes}, smallest) == wanted


def test_without_units_it_is_an_error(device):
    if device.capabilities.matrix_units:
        pytest.skip("the device has matrix units")

    @cuda.jit
    def multiplied(x):
        x[0] = cuda.subgroup_matrix_mad("float16", cuda.int16x8(0), cuda.int32x8(0), cuda.float32x8(0))[0]

    with pytest.raises(errors.MissingCapabilityError, match="matrix units for subgroups"):
        multiplied[1, 16](np.zeros(1, "f4"))
