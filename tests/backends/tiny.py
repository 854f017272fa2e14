"""A back end of some pages, in Python: memory is arrays of bytes, a kernel its Python function, called for each thread.

It is what `portagpu.backends.backend` asks for and nothing more, so it shows that nothing above knows OpenCL. Its
queues are lazy: nothing runs before somebody flushes, waits or asks, then whatever can run does, in the order of
queues and behind the events that barriers name. So work that nobody waits for is not there, and a barrier too few
shows.
"""

from __future__ import annotations

import ast
import ctypes
import dataclasses
import json
import linecache
import threading
import time
import weakref
from collections import deque

import numpy as np

from portagpu.backends import registry
from portagpu.backends.backend import Backend
from portagpu.backends.driver import Built, Driver, HostRange
from portagpu.backends.languages import KernelLanguage
from portagpu.backends.source import KernelSource
from portagpu.device.capabilities import DeviceType
from portagpu.device.ideal_device import IDEAL
from portagpu.device.record import DeviceRecord
from portagpu.device.sources import Discovery
from portagpu.errors import BuildError, DeviceLostError, DriverError, OutOfMemoryError
from portagpu.expressions.kernels import TYPES
from portagpu.ir.program import ParameterRole

_MEMORY = 2**26  # bytes
_HEAD = "tiny "
_progress = threading.Condition(threading.RLock())
_queues: weakref.WeakSet[Queue] = weakref.WeakSet()


class TinyError(Exception):
    """What this driver raises; ``code`` says what is wrong."""

    def __init__(self, code):
        super().__init__(f"tiny error: {code}")
        self.code = code


# queues -------------------------------------------------------------------------------------------------------------


class Event:
    def __init__(self, queue):
        self.queue, self.profiled = queue, queue.profiling
        self.failed = self.done = False
        self.time = 0
        self.calls = []

    def wait(self):
        with _progress:
            while not self.done:
                if not _run():
                    _progress.wait(0.01)
        failure, self.queue.failure = self.queue.failure, None
        if failure is not None:
            raise TinyError("a command failed") from failure

    def end(self, failed):
        self.done, self.failed, self.time = True, failed, time.perf_counter_ns()
        for call in self.calls:
            threading.Thread(target=call, args=(-1 if failed else 0,), daemon=True).start()


class Queue:
    def __init__(self, context, device, profiling):
        self.context, self.device, self.profiling = context, device, profiling
        self.commands = deque()
        self.failure = None  # of a command
        with _progress:
            _queues.add(self)

    def enqueue(self, action, behind=()):
        if self.context.lost:
            raise TinyError("lost")
        event = Event(self)
        with _progress:
            self.commands.append((list(behind), action, event))
        return event

    def flush(self):
        with _progress:
            _run()

    def finish(self):
        if self.context.lost:
            raise TinyError("lost")
        self.enqueue(lambda: None).wait()

    def hold(self):
        """Let nothing run that is enqueued from now on; gives what opens the queue again."""
        gate = Event(self)
        self.enqueue(lambda: None, [gate])

        def release():
            with _progress:
                gate.end(False)
                _run()
                _progress.notify_all()

        return release


def _run():
    """Run what can run; whether anything did."""
    ran = False
    again = True
    while again:
        again = False
        for queue in list(_queues):
            while queue.commands and all(event.done for event in queue.commands[0][0]):
                _, action, event = queue.commands.popleft()
                try:
                    action()
                    event.end(False)
                except Exception as error:
                    queue.failure = error
                    event.end(True)
                again = ran = True
    if ran:
        _progress.notify_all()
    return ran


# memory and programs ------------------------------------------------------------------------------------------------


class Memory:
    def __init__(self, data, whole=None, offset=0, host=False):
        self.data, self.whole, self.offset, self.host = data, whole, offset, host
        self.size = data.size
        self.released = False

    def release(self):
        self.released = True

    def array(self, shape, dtype, offset, strides=None):
        return np.ndarray(shape, dtype, self.data, offset, strides)


class Pool:
    def __init__(self):
        self.live = weakref.WeakSet()
        self.held_blocks = 0

    @property
    def used_bytes(self):
        return sum(memory.size for memory in self.live if not memory.released)

    def allocate(self, nbytes):
        if self.used_bytes + nbytes > _MEMORY:
            raise TinyError("memory")
        made = Memory(np.full(max(nbytes, 1), 0xCD, np.uint8))
        self.live.add(made)
        return made

    allocate_apart = allocate

    def keep_apart(self, on):
        pass

    def stop_holding(self):
        pass

    def free_held(self):
        pass


class PageLocked(np.ndarray):
    """Memory that copies need not wait for."""


class Unmeasured(np.ndarray):
    """An array of which the kernel gets no extents: its size is only asked for where it has no axes."""

    size = 1


class LocalMemory:
    def __init__(self, nbytes):
        self.nbytes = nbytes


class Place:
    """Three numbers, as those of a thread in its block."""

    def __init__(self):
        self.x = self.y = self.z = 0

    def set(self, numbers):
        self.x, self.y, self.z = (*numbers, 0, 0)[:3]


class Threads:
    """What kernels call `cuda`."""

    def __init__(self):
        self.thread = 0
        self.blockIdx, self.threadIdx, self.blockDim, self.gridDim = (Place() for _ in range(4))

    def grid(self, ndim):
        assert ndim == 1
        return self.thread

    def names(self):
        """What kernels that are made at run time call by themselves, and how they convert."""
        places = {name: getattr(self, name) for name in ("grid", "blockIdx", "threadIdx", "blockDim", "gridDim")}
        return {"cuda": self, "np": np, "as_index": int, **TYPES, **places}


def function_text(file, line, name):
    """The text of a function, also of one that was made at run time, whose file has another name in each process."""
    tree = ast.parse("".join(linecache.getlines(file)))
    found = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == name]
    function = min(found, key=lambda n: abs(n.lineno - line))
    function.decorator_list, function.returns = [], None
    return ast.unparse(function)


class Program:
    """``text``: the function's, and what its C parameters are."""

    def __init__(self, text):
        head, _, rest = text.partition("\n")
        if not head.startswith(_HEAD):
            raise BuildError("this is no program of the tiny back end")
        self.text, self.parameters = text, json.loads(rest)
        function, self.name = json.loads(head.removeprefix(_HEAD))
        self.threads = Threads()
        names = self.threads.names()
        exec(compile(function, "<tiny>", "exec"), names)
        self.function = names[self.name]


class Kernel:
    def __init__(self, program, name, types):
        self.program, self.types = program, types
        self.values = [None] * len(program.parameters)

    def set_args(self, *values):
        assert len(values) == len(self.values)
        for index, value in enumerate(values):
            self.set_arg(index, value)

    def set_arg(self, index, value):
        kind = self.types[index]
        self.values[index] = kind.type(value) if kind is not None else weakref.ref(value)  # it keeps no memory alive

    def arguments(self):
        """The Python function's arguments: arrays over memory, numbers."""
        found = {}
        for (role, path, axis, unit, dtype), value in zip(self.program.parameters, self.values, strict=True):
            facts = found.setdefault(tuple(path), {})
            if role in ("pointer", "scalar"):
                facts[role] = value() if role == "pointer" else value, dtype
            else:
                facts[role, axis] = int(value), unit
        items = {}  # of arguments: themselves, or those that a parameter collects
        for (first, *rest), facts in sorted(found.items()):
            assert len(rest) < 2, "tuples in tuples are beyond this back end"
            items.setdefault(first, []).append(self._argument(facts))
        return [item for _, several in sorted(items.items()) for item in several]

    @staticmethod
    def _argument(facts):
        if "scalar" in facts:
            return facts["scalar"][0]
        memory, dtype = facts["pointer"]
        size = np.dtype(dtype).itemsize

        def of(role):  # strides and offsets are counted in units, or in elements
            values = [facts[role, axis] for axis in range(3) if (role, axis) in facts]
            return [value if role == "shape" else value * (unit or size) for value, unit in values]

        offset, shape, strides = sum(of("offset")), of("shape"), of("stride") or None
        if shape:
            return memory.array(shape, dtype, offset, strides)
        return memory.array(((memory.size - offset) // size,), dtype, offset, strides).view(Unmeasured)


def _enqueue(queue, kernel, sizes):
    program, arguments = kernel.program, kernel.arguments()
    queue.context.launches.append((program.name, sizes.global_size, sizes.local_size))

    def launch():
        with np.errstate(all="ignore"):
            threads, block = program.threads, sizes.local_size
            threads.blockDim.set(block)
            threads.gridDim.set(n // m for n, m in zip(sizes.global_size, block, strict=True))
            for place in np.ndindex(*sizes.global_size):
                threads.thread = place[0]
                threads.blockIdx.set(n // m for n, m in zip(place, block, strict=True))
                threads.threadIdx.set(n % m for n, m in zip(place, block, strict=True))
                program.function(*arguments)

    return queue.enqueue(launch)


# the back end -------------------------------------------------------------------------------------------------------


class Native:
    """The native context: what was launched, and whether the device is lost."""

    def __init__(self):
        self.launches = []
        self.lost = False


class TinyDriver(Driver):
    errors = (TinyError,)

    def __init__(self, device, native):
        self.device, self._native = device, native
        self._key = id(native), device.native

    @property
    def native(self):
        return self._native

    @property
    def key(self):
        return self._key

    def close(self):
        self._native = None

    def allocator(self, queue):
        return Pool()

    def queue(self, *, profiling=False):
        return Queue(self._native, self.device.native, profiling)

    def marker(self, queue):
        return queue.enqueue(lambda: None)

    def barrier(self, queue, ends):
        queue.enqueue(lambda: None, ends)

    def is_done(self, event):
        return event.done

    def succeeded(self, event):
        return event.done and not event.failed

    def end_time(self, event):
        if not event.profiled:
            raise DriverError("an event was recorded on a queue that does not measure time", hint="make it with timing")
        return float(event.time)

    def notify(self, event, function):
        with _progress:
            event.calls.append(function)

    def handle(self, native):
        return id(native)

    def memory(self, nbytes):
        return Memory(np.empty(nbytes, np.uint8))

    def memory_of(self, host):
        return Memory(host.reshape(-1).view(np.uint8).copy())

    def part(self, memory, offset, nbytes):
        return Memory(memory.data[offset : offset + nbytes], memory, offset)

    def copy(self, queue, target, source, *, nbytes, target_offset=0, source_offset=0):
        def copy():
            target.data[target_offset : target_offset + nbytes] = source.data[source_offset : source_offset + nbytes]

        return queue.enqueue(copy)

    def upload(self, queue, target, host, *, offset=0, blocking):
        data = host.view(np.uint8)

        def copy():
            target.data[offset : offset + data.size] = data

        return self._copied(queue, copy, blocking)

    def download(self, queue, host, source, *, offset=0, blocking):
        data = host.view(np.uint8)

        def copy():
            data[...] = source.data[offset : offset + data.size]

        return self._copied(queue, copy, blocking)

    @staticmethod
    def _copied(queue, copy, blocking):
        event = queue.enqueue(copy)
        if blocking:
            event.wait()
        return event

    def fill(self, queue, target, byte, *, offset, nbytes):
        def fill():
            target.data[offset : offset + nbytes] = byte

        queue.enqueue(fill)

    def strided_copy(self, source, target, build):
        facts = [(v.shape, v.dtype, v.offset, v.strides) for v in (target, source)]

        def copy(queue, *memories):
            to, from_ = (memory.array(*own) for memory, own in zip(memories, facts, strict=True))
            queue.enqueue(lambda: to.__setitem__(..., from_))

        return copy

    def wrap_host(self, low, high, *, written):
        data = np.frombuffer((ctypes.c_ubyte * (high - low)).from_address(low), np.uint8)
        return Memory(data, host=True)

    def map_back(self, queue, memory):
        queue.finish()

    def host_view(self, queue, memory):
        queue.finish()
        whole = memory if memory.whole is None else memory.whole
        return memory.data, whole.data.__array_interface__["data"][0]

    def page_locked(self, queue, nbytes):
        return PageLocked(max(nbytes, 1), np.uint8)

    def is_page_locked(self, owner):
        return isinstance(owner, PageLocked)

    def keep_with(self, memory, owner):
        memory.owner = owner

    def host_range(self, memory):
        return HostRange(memory.data.__array_interface__["data"][0]) if memory.host else None

    def is_memory(self, value):
        return isinstance(value, Memory)

    def whole_of(self, memory):
        return memory if memory.whole is None else memory.whole

    def offset_of(self, memory):
        return memory.offset

    def compile(self, source, options, remarks, *, apart):
        return Built(program=Program(source), said=None)

    def load(self, binary, options):
        return Program(binary.decode())

    def binary_of(self, program):
        return program.text.encode()

    def kernel(self, program, name, types):
        return Kernel(program, name, types)

    def local_memory(self, nbytes):
        return LocalMemory(nbytes)

    @property
    def enqueue(self):
        return _enqueue

    @property
    def enqueue_with_event(self):
        return _enqueue

    def max_threads(self, kernel):
        return self.device.capabilities.max_work_group_size

    def private_bytes(self, kernel):
        return 0


def translated(error, *, name, memory, is_alive):
    if error.code == "memory":
        return OutOfMemoryError(f"{name} of {memory} bytes has no memory left")
    return DriverError(f"{name}: {error}") if is_alive() else DeviceLostError(f"{name} is lost")


def render(program, capabilities, *, static_dynamic_shared=0, subgroup_size=None):
    kernel = program.kernel
    rows = [
        [p.role.value, p.path, p.axis, p.unit, _dtype(p)]
        for p in kernel.parameters
        if p.role is not ParameterRole.DYNAMIC_SHARED
    ]
    function = function_text(kernel.span.filename, kernel.span.line, kernel.name)
    source = f"{_HEAD}{json.dumps([function, kernel.name])}\n{json.dumps(rows)}"
    parameters = tuple(p for p in kernel.parameters if p.role is not ParameterRole.DYNAMIC_SHARED)
    return KernelSource(
        source=source,
        name=kernel.name,
        parameters=parameters,
        lines=(kernel.span, None),
        static_shared=0,
        block_dim=program.block_dim,
        python_name=kernel.name,
    )


def options(asked, capabilities, source):
    return ("fast",) if "fast" in asked.fastmath else ()


class Tiny(Backend):
    """Two devices: one with memory of its own, and a CPU, whose memory is the host's."""

    name = "tiny"
    title = "Tiny"
    to_install = "it is in tests/"
    language = KernelLanguage(title="Python", inspection="inspect_opencl", generate=render)
    build_options = staticmethod(options)
    errors = TinyDriver.errors
    translated = staticmethod(translated)
    passes = ()  # Python functions wait for nobody
    queue_types = (Queue,)
    memory_types = (Memory,)

    def __init__(self):
        apart = dataclasses.replace(
            IDEAL, device_type=DeviceType.ACCELERATOR, cooperative_launch=False, global_memory=_MEMORY
        )
        shared = dataclasses.replace(apart, device_type=DeviceType.CPU, host_unified_memory=True)
        self._records = tuple(
            DeviceRecord(
                index=index,
                name=f"Tiny {index}",
                vendor="Maker",
                platform="Tiny",
                driver_version="1",
                device_type=caps.device_type,
                native=f"tiny device {index}",
                capabilities=caps,
                problem=None,
                remedy=None,
                backend=self.name,
            )
            for index, caps in enumerate((apart, shared))
        )

    def discover(self, settings, *, fresh=False, renumber=False):
        return Discovery(records=self._records)

    def describe(self, native, settings):
        return next(record for record in self._records if record.native == native)

    def unused_drivers(self, settings):
        return ()

    def open(self, device, native=None):
        return TinyDriver(device, Native() if native is None else native)

    def natives(self, value):
        return (value.context, value.device) if isinstance(value, Queue) else (value, self._records[0].native)

    def key_of(self, native, device):
        return id(native), device


def _dtype(parameter):
    kind = getattr(parameter.type, "element", parameter.type)
    return kind.dtype.numpy.str


backend = Tiny()
registry.register(backend)
records = backend.discover(None).records
