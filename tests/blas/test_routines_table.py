"""The tables of docs/blas.md say what the code does: every routine is in them, with the tunables that it uses."""

from __future__ import annotations

import functools
import inspect

import numpy as np
import pytest

from portagpu import blas, cuda, lapack, linalg
from portagpu.blas.gemm.selection.registry import REGISTRY as GEMM
from portagpu.blas.level1.selection import MAP_REGISTRY, SUM_REGISTRY
from portagpu.blas.level2.bands.selection import REGISTRY as BANDS
from portagpu.blas.level2.products.selection import REGISTRY as PRODUCTS
from tools.routines_table import COMPLEX_TUNABLES, HALVES, TUNABLES, families, shipped, stem, tunable

N = 73  # several blocks of the kernels for triangles, and no other test's size: calls that are replayed choose nothing
REGISTRIES = {
    "gemm": GEMM,
    "vector_map": MAP_REGISTRY,
    "vector_sum": SUM_REGISTRY,
    "matrix_vector": PRODUCTS,
    "banded_vector": BANDS,
}


def test_every_routine_is_in_the_tables():
    for library in (blas, lapack):
        found = families(library)
        assert sorted(one.__name__ for functions in found.values() for one in functions) == sorted(library.ROUTINES)
        for name, functions in found.items():
            assert {stem(one.__name__) for one in functions} == {name}
            assert "float32" in {one.dtype.name for one in functions} or {one.typecode for one in functions} == {*"cz"}
    assert {*TUNABLES, *COMPLEX_TUNABLES} <= set(families(blas)) and set(TUNABLES.values()) <= set(REGISTRIES)
    assert set(HALVES) <= set(families(blas)) and set(HALVES.values()) <= set(linalg.__all__)
    assert [stem(name) for name in ("izamax", "scnrm2", "csscal", "cscal", "scopy", "srot", "csrot")] == [
        *("amax", "nrm2", "scal", "scal", "copy", "rot", "rot")
    ]
    assert shipped().count("\n") > 3


def arguments(function):
    """What a function needs, of N rows and columns, on the device."""
    generator, name, dtype = np.random.default_rng(0), stem(function.__name__), function.dtype

    def numbers(*shape):
        return np.asfortranarray(generator.standard_normal(shape).astype(dtype))

    square = np.asfortranarray(np.eye(N, dtype=dtype) * 4 + numbers(N, N) / N)
    band = {"gbmv": 7, "sbmv": 4, "hbmv": 4, "tbmv": 4, "tbsv": 4}.get(name)
    sizes = {"n": N, "m": N, "k": 3, "kl": 2, "ku": 2}
    scalars = {"alpha": 2.0, "beta": 0.5, "s": 0.5, "d1": 1.0, "d2": 2.0, "x1": 1.0, "y1": 2.0}
    special = {"scal": {"a": 2.0}, "rot": {"c": 0.5}, "rotg": {"a": 1.0, "b": 2.0}}
    known = {
        **sizes,
        **scalars,
        **{letter: numbers(N) for letter in "xy"},
        **{letter: square if band is None else numbers(band, N) + 4 for letter in "abc"},
        "ap": numbers(N * (N + 1) // 2) + 9,
        **special.get(name, {}),
    }
    moved = {key: cuda.to_device(x) if isinstance(x, np.ndarray) else x for key, x in known.items()}
    moved["param"] = np.array([-1, 1, 2, 3, 4], dtype)
    return [moved[p.name] for p in inspect.signature(function).parameters.values() if p.default is p.empty]


@pytest.mark.thorough
@pytest.mark.one_device(fast=True)
def test_routines_use_the_tunables_that_are_said(device, monkeypatch):
    used = set()

    def told(name, run):
        @functools.wraps(run)
        def call(*given, **options):
            used.add(name)
            return run(*given, **options)

        return call

    for name, registry in REGISTRIES.items():
        for variant in {type(variant) for variant in registry.variants}:
            for method in [method for method in dir(variant) if method.startswith("run")]:  # run_triangle ..., too
                monkeypatch.setattr(variant, method, told(name, getattr(variant, method)))
    for functions in families(blas).values():
        for function in functions:
            if function.typecode in "sc":
                used.clear()
                function(*arguments(function))
                assert used == ({tunable(function)} - {""}), function.__name__


@pytest.mark.thorough
@pytest.mark.one_device(fast=True)
def test_halves(device):
    half = cuda.to_device(np.ones((4, 4), np.float16))
    calls = {"axpy": (2, half, half), "scal": (2, half), "norm": (half,)}
    for name in HALVES.values():
        found = getattr(linalg, name)(*calls.get(name, (half, half)))
        assert found.dtype == np.float16 and np.isfinite(found.copy_to_host()).all()
