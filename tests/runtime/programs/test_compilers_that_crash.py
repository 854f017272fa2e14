"""Compilers that end their process: it is another one's, and the user gets an error."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

from portagpu import cuda, errors
from portagpu.backends import build_protocol
from portagpu.backends.opencl import build_child, builder, programs
from portagpu.runtime.programs import build

pytestmark = pytest.mark.opencl

SOURCE = "__kernel void probe(__global int* x) {{ x[get_global_id(0)] = {value}; }}"
REFUSED = "__kernel void probe() { nothing }"


@pytest.fixture
def context(device, tmp_path, monkeypatch):
    """A context that builds apart, whatever the driver is."""
    found = cuda.current_context()
    settings = dataclasses.replace(
        found.settings, cache_dir=tmp_path, disk_cache=True, binaries=True, builds_apart=True
    )
    monkeypatch.setattr(found, "settings", settings)
    monkeypatch.setattr(found, "programs", {})
    crashing = dataclasses.replace(found.capabilities, crashing_compiler=True)
    monkeypatch.setattr(found, "capabilities", crashing)
    builder.close_builders()  # those of other tests
    yield found
    builder.close_builders()


@cuda.jit
def nested(x, o):
    i = cuda.grid(1)
    c = 0
    for a in range(2, 12):
        for b in range(2, a):
            if a % b == 0:
                if b == 3:
                    continue
                break
        else:
            c += a
            if c > x[i]:
                break
    else:
        c = -c
    o[i] = c


def test_loops_that_killed_a_compiler(device):
    """Loops that are left in several places, with an else."""
    out = np.zeros(64, np.int64)
    nested[1, 64](np.arange(64, dtype=np.int32), out)
    sums = np.cumsum([2, 3, 5, 7, 9, 11])
    assert out[:17].tolist() == [next(int(s) for s in sums if s > i) for i in range(17)]
    assert out[40:].tolist() == [-37] * 24


def test_a_child_hands_its_binary_back(context):
    """What it made is run, and kept for later processes."""
    built = build.build(context, SOURCE.format(value=21), ())
    assert [b.serves for b in builder.builders.waiting] == [True]
    assert len(list((context.settings.cache_dir / "programs").glob("*.bin"))) == 1
    child = builder.builders.waiting[0]
    build.build(context, SOURCE.format(value=22), ())
    assert builder.builders.waiting == [child]
    assert built.num_devices == 1


def test_refusals_are_told_as_ever(context):
    with pytest.raises(errors.BuildError, match="refused") as caught:
        build.build(context, REFUSED, ())
    assert "nothing" in caught.value.log and not caught.value.died


def test_a_death_is_an_error(context, monkeypatch):
    """With what the compiler said last; the next program gets a new child."""
    original = builder.Builder.build

    def deadly(self, source, options, seconds):
        os.kill(self._child.pid, signal.SIGSEGV)
        return original(self, source, options, seconds)

    monkeypatch.setattr(builder.Builder, "build", deadly)
    with pytest.raises(errors.BuildError, match=r"died: SIGSEGV") as caught:
        build.build(context, SOURCE.format(value=23), ())
    assert caught.value.died == "SIGSEGV"
    monkeypatch.undo()
    assert builder.build_apart(context.device.key, SOURCE.format(value=24), ()).binary


@pytest.mark.parametrize("deaths", [1, 2])
def test_a_death_of_an_optimiser_is_survived(context, monkeypatch, deaths):
    """The program is built again as one that is vectorised by hand, and then without optimisations."""
    tried = []

    def fragile(key, source, options):
        tried.append("vec_type_hint" in source or "-cl-opt-disable" in options)
        if len(tried) <= deaths:
            raise builder.CompilerDied("SIGSEGV")
        return original(key, source, options)

    original = builder.build_apart
    monkeypatch.setattr(programs, "build_apart", fragile)
    build.build(context, SOURCE.format(value=25 + deaths), ())
    assert tried == [False, True, True][: deaths + 1]


@cuda.jit
def turning(out):
    i = cuda.grid(1)
    for _ in range(cuda.blockDim.x):
        cuda.syncthreads()
        out[i] = i * 1.5j


def test_products_behind_barriers_that_killed_a_compiler(device):
    out = np.zeros(16, np.complex64)
    turning[2, 8](out)
    assert out.tolist() == (np.arange(16) * 1.5j).tolist()


def test_a_child_that_has_ended_is_replaced(context):
    """As after a minute without work, also where it ends just when it is asked."""
    key = context.device.key
    assert builder.build_apart(key, SOURCE.format(value=36), ()).status == 0
    resting = builder.builders.waiting[0]
    resting._child.stdin.close()
    assert resting._child.wait(20) == 0
    assert builder.build_apart(key, SOURCE.format(value=27), ()).status == 0
    assert builder.builders.waiting[0] is not resting


def test_unknown_devices_have_no_builder(device):
    with pytest.raises(builder.NoBuilder):
        builder.build_apart("no such device", SOURCE.format(value=28), ())


def test_the_child_ends_with_its_parent(context):
    """A parent that is killed closes no pipe in order."""
    text = (
        "import os, sys\nfrom portagpu.backends.opencl.builder import builders\n"
        "from portagpu.device import working_devices\nworking_devices()\n"
        f"b = builders._taken({context.device.key!r})\nprint(b._child.pid, flush=True)\nos.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60)
    pid = int(done.stdout)
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        if "Z" in subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True).stdout:
            return
        signal.sigtimedwait([], 0.1)
    os.kill(pid, signal.SIGKILL)
    pytest.fail("the child lives on")


def test_device_keys_are_those_of_the_package(device):
    """The child says them for itself, since it imports nothing of the package."""
    found = build_child.OpenCL(builder.library()).device(device.key)
    assert found is not None


def test_requests_longer_than_a_pipe_holds_are_whole():
    """A pipe gives what it holds: its reader gets the rest of a long source later."""
    options, source = b"-cl-std=CL1.2\0", b"x" * 300_000
    incoming, outgoing = os.pipe()

    def write_in_parts():
        text = build_protocol.REQUEST.pack(len(options), len(source)) + options + source
        with os.fdopen(outgoing, "wb", buffering=0) as pipe:
            for start in range(0, len(text), 50_021):
                pipe.write(text[start : start + 50_021])

    writer = threading.Thread(target=write_in_parts)
    writer.start()
    with os.fdopen(incoming, "rb", buffering=0) as pipe:
        found = list(build_protocol.requests(pipe))
    writer.join()
    assert found == [(options, source)]


def test_a_long_source_is_compiled_whole(context):
    """Its kernel is the last thing in it."""
    padding = "".join(f"// line {n} of many that say nothing\n" for n in range(6000))
    built = build.build(context, padding + SOURCE.format(value=23), ())
    assert built.kernel_names == "probe"
