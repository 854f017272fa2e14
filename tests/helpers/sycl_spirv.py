"""SPIR-V of SYCL programs, by the run-time compiler: also of those that no device here can run."""

from __future__ import annotations

import ctypes
import functools
import subprocess
import tempfile
from pathlib import Path

from portagpu.backends.sycl import shim_build
from portagpu.backends.sycl.drivers.installed import find_runtime

_SHIM = Path(shim_build.__file__).with_name("shim")
_SOURCE = """
#include "programs.hpp"

extern "C" long spirv(const sycl::device *device, const char *source, const char *options, char *out, long room) {
  return guarded(-1L, [&] {
    std::string log;
    auto text = ex::create_kernel_bundle_from_source(sycl::context(*device), ex::source_language::sycl,
                                                     std::string(source));
    ex::properties properties{ex::build_options{lines_of(options)}, ex::save_log{&log}};
    for (const auto &image : ex::compile(text, std::vector<sycl::device>{*device}, properties)) {
      auto [begin, end] = Image::content(image);
      std::memcpy(out, begin, std::min<size_t>(room, end - begin));
      return long(end - begin);
    }
    return 0L;
  });
}
"""


@functools.cache
def _library():
    runtime = find_runtime()
    with tempfile.TemporaryDirectory() as folder:
        source, result = Path(folder, "spirv.cpp"), Path(folder, "spirv.so")
        source.write_text(_SOURCE)
        place = [f"-isystem{runtime.headers}", f"-I{_SHIM}", f"-Wl,--disable-new-dtags,-rpath,{runtime.folder}"]
        command = [shim_build.find_compiler(), "-std=c++17", "-w", "-fPIC", "-shared", *place, str(source)]
        subprocess.run([*command, "-o", str(result), str(runtime.library)], check=True)
        library = ctypes.CDLL(str(result))
    library.spirv.restype = ctypes.c_long
    library.pg_error_text.restype = ctypes.c_char_p
    return library


def spirv(device, source, options):
    """What SYCL's compiler makes of a program for a device of the back end's."""
    out = ctypes.create_string_buffer(1 << 20)
    text = "\n".join(options).encode()
    size = _library().spirv(ctypes.c_void_p(device.address), source.encode(), text, out, ctypes.c_long(len(out)))
    assert size > 0, _library().pg_error_text().decode()
    return out.raw[:size]
