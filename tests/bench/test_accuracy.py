"""The table of errors has every dtype and result, within what rounding explains, beside the library's."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

from portagpu import cuda
from portagpu.bench import accuracy
from portagpu.bench.accuracy import Accuracy, Errors
from portagpu.bench.peers.products import peers_for
from portagpu.blas.gemm.core.accumulation import OUTPUTS
from portagpu.blas.gemm.core.problem import Problem

pytestmark = pytest.mark.one_device(fast=True)

LARGEST = {"float64": 1e-14, "complex128": 1e-14, "float16": 1e-3, "bfloat16": 1e-2}
SHARED = (30,)  # terms of products that all tests have, which are compiled once
WITH_BLAS = ("float32", "float64", "complex64", "complex128")


@pytest.mark.thorough
def test_every_dtype_is_measured(device):
    results = tuple(accuracy.measure(cuda.current_context(), (90, *SHARED), 40, peers_for(device)[0]))
    found = {(r.problem.dtype, r.problem.out_dtype, r.problem.k) for r in results}
    assert found == {(d, out, k) for d, outs in OUTPUTS.items() for out in outs for k in (90, 30)}
    for r in results:
        most = 1e-3 if r.problem.precision == "tf32" else LARGEST.get(r.problem.out_dtype, 1e-5)
        assert r.errors.largest <= most, r
        assert (r.errors.largest == 0) == (r.errors.rms == 0)
        assert r.peer is not None or r.problem.dtype not in WITH_BLAS
    lines = accuracy.table(results, "lib 2").splitlines()
    assert "Library: lib 2." in lines[2 + len(results) :]
    assert {line.count("|") for line in lines[: 2 + len(results)]} == {10}


def test_without_a_library(device):
    results = tuple(accuracy.measure(cuda.current_context(), SHARED, 40))
    assert not any(r.peer for r in results)
    assert "ibrary" not in accuracy.table(results)


def row(precision, k, rms, peer=None):
    problem = Problem(m=8, n=8, k=k, dtype="float32", precision=precision)
    other = None if peer is None else Errors(largest=peer, rms=peer)
    return Accuracy(problem=problem, errors=Errors(largest=rms, rms=rms), peer=other)


def test_modes_are_held_against_sgemm():
    own = [row("", 256, 1e-6), row("", 8192, 4e-6), row("f16x3", 256, 1e-6), row("f16x3", 8192, 12e-6)]
    assert accuracy.modes(own) == ["f16x3: rms error over SGEMM's 1.00 at k = 256, 3.00 at k = 8192; beyond 2 times."]
    with_library = [replace(r, peer=Errors(largest=1e-5, rms=1e-5)) for r in own]
    assert "1.20 at k = 8192; within 2 times" in accuracy.modes(with_library)[0]
    assert accuracy.modes([row("", 256, 1e-6), row("tf32", 256, 1e-3)]) == []


def test_results_that_are_not_finite_have_no_error():
    reference = accuracy._Reference(Problem(m=4, n=4, k=4, dtype="float32"))
    assert reference.errors(np.full((4, 4), np.nan, np.float32)).rms == float("inf")


@pytest.mark.parametrize("words", [["--terms", str(SHARED[0]), "--size", "40"]])
def test_the_command(device, words):
    result = CliRunner().invoke(accuracy.main, [*words, "--device", str(device.index)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert f"{device.name}" in result.output and "| float32 | float32 | default | 30 |" in result.output
