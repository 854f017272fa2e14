"""Random programs over device arrays, and random calls of BLAS and solvers, beside NumPy and SciPy."""

from __future__ import annotations

from contextlib import suppress
from random import Random

import numpy as np
import pytest
import scipy.linalg
from fuzz_blas_reference import whole
from fuzz_blas_run import framed, run, scope
from fuzz_blas_systems import SYSTEMS
from fuzz_lines import Program
from fuzz_minimise import minimised
from fuzz_subject import Difference, Invalid, Subject
from hypothesis import settings


@pytest.mark.parametrize(("name", "number"), [("arrays", 1), ("blas", 2)])
def test_random_programs(device, name, number):
    subject = Subject(name)
    for n in range(settings.default.max_examples // 2):
        with suppress(Invalid):
            subject.check(subject.drawn(Random(f"{number}/{n}"))[0])


def test_a_difference_of_an_array_is_reported(device, monkeypatch):
    source = "v1 = cuda.to_device(data('i4', (4, 5), 1))\nv2 = v1 + 1\nv2[0] = 3\nr3: 'within 0.5' = v2 * 1\n"
    subject = Subject("arrays")
    subject.check(Program(source, "arrays"))
    monkeypatch.setattr("fuzz_array_run.HostCuda.to_device", lambda x: x + 2)
    with pytest.raises(Difference, match=r"v1: .* elements differ"):
        subject.check(Program(source, "arrays"))
    with pytest.raises(Difference, match=r"statement 2.*raises OutOfBoundsError"):
        subject.check(
            Program("v1 = cuda.to_device(data('i4', (4,), 1))\nv1[9 if hasattr(cuda, 'jit') else 0]", "arrays")
        )


def test_a_difference_of_a_product_is_reported(device, monkeypatch):
    source = """
a_ = cuda.to_device(framed('f4', (9, 8), np.s_[1:8:2, 2:7], 3))
a = a_[1:8:2, 2:7]
c_ = cuda.to_device(framed('f4', (6, 6), np.s_[1:5, 1:5], 4))
c = c_[1:5, 1:5]
r: 'writes c' = blas.sgemm(2.0, a, a, beta=1.0, c=c, trans_b=1, overwrite_c=1)
"""
    subject = Subject("blas")
    subject.check(Program(source, "blas"))
    with pytest.raises(Difference, match="c is changed"):
        subject.check(Program(source.replace("writes c", "writes"), "blas"))
    monkeypatch.setattr("fuzz_blas_run.scipy.linalg.blas.sgemm", lambda *a, **k: np.zeros((4, 4), np.float32))
    with pytest.raises(Difference, match="elements differ"):
        subject.check(Program(source, "blas"))


def test_statements_are_deleted_and_expressions_stay():
    program = Program("v1 = data('i4', (4,), 1)\nv2 = v1 + 1\nr3: 'within 1' = np.sin(v1 * 3) + 1\n", "arrays")
    small = minimised(program, lambda p: "sin" in p.source, lambda p: (), 20)
    assert small.statements == ("r3: 'within 1' = np.sin(v1 * 3) + 1",)


def test_matrices_are_dominant_in_the_view_of_the_call():
    for form in ("dominant turned", "positive lower"):
        memory = framed("f8", (9, 9, 4), np.s_[1:9, 0:8, 1:], 5, form, transposed=True)
        batch = memory[1:9, 0:8, 1:].T
        full = whole(batch, 1, hermitian=True) if "lower" in form else batch
        assert full.shape == (3, 8, 8) and np.linalg.cond(full).max() < 10


@pytest.mark.parametrize("lower", [0, 1])
def test_elements_of_packed_updates_are_compared(lower):
    lines = ["x_ = framed('c16', (9,), np.s_[2:7], 3)", "x = x_[...]", "ap = framed('c16', (15,), np.s_[...], 4)"]
    call = f"r = blas.zspr(5, 2.0, x, ap, incx=-1, offx=2, lower={lower})"
    (result,) = run(Program("\n".join([*lines, call]), "blas"), scope(False))
    assert not np.isnan(result).any()


def test_wrong_solutions_have_large_residuals():
    a, b = framed("f4", (5, 5), np.s_[...], 1, "dominant turned"), framed("f4", (5, 2), np.s_[...], 2)
    system = SYSTEMS["linalg"].solve(a, b)
    x = scipy.linalg.solve(a, b)
    assert not system.residual_differs(x)
    for wrong in (x[3, 1] + 1e-3, np.nan):
        x[3, 1] = wrong
        assert system.residual_differs(x).startswith("the residual of column (1,)")
    triangle = framed("f8", (4, 4), np.s_[...], 3, "dominant upper unit")
    vector = framed("f8", (9,), np.s_[1:9:2], 4)
    words = {"incx": -2, "offx": 1, "trans": 1, "diag": 1}
    x = scipy.linalg.blas.dtrsv(triangle, vector, **words)
    system = SYSTEMS["blas"].dtrsv(triangle, vector, **words)
    assert not system.residual_differs(x)
    x[1] += 1e-9
    assert system.residual_differs(x)
