"""The disk cache of binaries: used, and never trusted."""

from __future__ import annotations

import dataclasses
import os
import warnings
from pathlib import Path

import numpy as np
import pyopencl as cl
import pytest

from portagpu import cuda, errors
from portagpu.backends.opencl import programs
from portagpu.backends.opencl.ptx import architecture as architecture_ptx
from portagpu.runtime.programs import build

pytestmark = [pytest.mark.one_device, pytest.mark.opencl]

SOURCE = "__kernel void probe(__global int* x) {{ x[get_global_id(0)] = {value}; }}"


def run(context, built):
    array = cuda.to_device(np.zeros(4, np.int32))
    kernel = cl.Kernel(built, "probe")
    kernel.set_args(array.buffer)
    cl.enqueue_nd_range_kernel(context.default_stream.queue, kernel, (4,), None)
    return array.copy_to_host()[0]


@pytest.fixture
def context(device, tmp_path, monkeypatch):
    found = cuda.current_context()
    settings = dataclasses.replace(found.settings, cache_dir=tmp_path, disk_cache=True, binaries=True)
    monkeypatch.setattr(found, "settings", settings)
    monkeypatch.setattr(found, "programs", {})
    return found


def files(context) -> list[Path]:
    return list((context.settings.cache_dir / "programs").glob("*.bin"))


def test_binary_is_kept_and_used(context):
    source = SOURCE.format(value=11)
    assert run(context, build.build(context, source, ())) == 11
    kept = files(context)
    assert len(kept) == 1
    before = kept[0].stat().st_ino  # replaced files get another
    context.programs.clear()
    assert run(context, build.build(context, source, ())) == 11
    assert files(context)[0].stat().st_ino == before


def test_binaries_that_cost_a_compilation_may_be_left_out(context, monkeypatch):
    """Where the driver hands its binary out as it is, it is kept in any case."""
    monkeypatch.setattr(context, "settings", dataclasses.replace(context.settings, binaries=False))
    assert run(context, build.build(context, SOURCE.format(value=13), ())) == 13
    assert len(files(context)) == (not context.capabilities.compiles_for_binaries)


@pytest.mark.parametrize("damage", [b"", b"garbage", None])
def test_damaged_entry_is_rewritten(context, damage):
    source = SOURCE.format(value=12)
    build.build(context, source, ())
    path = files(context)[0]
    good = path.read_bytes()
    path.write_bytes(good[: len(good) // 2] if damage is None else damage)
    context.programs.clear()
    assert run(context, build.build(context, source, ())) == 12
    assert path.read_bytes().startswith(good[:16])  # the magic; a driver's binaries need not be equal bit by bit
    context.programs.clear()
    before = path.stat().st_ino
    assert run(context, build.build(context, source, ())) == 12
    assert path.stat().st_ino == before


def test_options_and_source_are_part_of_the_key(context):
    for options in ((), ("-cl-opt-disable",)):
        for value in (1, 2):
            assert run(context, build.build(context, SOURCE.format(value=value), options)) == value
    assert len(files(context)) == 4


def test_compiler_error_carries_log_and_source(context):
    with pytest.raises(errors.BuildError) as caught:
        build.build(context, "__kernel void broken() { undeclared = 1; }", ())
    assert "undeclared" in caught.value.log
    assert "broken" in caught.value.opencl_source
    assert not files(context)


def test_remarks_of_compilers_are_quiet_in_all_threads(context, monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("filters of warnings belong to all threads")

    monkeypatch.setattr(warnings, "catch_warnings", refuse)
    source = "#warning remark\n" + SOURCE.format(value=13)
    assert run(context, build.build(context, source, ())) == 13
    context.programs.clear()
    assert run(context, build.build(context, source, ())) == 13


def test_what_compilers_say_is_kept_with_the_binary(context, monkeypatch):
    """A binary of which nobody knows what was said serves everybody but those who want to know."""
    if context.capabilities.max_registers_option:
        pytest.skip("this driver's compiler keeps warnings to itself")
    source = "#warning 16 bytes spill stores\n" + SOURCE.format(value=14)
    assert build.remarks_of(build.build(context, source, ())) is None
    monkeypatch.setattr(context, "remarks", ("-D REMARKS",))
    inodes = [files(context)[0].stat().st_ino]
    for _ in range(2):  # compiled anew, then from the file
        context.programs.clear()
        built = build.build(context, source, ())
        assert "16 bytes spill stores" in (build.remarks_of(built) or "")
        assert run(context, built) == 14
        (path,) = files(context)  # of the same name
        inodes.append(path.stat().st_ino)
    assert inodes[0] != inodes[1] == inodes[2]
    monkeypatch.setattr(context, "remarks", ())
    context.programs.clear()
    assert run(context, build.build(context, source, ())) == 14
    assert files(context)[0].stat().st_ino == inodes[2]


def test_a_driver_that_says_nothing_takes_nothing_back(context, monkeypatch):
    """Two processes compile the same: the second one's driver has it in its own cache, and has no log."""
    if context.capabilities.max_registers_option:
        pytest.skip("this driver's compiler keeps warnings to itself")
    source = "#warning 16 bytes spill stores\n" + SOURCE.format(value=15)
    monkeypatch.setattr(context, "remarks", ("-D REMARKS",))
    build.build(context, source, ())
    (path,) = files(context)
    data = path.read_bytes()
    context.programs.clear()
    path.unlink()
    inner = programs.log_of

    def silent(*args):
        path.write_bytes(data)  # by the first process, meanwhile
        return ""

    monkeypatch.setattr(programs, "log_of", silent)
    built = build.build(context, source, ())
    assert "16 bytes spill stores" in build.remarks_of(built)
    monkeypatch.setattr(programs, "log_of", inner)
    context.programs.clear()
    assert "16 bytes spill stores" in build.remarks_of(build.build(context, source, ()))


def test_least_recently_used_binaries_go_first(context, monkeypatch):
    sources = [SOURCE.format(value=value) for value in range(20, 24)]
    paths = []
    for age, source in enumerate(sources):
        build.build(context, source, ())
        paths += [path for path in files(context) if path not in paths]
        os.utime(paths[-1], (1000 + age, 1000 + age))
    context.programs.clear()
    build.build(context, sources[0], ())  # used: now the youngest
    size = max(path.stat().st_size for path in paths)
    monkeypatch.setattr(build, "_LIMIT_BYTES", 2 * size + size // 2)
    build._cache(context).sweep()
    assert set(files(context)) == {paths[0], paths[3]}


def test_what_killed_writers_have_left_is_removed(context):
    build.build(context, SOURCE.format(value=30), ())
    (kept,) = files(context)
    left, recent, foreign = (kept.with_name(n) for n in (f".{kept.name}.{'0a' * 6}", f".{kept.name}.{'1b' * 6}", ".x"))
    for path in (left, recent, foreign):
        path.write_bytes(b"a part")
    for path in (left, foreign):
        os.utime(path, (1000, 1000))
    build._cache(context).sweep()
    assert not left.exists() and all(path.exists() for path in (kept, recent, foreign))


def test_keys_of_marked_instructions_hold_the_package(context, monkeypatch):
    """The binary is what the package makes of the driver's text."""
    plain, marked = SOURCE.format(value=31), SOURCE.format(value=31) + architecture_ptx.MARK
    before = [build._digest(context, source, ()) for source in (plain, marked)]
    monkeypatch.setattr(programs, "package_stamp", lambda: "another")
    after = [build._digest(context, source, ()) for source in (plain, marked)]
    assert before[0] == after[0] and before[1] != after[1]
