"""Every instruction of matrix units compiles for the targets that have it; elsewhere it is a typed error."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from compilers import compiler_of

from portagpu import cuda, types
from portagpu.backends.opencl.offline.targets import TARGETS
from portagpu.errors import KernelTypeError, KernelValueError, MissingCapabilityError
from portagpu.frontend.intrinsics.subgroup_matrix import MAD, MFMA, WMMA, mad_types

_WAVES = [
    (name, "mfma" if table is MFMA else "wmma", shape, dtype, one)
    for table in (MFMA, WMMA)
    for (dtype, shape), several in table.items()
    for one in several
    for name, target in TARGETS.items()
    if one.unit in target.capabilities.matrix_units
]


@cuda.jit(device=True)
def load(x, index, lanes: cuda.constexpr):
    if lanes == 1:
        return x[index]
    return cuda.vload(x, index * lanes, lanes)


@cuda.jit
def wave(
    a, b, c, name: cuda.constexpr, shape: cuda.constexpr, dtype: cuda.constexpr, n: cuda.constexpr, m: cuda.constexpr
):
    i = cuda.grid(1)
    total = load(c, i, m)
    if name == "mfma":
        total = cuda.mfma(shape, dtype, load(a, i, n), load(b, i, n), total)
    else:
        total = cuda.wmma(shape, dtype, load(a, i, n), load(b, i, n), total)
    cuda.vstore(total, c, i * m)


@pytest.mark.each_value
@pytest.mark.parametrize(
    ("name", "function", "shape", "dtype", "one"), _WAVES, ids=lambda v: str(getattr(v, "unit", v))
)
def test_wave_instructions(name, function, shape, dtype, one):
    target = compiler_of(TARGETS[name])
    operand = getattr(types, one.operand[0][-1])[::1]
    result = getattr(types, one.accumulator[0])[::1]
    constants = {"name": function, "shape": shape, "dtype": dtype, "n": one.operand[1], "m": one.accumulator[1]}
    made = wave.compile_for(target, (operand, operand, result), constants=constants, block=64)
    assert not made.figures.spills
    assert ("v_mfma" if function == "mfma" else "v_wmma") in made.assembly


@cache
def mad_kernel(size):
    @cuda.jit(subgroup_size=size)
    def mad(a, b, c, dtype: cuda.constexpr, n: cuda.constexpr, rows: cuda.constexpr):
        i = cuda.grid(1)
        total = load(c, i, rows)
        total = cuda.subgroup_matrix_mad(dtype, load(a, i, n), load(b, i, 8), total)
        if rows == 1:
            c[i] = total
        else:
            cuda.vstore(total, c, i * rows)

    return mad


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("rows", [1, 2, 4, 8])
@pytest.mark.parametrize("dtype", [d for d in MAD if d != "tfloat32"])  # which ocloc of Debian 12 does not have
@pytest.mark.parametrize(("name", "size"), [("dg2", 8), ("pvc", 16)])
def test_subgroup_matrix_mad(name, size, dtype, rows):
    target = compiler_of(TARGETS[name])
    kinds = mad_types(dtype, size, rows)
    arrays = [getattr(types, t)[::1] for t in (kinds.a[0][0], kinds.b[0][0], kinds.acc[0])]
    constants = {"dtype": dtype, "n": kinds.a[1], "rows": rows}
    made = mad_kernel(size).compile_for(target, tuple(arrays), constants=constants, block=size * 4)
    assert not made.figures.spills
    assert made.figures.lanes == size


def _compile(kernel, target="gfx90a"):
    return kernel.compile_for(target, "void(float32[::1])")


def test_devices_without_such_units_say_so():
    @cuda.jit
    def kernel(x):
        acc = cuda.float32x4(0)
        a = cuda.int16x4(0)
        x[0] = cuda.mfma("m16n16k16", "float16", a, a, acc)[0]

    @cuda.jit
    def waves(x):
        a = cuda.int16x8(0)
        x[0] = cuda.wmma("m16n16k16", "float16", a, a, cuda.float32x8(0))[0]

    @cuda.jit
    def mad(x):
        x[0] = cuda.subgroup_matrix_mad("float16", cuda.int16x8(0), cuda.int32x8(0), cuda.float32x8(0))[0]

    for one, target in ((kernel, "gfx1100"), (waves, "gfx90a"), (mad, "tgllp"), (mad, "gfx942")):
        with pytest.raises(MissingCapabilityError, match="does not have") as caught:
            _compile(one, target)
        assert "portagpu.matmul" in caught.value.hint
    with pytest.raises(MissingCapabilityError, match="matrix unit"):
        kernel[1, 64](np.zeros(64, np.float32))


def test_wrong_operands():
    @cuda.jit
    def shape(x):
        a = cuda.int16x4(0)
        x[0] = cuda.mfma("m8n8k8", "float16", a, a, cuda.float32x4(0))[0]

    @cuda.jit
    def lanes(x):
        a = cuda.int16x8(0)
        x[0] = cuda.mfma("m16n16k16", "float16", a, a, cuda.float32x4(0))[0]

    @cuda.jit
    def accumulator(x):
        a = cuda.int16x4(0)
        x[0] = cuda.mfma("m16n16k16", "float16", a, a, cuda.float32x8(0))[0]

    @cuda.jit
    def dtype(x):
        x[0] = cuda.subgroup_matrix_mad("float64", cuda.int16x8(0), cuda.int32x8(0), cuda.float32x8(0))[0]

    with pytest.raises(KernelValueError, match="m8n8k8") as caught:
        _compile(shape)
    assert "m16n16k16" in caught.value.hint
    with pytest.raises(KernelTypeError, match=r"a of cuda\.mfma must be float16x4 or int16x4"):
        _compile(lanes)
    with pytest.raises(KernelTypeError, match=r"acc of cuda\.mfma must be float32x4"):
        _compile(accumulator)
    with pytest.raises(KernelValueError, match="float64"):
        _compile(dtype, "pvc")


def test_a_size_that_a_target_lacks():
    with pytest.raises(MissingCapabilityError, match="subgroup_size=8") as caught:
        mad_kernel(8).compile_for(
            "pvc", "void(int16[::1], int32[::1], float32[::1])", constants={"dtype": "float16", "n": 8, "rows": 8}
        )
    assert "16 or 32" in caught.value.hint
