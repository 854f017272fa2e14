"""The peers of launches do what ours do, so that their times may be compared."""

from __future__ import annotations

import pytest
from sycl_devices import WORKING, needs_sycl

from portagpu import cuda
from portagpu.backends.registry import named
from portagpu.bench.launching import calls, native_calls
from portagpu.bench.suites.launch import KERNELS
from portagpu.device.registry import devices

pytestmark = needs_sycl
DEVICES = WORKING


@pytest.mark.parametrize("text", ["1 array", "16 arrays, two sets in turns"])
def test_dpctl_launches_the_same_kernel(device, text):
    if native_calls.dpctl_for(device) is None:
        pytest.skip("dpctl is not installed")
    kernel, sets = KERNELS[text]
    call = native_calls.of_dpctl(cuda.current_context(), kernel, sets)
    call.enqueue()
    call.wait()
    assert calls.error(kernel, call.fetch()) == 0


def test_peers_are_those_of_the_back_end(device):
    assert native_calls.bindings_for(device) is None
    opencl = next(record for record in devices(source=named("opencl")) if record.works)
    assert native_calls.dpctl_for(opencl) is None and native_calls.bindings_for(opencl) is None
