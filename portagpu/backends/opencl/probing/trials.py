"""The trials that fill `ProbeResults`: each builds a small kernel, runs it, and compares every number."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pyopencl as cl

from portagpu.backends.journal import Journal
from portagpu.backends.opencl.probing import assemble, local_memory, printf_trial, rate, subgroup_trials
from portagpu.backends.opencl.probing.results import ProbeResults
from portagpu.backends.opencl.probing.workbench import DRIVER_ERRORS, Workbench, first_telling_line
from portagpu.backends.opencl.ptx.architecture import unmarked
from portagpu.device.capabilities import DeviceType

_ITEMS = 64
_GROUP = 32
_WARP_GROUP = 128  # threads that instructions of a warp group need
_ROUNDING_SAMPLES = 1 << 14
_logger = logging.getLogger(__name__)


def run_trials(bench: Workbench, journal: Journal, *, isolated: bool) -> ProbeResults:
    """Every trial. Those that may take the process down are left out unless it is ``isolated``.

    Raises `ContextLostError` where a trial killed the context; the journal then lets a new process go on.
    """
    problem = journal.trial("basic", lambda: bench.basic_problem() or "", "it takes the process down")
    if problem:
        return ProbeResults(problem=problem)

    def yes(name: str, attempt: Callable[[], bool]) -> bool:
        return journal.trial(name, lambda: _guarded(bench, name, attempt), False)

    def adds_atomically(c_type: str, in_local: bool) -> bool:
        name = f"{c_type}_{'local' if in_local else 'global'}"
        offered = "cl_ext_float_atomics" in bench.extensions
        return offered and yes(name, lambda: _float_atomics(bench, language, c_type, in_local))

    is_cpu = assemble.device_type_of(bench.device) is DeviceType.CPU
    language = journal.trial("language", lambda: _language_option(bench), "")
    fp64 = yes("fp64", lambda: _arithmetic(bench, "double", np.float64))
    subgroup_size = journal.trial("subgroups", lambda: _subgroup_size(bench, language), 0)
    inline_ptx = bench.hints.may_take_ptx and isolated and yes("inline_ptx", lambda: _inline_ptx(bench))
    sizes = journal.trial("subgroup_sizes", lambda: subgroup_trials.sizes(bench, language), "")
    smallest = min(map(int, sizes.split()), default=16)
    static, argument = local_memory.usable(bench, journal, isolated=isolated)
    return ProbeResults(
        local_memory_static=static,
        local_memory_argument=argument,
        preferred_multiple=journal.trial("preferred_multiple", lambda: _preferred_multiple(bench), 1),
        language_option=language,
        subgroup_size=subgroup_size,
        subgroups=subgroup_size > 0,
        subgroup_shuffle=subgroup_size > 0 and yes("subgroup_shuffle", lambda: _shuffle(bench, language)),
        required_subgroup_size="cl_intel_required_subgroup_size" in bench.extensions
        and yes("required_subgroup_size", lambda: _required_size(bench, language)),
        subgroup_sizes=sizes,
        subgroup_block_io=subgroup_size > 0
        and yes("subgroup_block_io", lambda: subgroup_trials.block_io(bench, language)),
        matrix_units=" ".join(
            unit
            for unit in subgroup_trials.units(bench)
            if yes(unit, partial(subgroup_trials.unit, bench, unit, smallest))
        ),
        fp64=fp64,
        fp16=yes("fp16", lambda: _arithmetic(bench, "half", np.float16)),
        fp16_storage=yes("fp16_storage", lambda: _half_storage(bench)),
        correctly_rounded_divide_sqrt=yes("divide_sqrt", lambda: _divide_sqrt(bench)),
        int64_atomics=yes("int64_atomics", lambda: _int64_atomics(bench)),
        float_atomic_add_global=adds_atomically("float", False),
        float_atomic_add_local=adds_atomically("float", True),
        double_atomic_add_global=fp64 and adds_atomically("double", False),
        double_atomic_add_local=fp64 and adds_atomically("double", True),
        inline_ptx=inline_ptx,
        architecture_ptx=inline_ptx and yes("architecture_ptx", lambda: _architecture_ptx(bench)),
        # one CPU driver's is a function that takes two to four times as long as the products in plain C
        packed_dot_product="cl_khr_integer_dot_product" in bench.extensions
        and not is_cpu
        and yes("packed_dot_product", lambda: _packed_dot_product(bench, language)),
        scoped_fences=bool(language) and yes("scoped_fences", lambda: _scoped_fences(bench, language)),
        builtin_prefetch=is_cpu and yes("builtin_prefetch", lambda: _builtin_prefetch(bench)),
        printf=isolated and yes("printf", lambda: printf_trial.printf_works(bench)),
        max_registers_option="cl_nv_compiler_options" in bench.extensions
        and yes("registers", lambda: _builds(bench, "-cl-nv-maxrregcount=64", "-cl-nv-verbose")),
        allows_build_option_g=yes("option_g", lambda: _builds(bench, "-g")),
        measured_gflops=journal.trial("rate", lambda: rate.measured_gflops(bench), 0.0),
        measured_gflops_double=journal.trial("rate_double", lambda: rate.measured_gflops(bench, np.float64), 0.0)
        if fp64
        else 0.0,
    )


def _guarded(bench: Workbench, name: str, attempt: Callable[[], bool]) -> bool:
    """The attempt's answer; an error means no, and after one the context is checked."""
    try:
        return bool(attempt())
    except DRIVER_ERRORS as error:
        _logger.debug("trial %s: %s", name, first_telling_line(error))
        if not isinstance(error, cl.RuntimeError) or "build" not in str(error).lower():
            bench.check_alive()
        return False


def _builds(bench: Workbench, *options: str) -> bool:
    return bench.basic_problem(*options) is None


def _language_option(bench: Workbench) -> str:
    """The newest OpenCL C version that the device really compiles; newer features need it."""
    for option in ("-cl-std=CL3.0", "-cl-std=CL2.0"):
        if bench.device.version.startswith("OpenCL 1"):
            break
        if _builds(bench, option):
            return option
    return ""


def _preferred_multiple(bench: Workbench) -> int:
    info = cl.kernel_work_group_info.PREFERRED_WORK_GROUP_SIZE_MULTIPLE
    multiple: Any = bench.build("basic").get_work_group_info(info, bench.device)
    return max(1, int(multiple))


def _flag(bench: Workbench, extension: str, macro: str) -> Iterator[str]:
    if extension in bench.extensions:
        yield f"-D{macro}"


def _options(option: str) -> tuple[str, ...]:
    return (option,) if option else ()


def _arithmetic(bench: Workbench, c_type: str, dtype: type[np.floating]) -> bool:
    extension = {"double": "cl_khr_fp64", "half": "cl_khr_fp16"}[c_type]
    macro = {"double": "EXTENSION_FP64", "half": "EXTENSION_FP16"}[c_type]
    kernel = bench.build("arithmetic", f"-DFORMAT={c_type}", *_flag(bench, extension, macro))
    a = (np.arange(_ITEMS) / 16 - 1.5).astype(dtype)  # every product and sum is exact in half
    b = (np.arange(_ITEMS) % 8 - 3.0).astype(dtype)
    c = (np.arange(_ITEMS) % 4 / 8).astype(dtype)
    if dtype is np.float64:
        a, c = a + dtype(2.0**-40), c - dtype(2.0**-41)  # and beyond what float32 could hold in double
    target = np.zeros(_ITEMS, dtype)
    bench.run(kernel, _ITEMS, None, a, b, c, target)
    return bool(np.array_equal(target, a * b + c))


def _half_storage(bench: Workbench) -> bool:
    source = (np.arange(_ITEMS) / 8 - 3).astype(np.float16)
    target = np.zeros_like(source)
    bench.run(bench.build("half_storage"), _ITEMS, None, source, target)
    return bool(np.array_equal(target, source * 2))


def _divide_sqrt(bench: Workbench) -> bool:
    kernel = bench.build("divide_sqrt", "-cl-fp32-correctly-rounded-divide-sqrt")
    items = 256 if bench.hints.simulated else _ROUNDING_SAMPLES
    generator = np.random.default_rng(1)
    a = np.exp2(generator.uniform(-20, 20, items)).astype(np.float32)
    b = np.exp2(generator.uniform(-20, 20, items)).astype(np.float32)
    quotient, root = np.zeros_like(a), np.zeros_like(a)
    bench.run(kernel, items, None, a, b, quotient, root)
    return bool(np.array_equal(quotient, a / b) and np.array_equal(root, np.sqrt(a)))


def _int64_atomics(bench: Workbench) -> bool:
    kernel = bench.build(
        "int64_atomics",
        *_flag(bench, "cl_khr_int64_base_atomics", "EXTENSION_BASE"),
        *_flag(bench, "cl_khr_int64_extended_atomics", "EXTENSION_EXTENDED"),
    )
    counters, old = np.zeros(4, np.int64), np.zeros(_ITEMS, np.int64)
    bench.run(kernel, _ITEMS, _GROUP, counters, old)
    step, groups = 1 << 33, _ITEMS // _GROUP
    expected = [_ITEMS * step, (_ITEMS - 1) * step, _ITEMS, (groups << 40) + _ITEMS]
    return counters.tolist() == expected and np.array_equal(np.sort(old), np.arange(_ITEMS, dtype=np.int64) * step)


def _float_atomics(bench: Workbench, language: str, c_type: str, in_local: bool) -> bool:
    options = [f"-DFORMAT={c_type}", f"-DATOMIC=atomic_{c_type}", *_options(language)]
    if c_type == "double":
        options += _flag(bench, "cl_khr_fp64", "EXTENSION_FP64")
    if in_local:
        options.append("-DIN_LOCAL_MEMORY")
    target = np.zeros(_ITEMS // _GROUP, np.float32 if c_type == "float" else np.float64)
    bench.run(bench.build("float_atomics", *options), _ITEMS, _GROUP, target)
    return bool(np.all(target == 1.5 * _GROUP))


def _inline_ptx(bench: Workbench) -> bool:
    source = (np.arange(_ITEMS, dtype=np.uint32) + 1) * np.uint32(0x01020307)
    target = np.zeros_like(source)
    bench.run(bench.build("inline_ptx"), _ITEMS, None, source, target)
    return bool(np.array_equal(target, source.byteswap()))


def _packed_dot_product(bench: Workbench, language: str) -> bool:
    source = np.arange(_ITEMS, dtype=np.uint32) * np.uint32(0x9E3779B1)
    target = np.zeros(_ITEMS, np.int32)
    bench.run(bench.build("packed_dot_product", *_options(language)), _ITEMS, None, source, target)
    signed, unsigned = (source.view(t).reshape(-1, 4).astype(np.int32) for t in (np.int8, np.uint8))
    expected = np.sum(signed * ~signed + unsigned * [4, 3, 2, 1] + signed + unsigned - unsigned + signed, axis=1)
    return bool(np.array_equal(target, expected))


def _builtin_prefetch(bench: Workbench) -> bool:
    source = np.arange(_ITEMS, dtype=np.uint32)
    target = np.zeros_like(source)
    bench.run(bench.build("builtin_prefetch"), _ITEMS, None, source, target)
    return bool(np.array_equal(target, source + 1))


def _scoped_fences(bench: Workbench, language: str) -> bool:
    source = np.arange(_ITEMS, dtype=np.uint32)
    target = np.zeros_like(source)
    bench.run(bench.build("scoped_fences", *_options(language)), _ITEMS, None, source, target)
    return bool(np.array_equal(target, source + 1))


def _architecture_ptx(bench: Workbench) -> bool:
    """Whether the driver's own text, with an instruction of its architecture alone added, is loaded and runs."""
    source = np.arange(_WARP_GROUP, dtype=np.uint32)
    target = np.zeros_like(source)
    built: Any = bench.build("architecture_ptx").program
    compiled = built.binaries[0]
    program: Any = cl.Program(bench.context, [bench.device], [unmarked(bytes(compiled))])
    kernel = cl.Kernel(program.build(["-w"], cache_dir=False), "architecture_ptx")
    bench.run(kernel, _WARP_GROUP, _WARP_GROUP, source, target)
    return bool(np.array_equal(target, source + 1))


def _subgroup_options(bench: Workbench, language: str) -> list[str]:
    return [
        *_flag(bench, "cl_khr_subgroups", "EXTENSION_KHR"),
        *_flag(bench, "cl_intel_subgroups", "EXTENSION_INTEL"),
        *_options(language),
    ]


def _subgroup_run(bench: Workbench, *options: str) -> tuple[int, bool]:
    """Run the subgroup kernel: the size (0 where indices or sums are wrong), whether neighbours' values are right."""
    kernel = bench.build("subgroups", *options)
    sizes, lanes, sums, neighbours = (np.zeros(_ITEMS, np.int32) for _ in range(4))
    bench.run(kernel, _ITEMS, _ITEMS, sizes, lanes, sums, neighbours)
    size = int(sizes[0])
    if size < 1 or np.any(sizes != size) or _ITEMS % min(size, _ITEMS):
        return 0, False
    width = min(size, _ITEMS)
    index = np.arange(_ITEMS)
    rows = index.reshape(-1, width)
    right = np.array_equal(lanes, index % width) and np.array_equal(sums, np.repeat(rows.sum(axis=1), width))
    return (size if right else 0), bool(right and np.array_equal(neighbours, index ^ 1))


def _subgroup_size(bench: Workbench, language: str) -> int:
    """The subgroup size of a small kernel, 0 without subgroups."""
    if not any("subgroup" in name for name in bench.extensions) and bench.device.version.startswith("OpenCL 1"):
        return 0

    def attempt() -> int:
        return _subgroup_run(bench, *_subgroup_options(bench, language))[0]

    try:
        return attempt()
    except DRIVER_ERRORS as error:
        _logger.debug("trial subgroups: %s", first_telling_line(error))
        bench.check_alive()
        return 0


def _shuffle(bench: Workbench, language: str) -> bool:
    """Whether one item can read another's register through either extension's function."""
    options = _subgroup_options(bench, language)
    if "cl_khr_subgroup_shuffle" in bench.extensions:
        return _subgroup_run(bench, *options, "-DEXTENSION_SHUFFLE", "-DSHUFFLE=sub_group_shuffle")[1]
    if "cl_intel_subgroups" in bench.extensions:
        return _subgroup_run(bench, *options, "-DSHUFFLE=intel_sub_group_shuffle")[1]
    return False


def _required_size(bench: Workbench, language: str) -> bool:
    """Whether a kernel gets the subgroup size that it asks for, for at least one size."""
    for size in (16, 8, 32):
        try:
            if _subgroup_run(bench, *_subgroup_options(bench, language), f"-DREQUIRED_SIZE={size}")[0] == size:
                return True
        except cl.Error:
            continue
    return False
