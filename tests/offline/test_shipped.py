"""Shipped kernels are found by dry runs: what routines launch on a device that runs nothing."""

from __future__ import annotations

import inspect
import itertools
import json

import numpy as np
import pytest
from compilers import compiler_of

from portagpu import blas, cuda, lapack
from portagpu.backends.opencl.offline.targets import TARGETS
from portagpu.checking.examination import Rules
from portagpu.checking.records import Note, Result, Status, report_data
from portagpu.checking.schema import SCHEMA
from portagpu.checking.shipped import collections, products, programs, routines
from portagpu.checking.shipped.job import Job, checked
from portagpu.checking.shipped.launches import Case, CaseEnded, Launched, launched
from portagpu.errors import LaunchConfigError

pytestmark = pytest.mark.one_device(fast=True)


@cuda.jit
def twice(x, n: cuda.constexpr):
    x[cuda.grid(1)] *= n


def launch_twice():
    x = cuda.to_device(np.ones(512, np.float32))
    twice[2, 256](x, 2)
    twice[4, 128](x, 2)
    assert not x.copy_to_host().any()  # nothing runs
    twice[8, 64](x, 3)


def test_programs_are_noted_with_their_blocks_and_without_a_device():
    found = list(launched(TARGETS["gfx942"], [Case("g", "c", launch_twice)]))
    assert [(one.kernel.__name__, one.block) for one in found] == [
        *(("twice", (256,)), ("twice", (128,)), ("twice", (64,)))
    ]
    assert all(isinstance(one, Launched) and (one.group, one.case) == ("g", "c") for one in found)


def test_each_program_is_noted_once_and_cases_that_end_are_told():
    def fail():
        raise ValueError("no result")

    cases = [Case("g", "first", launch_twice), Case("g", "second", launch_twice), Case("g", "third", fail)]
    *found, last = launched(TARGETS["gfx942"], cases)
    assert {one.case for one in found} == {"first"}
    assert isinstance(last, CaseEnded) and str(last.error) == "no result"


def test_a_block_larger_than_usual_is_compiled_for_its_size():
    """AMD's compilers give registers for 256 threads unless a kernel names its block, and then for up to 1024."""

    def launch_many():
        x = cuda.to_device(np.ones(2048, np.float32))
        twice[2, 1024](x, 2)
        with pytest.raises(LaunchConfigError, match="runs at most 1024"):
            twice[1, 2048](x, 2)

    found = list(launched(TARGETS["gfx942"], [Case("g", "c", launch_many)]))
    assert all(isinstance(one, Launched) for one in found), found
    large = next(one for one in found if one.block == (1024,))
    assert "reqd_work_group_size(1024, 1, 1)" in large.overload.kernel_source.source


def test_what_comes_of_them(monkeypatch):
    target = compiler_of(TARGETS["gfx1100"])

    def too_large():
        raise LaunchConfigError("a block of 512 threads")

    def fail():
        raise ValueError("no result")

    cases = [Case("g", "c", launch_twice), Case("g", "large", too_large), Case("g", "early", fail)]
    found = list(checked(Job(target.name, (), Rules(), 1), cases))
    notes = [one for one in found if isinstance(one, Note)]
    line = fail.__code__.co_firstlineno + 1
    assert [note.message for note in notes] == [
        f"ended early in the dry run: ValueError: no result (test_shipped.py:{line})"
    ]
    results = [one for one in found if isinstance(one, Result)]
    assert sorted(r.status.value for r in results) == ["compiled"] * 3 + ["unsupported"]
    large = next(r for r in results if r.status is Status.UNSUPPORTED)
    assert large.problems[0].span.filename == __file__ and "raise LaunchConfigError" in large.problems[0].span.text
    first = next(r for r in results if r.status is Status.COMPILED)
    assert first.ok and first.subject.constants == {"n": "2"} and first.subject.span.text.startswith("def twice")
    assert first.figures.occupancy == 16
    data = json.loads(json.dumps(report_data(results, [target], [], notes)))
    pytest.importorskip("fastjsonschema").compile(SCHEMA)(data)


def kernels_of(cases, *names):
    """Python names of what some cases launch."""
    chosen = [case for case in cases if case.name in names]
    assert len(chosen) == len(names), names
    found = list(launched(TARGETS["sm_90"], chosen))
    assert not [one for one in found if isinstance(one, CaseEnded)], found
    return {one.kernel.__name__ for one in found}


def test_cases_of_every_group_launch_kernels():
    caps = TARGETS["sm_90"].capabilities
    assert kernels_of(programs.textbook(caps), "textbook saxpy") == {"saxpy"}
    assert kernels_of(routines.cases(caps), "blas.sscal 300")
    assert kernels_of(products.cases(caps), "matmul float32 128 x 128 x 128")


def test_every_parameter_has_a_value():
    for library in (blas, lapack):
        for name in library.ROUTINES:
            parameters = inspect.signature(getattr(library, name)).parameters.values()
            assert {p.name for p in parameters if p.default is p.empty} <= routines.PARAMETERS, name


def test_every_routine_has_a_case():
    names = {case.name for case in routines.cases(TARGETS["sm_90"].capabilities)}
    assert {f"blas.{name} 300" for name in blas.ROUTINES} <= names
    assert not any(" float64 " in case.name for case in products.cases(TARGETS["dg2"].capabilities))


@pytest.mark.skipif(not programs.FOLDER.is_dir(), reason="no checkout")
def test_examples_run_without_their_checks():
    case = next(case for case in programs.examples(TARGETS["sm_90"].capabilities) if "histogram" in case.name)
    found = {one.kernel.__name__ for one in launched(TARGETS["sm_90"], [case])}
    assert found == {"histogram", "histogram_global"}  # the second is launched after the first one's check


def test_groups_and_targets():
    assert collections.groups_of("all") == tuple(collections.GROUPS) and collections.groups_of("gemm") == ("gemm",)
    assert {target.name for target in collections.usual_targets()} >= {"gfx942", "gfx1100", "dg2", "pvc", "sm_90"}
    first = list(itertools.islice(collections.cases_of(("textbook",), TARGETS["gfx942"]), 2))
    assert [case.group for case in first] == ["textbook", "textbook"]
