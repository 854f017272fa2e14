"""Compiles SYCL programs, in child processes where a compiler may end the process that calls it."""

from __future__ import annotations

import ctypes
import logging
import os
from pathlib import Path

from portagpu.backends.build_process import Builders, CompilerDied, NoBuilder
from portagpu.backends.build_protocol import NO_DEVICE
from portagpu.backends.compilers import UNOPTIMISED
from portagpu.backends.driver import Built
from portagpu.backends.sycl import build_child
from portagpu.backends.sycl.drivers.installed import find_runtime
from portagpu.backends.sycl.handles import Device, SyclContext
from portagpu.backends.sycl.kernels import Program
from portagpu.backends.sycl.library import Library, library
from portagpu.backends.sycl.options import driver_options, sycl_options
from portagpu.backends.sycl.shim_build import shim_library
from portagpu.device.record import DeviceRecord
from portagpu.errors import BuildError
from portagpu.settings import Settings

__all__ = ["NO_DEVICE", "compiled", "loaded"]
_log = logging.getLogger(__name__)


def _command(key: str) -> list[str]:
    runtime = find_runtime()
    assert runtime is not None
    shim = shim_library(runtime, Settings.from_environment())
    return ["-I", "-S", str(Path(build_child.__file__).resolve()), str(shim), str(os.getpid()), key]


builders = Builders(_command)


def compiled(
    place: tuple[SyclContext, Device], device: DeviceRecord, source: str, options: tuple[str, ...], *, apart: bool
) -> Built:
    """Compile a program; see `portagpu.backends.driver.Driver.compile`."""
    if apart:
        found = _compiled_apart(place, device, source, options)
        if found is not None:
            return found
    context, native = place
    lib, said = library(), ctypes.c_void_p()
    own, of_driver = "\n".join(sycl_options(options)), " ".join(driver_options(options))
    made = lib.pg_compile(
        context.address, native.address, source.encode(), own.encode(), of_driver.encode(), ctypes.byref(said)
    )
    log = "" if not said.value else ctypes.string_at(said.value).decode(errors="replace")
    lib.pg_drop_text(said)
    if not made:
        raise _refused(f"{lib.pg_error_text().decode(errors='replace')}\n{log}", source)
    return Built(program=Program(lib, made), said=log.strip() or None)


def loaded(lib: Library, place: tuple[SyclContext, Device], binary: bytes, options: tuple[str, ...]) -> Program:
    """The program of a binary. Raises `SyclError`."""
    context, native = place
    of_driver = " ".join(driver_options(options)).encode()
    return Program(lib, lib.made(lib.pg_load(context.address, native.address, binary, len(binary), of_driver)))


def _compiled_apart(
    place: tuple[SyclContext, Device], device: DeviceRecord, source: str, options: tuple[str, ...]
) -> Built | None:
    """The program as a child process has compiled it; None for what this process is to compile.

    Raises `BuildError` where a compiler refuses the program or dies of it.
    """
    key = "|".join((device.platform, device.name, device.driver_version))
    given = driver_options(options)
    deaths: list[str] = []
    for of_driver in (given, (*given, UNOPTIMISED)):  # compilers die of what they do to make programs fast
        try:
            built = builders.build(key, source, (*sycl_options(options), "", " ".join(of_driver)), "\n")
            break
        except NoBuilder as error:
            _log.info("no process for a compiler that may end it: %s", error)
            return None
        except CompilerDied as error:
            _log.info("the driver's compiler died: %s", error)
            deaths.append(str(error))
    else:
        result = BuildError(f"a compiler of {device.name} ({device.platform}) died: {deaths[0]}")
        result.log, result.died, result.opencl_source = "\n".join(deaths), deaths[0], source
        raise result
    if built.status:
        raise _refused(built.said, source)
    if not built.binary:  # a driver that hands none out
        return None
    return Built(program=loaded(library(), place, built.binary, options), said=built.said.strip() or None)


def _refused(log: str, source: str) -> BuildError:
    result = BuildError("the SYCL compiler refused the program")
    result.log, result.opencl_source = log.strip(), source
    return result
