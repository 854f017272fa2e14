"""Generated text of some kernels for a fixed device; ``PORTAGPU_UPDATE_GOLDEN=1 pytest tests/golden`` renews it."""

from __future__ import annotations

import importlib.util
import os
from dataclasses import replace
from pathlib import Path

import golden_kernels
import numpy as np
import pytest

from portagpu import cuda
from portagpu.backends import registry
from portagpu.device.capabilities import DeviceType
from portagpu.dispatch.code.lowering import lower_kernel
from portagpu.dtypes import BFLOAT16, COMPLEX64, FLOAT16, FLOAT32, FLOAT64, INT16, INT32, UINT32
from portagpu.ir.types import PYFLOAT, PYINT, ArrayType, ConstantType, Layout, Scalar, TupleType
from portagpu.ir.verify import verify
from portagpu.types.record_layout import Record
from tools.reference.profiles import CPU

HERE = Path(__file__).parent
UPDATE = os.environ.get("PORTAGPU_UPDATE_GOLDEN") == "1"

CAPABILITIES = replace(  # of a small GPU that has no extension but float64
    CPU,
    device_type=DeviceType.GPU,
    compute_units=16,
    clock_mhz=1000,
    global_memory=2**33,
    max_allocation=2**31,
    local_memory_static=49152,
    local_memory_argument=49152,
    local_memory_dedicated=True,
    host_unified_memory=False,
    max_work_group_size=1024,
    max_work_item_sizes=(1024, 1024, 64),
    preferred_multiple=32,
    vector_width_float=1,
    vector_width_double=1,
    extensions=frozenset({"cl_khr_fp64"}),
    builtin_prefetch=False,
)


def array(dtype, ndim, layout=Layout.C):
    return ArrayType(Scalar(dtype), ndim, layout)


def example(name, kernel):
    spec = importlib.util.spec_from_file_location(name, HERE.parents[1] / "examples" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, kernel)


def small_tiles():
    from portagpu.blas.gemm.core.kernel_arguments import SUM, Epilogue, Extents, Factors, Matrix, Split
    from portagpu.blas.gemm.variants.tile.kernels import TilePlan, multiply_tiles

    def named(fields, *items):
        return TupleType(items, fields._fields)

    f, n, number, four = array(FLOAT32, 2), Scalar(INT32), Scalar(FLOAT32), cuda.float32x4
    plan = TilePlan(16, 16, 4, 4, 4, 1, 4, four, False, False, False, True, True, False, 4)
    matrices = (named(Matrix, f, n, n),) * 3
    rest = (named(Extents, n, n, n), n, named(Split, n, n), named(Factors, number, number, ConstantType(None)))
    constants = map(ConstantType, (plan, Epilogue(SUM, four, four)))
    return multiply_tiles, (*matrices, ConstantType(None), *rest, *constants)


@cuda.jit
def heat_equation(buf, steps, k):
    """Returns early, then waits at barriers in a loop."""
    i = cuda.grid(1)
    if i == 0 or i >= buf.size - 1:
        return
    for _ in range(steps):
        change = k * (buf[i - 1] - 2.0 * buf[i] + buf[i + 1])
        cuda.syncthreads()
        buf[i] += change
        cuda.syncthreads()


PARTICLE = np.dtype([("position", np.float32, (3,)), ("count", np.int32), ("mass", np.float64), ("kind", np.uint8)])


@cuda.jit
def particles(p, q, weights):
    """Packed records of 25 bytes, and the same fields aligned."""
    i = cuda.grid(1)
    if i < p.size:
        rec = q[i]
        rec.mass = p[i].mass * p["count"][i]
        for k in range(len(rec.position)):
            rec.position[k] += p.position[i, k] * weights[i]
        cuda.atomic.add(q.count, 0, rec.kind)
        p[i] = p[p.size - 1 - i]


def records():
    aligned = np.dtype(PARTICLE.descr, align=True)
    packed = ArrayType(Record(PARTICLE), 1, Layout.C, align=1)
    return particles, (packed, ArrayType(Record(aligned), 1, Layout.ANY, offset=True, align=8), array(FLOAT32, 1))


CASES = {
    "vector_add": lambda: (example("vector_add", "add"), (array(FLOAT32, 1),) * 3),
    "window_sum": lambda: (example("window_sum", "window_sum"), (array(FLOAT32, 1),) * 2),
    "block_reverse": lambda: (example("block_reverse", "reverse_blocks"), (array(INT32, 1),)),
    "histogram": lambda: (example("histogram", "histogram"), (array(FLOAT32, 1), array(INT32, 1))),
    "matmul_tiled": lambda: (
        example("matmul_naive_and_tiled", "matmul_tiled"),
        (array(FLOAT32, 2), array(FLOAT32, 2, Layout.F), array(FLOAT32, 2, Layout.ANY)),
    ),
    "mandelbrot": lambda: (
        example("mandelbrot", "mandelbrot"),
        (PYFLOAT, PYFLOAT, PYFLOAT, array(INT32, 2), PYINT),
    ),
    "black_scholes": lambda: (
        example("black_scholes", "black_scholes"),
        (*[array(FLOAT32, 1)] * 3, PYFLOAT, PYFLOAT, *[array(FLOAT32, 1)] * 2),
    ),
    "heat_equation": lambda: (heat_equation, (array(FLOAT64, 1), PYINT, PYFLOAT)),
    "gemm_tiles": small_tiles,
    "records": records,
    "numbers": lambda: (
        golden_kernels.numbers,
        (array(COMPLEX64, 1), array(FLOAT16, 1), array(BFLOAT16, 1), array(FLOAT32, 1), array(INT32, 1)),
    ),
    "subgroup_products": lambda: (
        golden_kernels.subgroup_products,
        (array(INT16, 1), array(FLOAT32, 1), array(FLOAT32, 1)),
    ),
    "effects": lambda: (golden_kernels.effects, (array(UINT32, 1), array(FLOAT32, 1), array(FLOAT32, 1))),
}


# of what some kernels need
FURTHER = {
    "numbers": {"fp16": True, "fp16_functions": True, "extensions": frozenset({"cl_khr_fp64", "cl_khr_fp16"})},
    "subgroup_products": {
        "subgroups": True,
        "subgroup_size": 16,
        "subgroup_sizes": (16, 32),
        "required_subgroup_size": True,
        "subgroup_block_io": True,
        "matrix_units": ("subgroup", "subgroup_tfloat32"),
    },
}


@pytest.mark.parametrize(("backend", "ending"), [("opencl", "cl"), ("sycl", "cpp")])
@pytest.mark.parametrize("wide", [False, True], ids=["32-bit", "64-bit"])
@pytest.mark.parametrize("name", CASES)
def test_generated_code(name, wide, backend, ending):
    kernel, types = CASES[name]()
    capabilities = replace(CAPABILITIES, **FURTHER.get(name, {}))
    program = lower_kernel(kernel.source, types, capabilities, wide_index=wide)
    verify(program)
    size = kernel.options.subgroup_size
    found = registry.named(backend).render(program, capabilities, subgroup_size=size).source
    path = HERE / f"{name}{'_wide' if wide else ''}.{ending}"
    if UPDATE:
        path.write_text(found, encoding="utf-8")
    assert found == path.read_text(encoding="utf-8"), "PORTAGPU_UPDATE_GOLDEN=1 accepts the change"
