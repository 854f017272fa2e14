"""Programs of the SYCL back end: compiled in a process of their own, kept as machine code, refused with reasons."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from sycl_devices import WORKING, needs_sycl

from portagpu import cuda, errors
from portagpu.backends.launches import LaunchSizes
from portagpu.backends.sycl import programs
from portagpu.backends.sycl.options import driver_options, options_for, sycl_options
from portagpu.dispatch.code.options import JitOptions
from portagpu.runtime.execution.context import Context
from portagpu.settings import Settings

pytestmark = needs_sycl
DEVICES = WORKING
SOURCE = """
#include <sycl/ext/oneapi/free_function_queries.hpp>
#include <sycl/ext/oneapi/kernel_properties/properties.hpp>
#define KERNEL extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((sycl::ext::oneapi::experimental::nd_range_kernel<3>))
static long number(int axis) { return sycl::ext::oneapi::this_work_item::get_nd_item<3>().get_global_id(axis); }
KERNEL void axes(long *x, int width) { x[number(1) * width + number(2)] = 1000 * number(1) + number(2); }
KERNEL void scaled(double *x, double by) { x[number(2)] *= by; }
"""


@pytest.fixture
def driver(device):
    return cuda.current_context().driver


@pytest.mark.parametrize("apart", [True, False])
def test_compiled_kept_and_loaded(driver, apart):
    built = driver.compile(SOURCE, (), (), apart=apart)
    again = driver.load(driver.binary_of(built.program), ())
    queue = driver.queue()
    for program in (built.program, again):
        x, y = driver.memory_of(np.zeros(48, np.int64)), driver.memory_of(np.ones(64))
        kernel = driver.kernel(program, "axes", [None, np.dtype("i4")])
        kernel.set_args(x, 8)
        driver.enqueue(queue, kernel, LaunchSizes((8, 6), (4, 2)))
        other = driver.kernel(program, "scaled", [None, np.dtype("f8")])
        other.set_args(y, 2.5)
        other.set_arg(1, 3.5)
        driver.enqueue_with_event(queue, other, LaunchSizes((64,), (16,))).wait()
        found, scaled = np.empty((6, 8), np.int64), np.empty(64)
        driver.download(queue, found.reshape(-1), x, blocking=True)
        driver.download(queue, scaled, y, blocking=True)
        np.testing.assert_array_equal(found, 1000 * np.arange(6)[:, None] + np.arange(8))
        assert (scaled == 3.5).all() and driver.max_threads(kernel) >= 64


@pytest.mark.parametrize("apart", [True, False])
def test_errors_have_the_compilers_words(driver, apart):
    with pytest.raises(errors.BuildError, match="SYCL compiler refused") as caught:
        driver.compile(SOURCE.replace("*= by", "*= nothing"), (), (), apart=apart)
    assert "undeclared identifier 'nothing'" in caught.value.log and ":7:" in caught.value.log


def test_no_binary_is_no_program(driver):
    with pytest.raises(driver.errors):
        driver.load(b"something else", ())


def test_a_compiler_that_dies_is_an_error(driver, monkeypatch):
    def dies(*arguments):
        raise programs.CompilerDied("SIGSEGV")

    monkeypatch.setattr(programs.builders, "build", dies)
    with pytest.raises(errors.BuildError, match="died: SIGSEGV") as caught:
        driver.compile(SOURCE, (), (), apart=True)
    assert caught.value.died == "SIGSEGV"


def test_what_makes_programs_fast_is_left_out_where_compilers_die_of_it(driver, monkeypatch):
    build, given = programs.builders.build, []

    def dies(key, source, options, separator):
        given.append(options[-1])
        if "-cl-opt-disable" not in options[-1]:
            raise programs.CompilerDied("SIGSEGV")
        return build(key, source, options, separator)

    monkeypatch.setattr(programs.builders, "build", dies)
    assert driver.compile(SOURCE, (), (), apart=True).program.binary()
    assert len(given) == 2


def test_without_a_process_it_compiles_here(driver, monkeypatch):
    def none(*arguments):
        raise programs.NoBuilder("none")

    monkeypatch.setattr(programs.builders, "build", none)
    assert driver.compile(SOURCE, (), (), apart=True).program.binary()


def test_the_cache_serves_the_next_context(device, tmp_path, monkeypatch):
    @cuda.jit
    def added(x):
        x[cuda.grid(1)] += 1

    settings = dataclasses.replace(Settings.from_environment(), cache_dir=tmp_path)
    for _ in range(2):
        context = Context(device, None, settings)
        with context:
            x = cuda.to_device(np.zeros(32))
            added[1, 32](x)
            assert (x.copy_to_host() == 1).all()
            monkeypatch.setattr(type(context.driver), "compile", None)  # not needed again
        context.close()
    assert len(list((tmp_path / "programs").iterdir())) == 1


def test_options(device):
    caps = dataclasses.replace(device.capabilities, keeps_negations=True)

    def options(text="", **asked):
        return options_for(JitOptions(**asked), caps, text, ("-O2",))

    assert options() == ("-O2",)
    fast = options(fastmath=frozenset({"fast"}))
    assert "-fno-honor-nans" in fast and "-fassociative-math" in fast
    plain = options(opt=False)
    assert (sycl_options(plain), driver_options(plain)) == (("-O2",), ("-cl-opt-disable",))
