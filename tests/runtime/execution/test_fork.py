"""A forked child cannot use its parent's devices; it is told so, and nothing in it hangs."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")

_PARENT = """
import gc, os, signal, sys, threading, weakref
import numpy as np
from portagpu import cuda, errors
from portagpu.device import working_devices
from portagpu.runtime.execution import context as context_module

@cuda.jit
def increment(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 1

def used_in_child():
    with cuda.gpus[int(sys.argv[1])]:
        host = np.zeros(4, np.float32)
        increment[1, 4](host)
        assert (host == 1).all()

def refused(call):
    try:
        call()
    except errors.DeviceLostError as error:
        assert "spawn" in error.hint, error
        assert "CUDA initialized before forking" in str(error)
    else:
        raise AssertionError("no error")

def fork(child):
    pid = os.fork()
    if pid == 0:
        signal.alarm(30)  # ends a child that hangs
        try:
            child()
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)  # as multiprocessing ends its children: exit() would clean up what belongs to the parent
    status = os.waitpid(pid, 0)[1]
    assert status == 0, status

"""
_USED = """
cuda.select_device(int(sys.argv[1]))
array, spare = cuda.to_device(np.zeros(4, np.float32)), cuda.to_device(np.zeros(4, np.float32))
stream, event = cuda.stream(), cuda.event()
increment[1, 4, stream](array)
host = array.copy_to_host(stream=stream)
event.record(stream)
cuda.synchronize()

def child():
    global array, stream, event, spare
    for call in (
        lambda: increment[1, 4](np.zeros(4, np.float32)),
        lambda: increment[1, 4](array),
        lambda: increment[1, 4, stream](array),
        lambda: increment[1, 4, stream](np.zeros(4, np.int8)),
        array.copy_to_host,
        lambda: cuda.to_device(np.zeros(4)),
        lambda: array[1:],
        stream.synchronize,
        event.synchronize,
        cuda.synchronize,
        cuda.stream,
        cuda.current_context,
        lambda: cuda.select_device(int(sys.argv[1])),
    ):
        refused(call)
    array.close()
    kept = weakref.ref(spare)
    del array, stream, event, spare
    assert kept() is not None and gc.get_freeze_count()  # nobody ends what is the parent's

held, done = threading.Event(), threading.Event()
gc.freeze()  # before forks, as Python's manual advises

def hold_locks():  # as a thread that compiles or enqueues at the moment of the fork
    context = array.context
    with context_module._lock, context.order_lock, increment._lock:
        held.set()
        done.wait()

thread = threading.Thread(target=hold_locks)
thread.start()
held.wait()
try:
    fork(child)
finally:
    done.set()
    thread.join()
increment[1, 4](array)
assert (array.copy_to_host() == 2).all()
"""


_PRODUCTS = """
import portagpu
cuda.select_device(int(sys.argv[1]))
a = np.ones((96, 96), np.float32)
stream = cuda.stream()
for _ in range(5):  # on CPUs, buffers over the arrays are kept
    c = portagpu.matmul(a, a), portagpu.matmul(a, a, stream=stream)

def child():
    global c, a
    for where in (None, stream):
        refused(lambda: portagpu.matmul(a, a, stream=where))
    del c  # its memory goes back to the pool
    from portagpu.blas.gemm.replay.host_products import _recordings
    _recordings._mine.contexts.clear()

fork(child)
assert (portagpu.matmul(a, a) == 96).all()
"""

_THREADS = """
import weakref
import portagpu
from portagpu.runtime.execution.weak_registry import of_threads
cuda.select_device(int(sys.argv[1]))
array = cuda.to_device(np.zeros(4, np.float32))
context, ready, done = array.context, threading.Event(), threading.Event()

def work():  # what a thread keeps for itself: kernel objects, a stream, recordings of products
    with context:
        increment[1, 4](array)
        increment[1, 4, context.get_per_thread_default_stream()](array)
        a = np.ones((96, 96), np.float32)
        for _ in range(5):
            portagpu.matmul(a, a)
        ready.set()
        done.wait()

thread = threading.Thread(target=work)
thread.start()
ready.wait()
kept = [weakref.ref(value) for value in of_threads]
assert len({type(r()).__name__ for r in kept}) >= 3, kept

def child():
    assert all(r() is not None for r in kept)

fork(child)
done.set()
thread.join()
gone = [r for r in kept if r() is None]
assert gone  # here they go
assert (array.copy_to_host() == 2).all()
"""


@pytest.mark.in_turn(2)
@pytest.mark.parametrize(
    "text",
    [
        _USED,
        _THREADS,
        _PRODUCTS,
        "working_devices()\nfork(lambda: refused(used_in_child))",
        "fork(used_in_child)\nused_in_child()",
    ],
    ids=["used", "threads", "products", "listed", "unused"],
)
def test_fork(device, text, tmp_path):
    script = tmp_path / "parent.py"
    script.write_text(_PARENT + text)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(script), str(device.index)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(path or "." for path in sys.path)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
