"""The configurations that GEMM chooses without tuning spill no registers, says each target's own compiler."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pytest
from compilers import compiler_of

from portagpu import types
from portagpu.backends.opencl.offline.targets import TARGETS
from portagpu.blas.gemm.core.accumulation import conversion
from portagpu.blas.gemm.core.kernel_arguments import Extents, Factors, Matrix, Split
from portagpu.blas.gemm.core.problem import Problem
from portagpu.blas.gemm.kernels.launch import subgroup_of
from portagpu.blas.gemm.selection import registry
from portagpu.blas.gemm.variants.subgroup import matrix_variant
from portagpu.blas.gemm.variants.subgroup import variant as subgroup_variant
from portagpu.blas.gemm.variants.tile.config import TileConfig
from portagpu.blas.gemm.variants.tile.kernels import TilePlan
from portagpu.blas.gemm.variants.tile.launch import tile_kernel, tile_lanes, unroll_of
from portagpu.blas.gemm.variants.tile.variant import TileVariant
from portagpu.blas.gemm.variants.wave_matrix import variant as wave_matrix_variant
from portagpu.checking.examination import Rules
from portagpu.checking.records import Result
from portagpu.checking.shipped import products
from portagpu.checking.shipped.job import Job, checked

pytestmark = pytest.mark.each_value

_SIZES = (128, 512, 1024, 2048, 8192)


def _chosen(variant, dtype, caps):
    """The model's choices of a variant over the sizes."""
    problems = [Problem(m=n, n=n, k=n, dtype=dtype) for n in _SIZES]
    choices = [min(variant.shortlist(p, caps), key=lambda c, p=p: variant.predict(c, p, caps)) for p in problems]
    return list(dict.fromkeys(choices))


def _tile_constants(config: TileConfig, dtype, caps, exact):
    found = conversion(dtype, dtype, tile_lanes(8 if dtype == "float64" else 4))
    plan = TilePlan(
        **{name: value for name, value in asdict(config).items() if name in TilePlan._fields},
        vector=found.vector,
        whole=found.whole,
        a_transposed=False,
        b_transposed=False,
        aligned=exact,
        exact=exact,
        grouped=False,
        unroll=unroll_of(config, caps),
    )
    return {"plan": plan, "epilogue": found.epilogue(1.0, 0.0)}


# of makers whose own compiler is at hand: NVIDIA's driver has another one before its assembler
_OWN = [name for name, target in TARGETS.items() if target.compiler in ("amdgcn", "ocloc")]


@pytest.fixture
def forms(all_combinations):
    """Which forms a configuration is compiled in: neighbours in a list of them in the other one."""
    return lambda place, both: both if all_combinations else (both[place % 2],)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("target", _OWN)
def test_tiles(target, dtype, forms):
    compiler = compiler_of(TARGETS[target])
    caps = compiler.capabilities
    if dtype == "float64" and not caps.fp64:
        pytest.skip("no float64")
    matrix = getattr(types, dtype)[:, ::1]
    n, number = types.int32, getattr(types, dtype)
    given = types.NamedTuple((matrix, n, n), Matrix)
    rest = (types.NamedUniTuple(n, 3, Extents), n, types.NamedUniTuple(n, 2, Split))
    signature = (given, given, given, types.none, *rest, types.NamedTuple((number, number, types.none), Factors))
    for place, config in enumerate(_chosen(TileVariant(), dtype, caps)):
        for exact in forms(place, (False, True)):
            kernel = tile_kernel(config.threads * config.problems, subgroup_of(caps))
            constants = _tile_constants(config, dtype, caps, exact)
            figures = kernel.compile_for(compiler, signature, constants=constants).figures
            assert not figures.spills, (config, exact, figures)
            assert figures.local_bytes >= config.local_memory(matrix.dtype.row.size)


_PLANES = [(False, False, True, False), (True, True, False, True)]  # transposed, exact, scaled


def _check(variant, target, dtype, forms, kernel_of, plan_of):
    """Compile a variant's choices."""
    element = types.int16 if dtype == "float16" else getattr(types, dtype)
    matrix, result = element[:, ::1], getattr(types, dtype)[:, ::1]
    number = types.float64 if dtype == "float64" else types.float32
    factors = types.NamedTuple((number, number, types.none), Factors)
    for place, config in enumerate(_chosen(variant, dtype, target.capabilities)):
        for a_transposed, b_transposed, exact, scaled in forms(place, _PLANES):
            plan = plan_of(config, a_transposed, b_transposed, exact=exact, scaled=scaled)
            made = kernel_of(config).compile_for(target, (matrix, matrix, result, factors), constants={"plan": plan})
            assert not made.figures.spills, (config, plan, made.figures)
            if dtype == "float16" and made.figures.mix is not None:
                assert made.figures.mix.matrix_unit_used, (config, plan)


_WAVES = [
    name for name, target in TARGETS.items() if {"mfma", "wmma", "wmma_halves"} & set(target.capabilities.matrix_units)
]
_MATRICES = [name for name, target in TARGETS.items() if "subgroup" in target.capabilities.matrix_units]
_BLOCKS = [name for name, target in TARGETS.items() if target.capabilities.subgroup_block_io]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("target", [*_WAVES, *_MATRICES])
def test_matrix_units_are_chosen_where_they_are(target, dtype):
    """By the models: a driver may count units of 8 lanes, and models of other units must not expect 128 of each."""
    caps = TARGETS[target].capabilities
    for n in _SIZES:
        problem = Problem(m=n, n=n, k=n, dtype=dtype)
        if {"wave_matrix", "subgroup_matrix"} & {variant.name for variant in registry.variants_for(problem, caps)}:
            chosen = registry.variant_of(registry.default_config(problem, caps))
            assert chosen.name in ("wave_matrix", "subgroup_matrix"), (n, chosen.name)


@pytest.mark.parametrize("target", _WAVES)
def test_wave_matrices(target, forms):
    _check(
        wave_matrix_variant.WaveMatrixVariant(),
        compiler_of(TARGETS[target]),
        "float16",
        forms,
        lambda config: wave_matrix_variant.wave_kernel(config.threads),
        lambda config, *values, **more: wave_matrix_variant.plan_of(config, "float16", *values, **more),
    )


@pytest.mark.parametrize("target", _MATRICES)
def test_subgroup_matrices(target, forms):
    _check(
        matrix_variant.SubgroupMatrixVariant(),
        compiler_of(TARGETS[target]),
        "float16",
        forms,
        lambda config: matrix_variant.matrix_kernel(config.size, config.threads),
        lambda config, *values, **more: matrix_variant.plan_of(config, "float16", *values, **more),
    )


@pytest.mark.parametrize("target", _BLOCKS)
def test_subgroups(target, forms):
    _check(
        subgroup_variant.SubgroupVariant(),
        compiler_of(TARGETS[target]),
        "float32",
        forms,
        lambda config: subgroup_variant.subgroup_kernel(config.size, config.threads),
        lambda config, *values, **more: subgroup_variant.plan_of(config, np.float32, *values, **more),
    )


@pytest.mark.parametrize("target", _MATRICES)
@pytest.mark.parametrize("name", ["skinny", "pipelined"])
def test_threads_with_few_registers_have_the_smallest_subgroups(target, name):
    """A compiler that may choose takes wider ones, in which threads have half as many registers, and spills."""
    target = compiler_of(TARGETS[target])
    found = [case for case in products.cases(target.capabilities) if case.name.startswith(f"{name} float32")]
    results = [one for one in checked(Job(target.name, (), Rules(), 1), found[:2]) if isinstance(one, Result)]
    smallest = min(target.capabilities.subgroup_sizes)
    assert all(one.ok and one.figures.lanes == smallest for one in results), results
