"""Compilers that are libraries of the process wake up in a thread of their own, once."""

import threading

import pytest

from portagpu import cuda
from portagpu.backends.opencl import waking

pytestmark = pytest.mark.opencl


def test_a_compiler_wakes_once(device, monkeypatch):
    monkeypatch.setattr(waking, "_woken", set())
    driver = cuda.current_context().driver
    is_library = device.capabilities.declares_all
    assert driver.wake_compiler() is is_library
    assert driver.wake_compiler() is False
    for thread in threading.enumerate():
        if thread.name == "portagpu-compiler":
            thread.join()


def test_code_that_is_made_anew_wakes_the_compiler(device, monkeypatch):
    calls = []
    driver = cuda.current_context().driver
    monkeypatch.setattr(type(driver), "wake_compiler", lambda self: calls.append(self))

    @cuda.jit
    def kernel(x):
        x[0] = 1.0

    kernel.compile("void(float32[::1])")
    assert calls == [driver]
