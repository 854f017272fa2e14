"""Queues of the SYCL back end that stand still, behind an event of OpenCL's that the host sets; contexts of its own."""

from __future__ import annotations

import ctypes
import functools
import subprocess
import tempfile
from pathlib import Path

from portagpu.backends.sycl import shim_build
from portagpu.backends.sycl.drivers.installed import find_runtime
from portagpu.backends.sycl.handles import Queue, SyclContext
from portagpu.backends.sycl.identity import listed
from portagpu.backends.sycl.library import library

_SOURCE = """
#include <dlfcn.h>
#include <sycl/detail/core.hpp>
#include <sycl/backend.hpp>

template <class Function> Function *opencl(const char *name) {
  return reinterpret_cast<Function *>(dlsym(dlopen("libOpenCL.so.1", RTLD_LAZY | RTLD_NOLOAD), name));
}
extern "C" cl_event close_gate(sycl::queue *queue) {
  auto context = sycl::get_native<sycl::backend::opencl>(queue->get_context());
  cl_int status = 0;
  auto event = opencl<decltype(clCreateUserEvent)>("clCreateUserEvent")(context, &status);
  opencl<decltype(clRetainEvent)>("clRetainEvent")(event);
  std::vector<cl_event> native{event};
  queue->ext_oneapi_submit_barrier({sycl::make_event<sycl::backend::opencl>(native, queue->get_context())});
  return event;
}
extern "C" sycl::context *new_context(const sycl::device *device) { return new sycl::context(*device); }
extern "C" void open_gate(cl_event event) {
  opencl<decltype(clSetUserEventStatus)>("clSetUserEventStatus")(event, CL_COMPLETE);
  opencl<decltype(clReleaseEvent)>("clReleaseEvent")(event);
}
"""


@functools.cache
def _library():
    runtime = find_runtime()
    with tempfile.TemporaryDirectory() as folder:
        source, result = Path(folder, "gates.cpp"), Path(folder, "gates.so")
        source.write_text(_SOURCE)
        place = [f"-isystem{runtime.headers}", f"-Wl,--disable-new-dtags,-rpath,{runtime.folder}"]
        command = [shim_build.find_compiler(), "-std=c++17", "-w", "-fPIC", "-shared", *place, str(source)]
        subprocess.run([*command, "-o", str(result), str(runtime.library)], check=True)
        library = ctypes.CDLL(str(result))
    library.close_gate.restype = library.new_context.restype = ctypes.c_void_p
    library.close_gate.argtypes = library.open_gate.argtypes = library.new_context.argtypes = [ctypes.c_void_p]
    return library


def hold(queue):
    """Let nothing run that is enqueued from now on; gives what opens the queue again."""
    gates = _library()
    event = gates.close_gate(queue.address)
    return lambda: gates.open_gate(event)


def _native(device):
    return next(one.device for one in listed(library()) if one.name == device.native)


def new_queue(context, device):
    """A queue of a context's."""
    loaded, native = library(), _native(device)
    return Queue(loaded, loaded.made(loaded.pg_queue(context.address, native.address, 0)), context)


def new_context(device):
    """A context of the back end's for a device, which no other library has."""
    loaded, native = library(), _native(device)
    return SyclContext(loaded, loaded.made(loaded.pg_copy_context(_library().new_context(native.address))))
