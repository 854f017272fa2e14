"""OpenCL's objects by their addresses: what tells them apart, and checks of an address that is said to be one's."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Hashable, Iterator
from typing import Any

import pyopencl as cl

from portagpu.backends.process_memory import WORD, words_at
from portagpu.errors import ArgumentTypeError


def key_of(context: cl.Context, device: cl.Device) -> Hashable:
    """The addresses of a native context and its device; see `portagpu.backends.driver.Driver.key`."""
    return context.int_ptr, device.int_ptr


def queue_at(address: Any) -> cl.CommandQueue:
    """The queue at an address of ``cl_command_queue``; drivers are registered. Raises `ArgumentTypeError`."""
    if type(address) is not int or address <= 0:
        raise ArgumentTypeError(
            f"external_stream takes an OpenCL queue or its handle, not {address!r}", hint="pass a pyopencl.CommandQueue"
        )
    if not may_be_object(address):
        raise ArgumentTypeError(
            f"no OpenCL object is at the address {address:#x}",
            hint="pass a pyopencl.CommandQueue, or the address of a living cl_command_queue, such as queue.int_ptr",
        )
    return cl.CommandQueue.from_int_ptr(address)


def may_be_object(address: int) -> bool:
    """Whether an OpenCL object of an installed driver may be at an address of this process.

    Objects begin with a pointer to their driver's table of functions (the loader needs it), the same for all of a
    driver's. An address where nothing can be read, or something else is, is none; memory that was an object's may still
    look like one. Where the system does not let a process read its memory through a file, only alignment is checked.
    """
    if address <= 0 or address % WORD:
        return False
    words = words_at(address)
    return words is None or not set(words).isdisjoint(_tables())


def _tables() -> Iterator[int]:
    """Where the tables of the drivers are, as living objects tell."""
    for platform in cl.get_platforms():
        yield _first_word(platform.int_ptr)
        with contextlib.suppress(cl.Error):  # a platform without devices
            yield from (_first_word(device.int_ptr) for device in platform.get_devices())


def _first_word(address: int) -> int:
    return int(ctypes.c_size_t.from_address(address).value)
