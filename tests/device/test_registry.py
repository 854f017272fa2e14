"""Which device is chosen, and what real devices say of themselves."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import pyopencl as cl
import pytest

from portagpu.backends.opencl import discovery
from portagpu.backends.opencl.drivers.records import DriverRecord, DriverSource, DriverState, too_late
from portagpu.device import (
    DeviceRecord,
    DeviceType,
    default_device,
    devices,
    find_device,
    record_for,
    registry,
    working_devices,
)
from portagpu.device.registry import choose
from portagpu.errors import DeviceSelectionError, NoDeviceError
from portagpu.settings import Settings

_EVERY = pytest.mark.parametrize("record", working_devices(), ids=lambda record: f"{record.index}-{record.platform}")

MakeDevice = Callable[..., DeviceRecord]


@pytest.fixture
def several(make_device: MakeDevice) -> tuple[DeviceRecord, ...]:
    return (
        make_device(0, "Slow CPU", gflops=100.0, platform="Portable Computing Language"),
        make_device(1, "Fast CPU", gflops=150.0, vendor="GenuineMaker"),
        make_device(2, "Small GPU", DeviceType.GPU, gflops=120.0),
        make_device(3, "Big GPU", DeviceType.GPU, gflops=9000.0, driver_version="580.1"),
        make_device(4, "Dead GPU", DeviceType.GPU, problem="it cannot build a kernel"),
    )


@pytest.mark.parametrize(
    ("selector", "index"),
    [
        (0, 0),
        ("1", 1),
        (" 2 ", 2),
        ("gpu", 3),
        ("GPU", 3),
        ("cpu", 1),
        ("small", 2),
        ("portable", 0),
        ("genuine", 1),
        ("580", 3),
        ("gpu ", 3),
    ],
)
def test_selectors(several: tuple[DeviceRecord, ...], selector: str | int, index: int) -> None:
    if selector == "580":
        with pytest.raises(DeviceSelectionError):  # digits are an index, never a part of a version
            choose(several, selector)
        selector = "580.1"
    assert choose(several, selector).index == index


@pytest.mark.parametrize("selector", ["tpu", 9, -1, "", "accelerator"])
def test_a_selector_that_names_nothing_lists_what_exists(
    several: tuple[DeviceRecord, ...], selector: str | int
) -> None:
    with pytest.raises(DeviceSelectionError) as caught:
        choose(several, selector)
    text = str(caught.value)
    assert repr(selector) in text and "3: Big GPU (gpu, Platform)" in text
    assert "4: Dead GPU (gpu, Platform), does not work: it cannot build a kernel" in text


def test_a_broken_device_says_why_and_what_helps(several: tuple[DeviceRecord, ...]) -> None:
    for selector in (4, "dead"):
        with pytest.raises(DeviceSelectionError, match="does not work: it cannot build a kernel") as caught:
            choose(several, selector)
        assert caught.value.hint == "mend it"


def test_no_device_at_all() -> None:
    with pytest.raises(DeviceSelectionError, match="there is no OpenCL device"):
        choose((), "gpu")


def _with(monkeypatch: pytest.MonkeyPatch, records: tuple[DeviceRecord, ...]) -> None:
    monkeypatch.setenv("PORTAGPU_BACKEND", "opencl")
    monkeypatch.setattr(registry, "_devices", {"opencl": records})
    monkeypatch.setattr(discovery, "unused_drivers", lambda settings: [])  # of this machine, if OCL_ICD_VENDORS is set


def test_the_default_is_the_fastest_gpu(
    several: tuple[DeviceRecord, ...], settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    _with(monkeypatch, several)
    assert default_device(settings).index == 3
    _with(monkeypatch, several[:3])
    assert default_device(settings).index == 2, "a GPU comes before a faster CPU"
    _with(monkeypatch, several[:2])
    assert default_device(settings).index == 1


def test_portagpu_device_decides(
    several: tuple[DeviceRecord, ...], settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    _with(monkeypatch, several)
    monkeypatch.setenv("PORTAGPU_DEVICE", "slow")
    assert default_device().index == 0
    monkeypatch.setenv("PORTAGPU_DEVICE", "none such")
    with pytest.raises(DeviceSelectionError, match="none such"):
        default_device()
    assert find_device("big").index == 3
    assert default_device(replace(settings, device="1")).index == 1


def test_nothing_works(several: tuple[DeviceRecord, ...], settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    _with(monkeypatch, several[4:])
    with pytest.raises(NoDeviceError, match=r"no OpenCL device works[\s\S]*Dead GPU"):
        default_device(settings)
    _with(monkeypatch, ())
    with pytest.raises(NoDeviceError, match="no OpenCL device was found") as caught:
        default_device(settings)
    assert caught.value.hint is not None and "portagpu doctor" in caught.value.hint


def test_keys_tell_drivers_apart(make_device: MakeDevice) -> None:
    one = make_device(0, "D", platform="P", driver_version="1")
    assert one.key == "P|D|1"
    assert one.key != make_device(0, "D", platform="P", driver_version="2").key


@pytest.mark.opencl
@_EVERY
def test_a_device_of_a_users_context_is_recognised(record: DeviceRecord) -> None:
    context = cl.Context([record.cl_device])
    assert record_for(context.devices[0]) is record


@pytest.mark.opencl
@_EVERY
def test_a_device_that_only_the_user_knows_has_its_parents_abilities(
    record: DeviceRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    _with(monkeypatch, ())
    stranger = record_for(record.cl_device)
    assert stranger.index == -1 and stranger.works and stranger.key == record.key
    assert stranger.capabilities is not None and record.capabilities is not None
    caps = record.capabilities  # rates are measured anew if the cache was renewed meanwhile
    rates = {"measured_gflops": caps.measured_gflops, "measured_gflops_double": caps.measured_gflops_double}
    assert replace(stranger.capabilities, **rates) == caps


@_EVERY
def test_capabilities_make_sense(record: DeviceRecord) -> None:
    caps = record.capabilities
    assert caps is not None
    assert caps.local_memory_argument >= 1024 and caps.local_memory_static >= 1024
    assert caps.local_memory_static % 4 == 0
    assert caps.warp_size in (8, 16, 32, 64, 128)
    assert caps.subgroups == (caps.subgroup_size > 0)
    assert caps.subgroups or not (caps.subgroup_shuffle or caps.required_subgroup_size)
    assert caps.fp64 or not (caps.double_atomic_add_global or caps.double_atomic_add_local)
    assert caps.language_option in ("", "-cl-std=CL2.0", "-cl-std=CL3.0")
    assert caps.preferred_multiple >= 1 and caps.compute_units >= 1
    assert caps.inline_ptx == caps.warp_instructions == caps.cooperative_launch == caps.device_fences == caps.nanosleep
    assert caps.async_copies == (caps.ptx_target >= (8, 0)) and caps.prefetch >= caps.inline_ptx
    assert caps.max_allocation <= caps.global_memory
    assert caps.measured_gflops > 0 and math.isfinite(caps.measured_gflops)
    assert (caps.measured_gflops_double > 0) is caps.fp64 and math.isfinite(caps.measured_gflops_double)
    assert caps.vector_width_float in (1, 2, 4, 8, 16) and caps.vector_width_double in (1, 2, 4, 8, 16)
    assert ("cl_khr_fp64" in caps.extensions) <= caps.fp64
    assert ("cl_khr_fp16" in caps.extensions) <= caps.fp16_functions <= caps.fp16
    assert ("cl_khr_int64_base_atomics" in caps.extensions) <= caps.int64_atomics


def test_devices_are_listed_once_and_numbered() -> None:
    assert devices() is devices()
    assert [record.index for record in devices()] == list(range(len(devices())))


def test_missing_drivers_are_named(several: tuple[DeviceRecord, ...]) -> None:
    added = DriverRecord(
        library="libgood.so",
        path="/opt/libgood.so",
        family=None,
        source=DriverSource.SEARCH,
        icd_file=None,
        state=DriverState.ADDED,
    )
    with pytest.raises(DeviceSelectionError) as caught:
        choose(several, "good", asked="PORTAGPU_DEVICE=good", unused=[too_late(added)])
    text = str(caught.value)
    assert "no device matches PORTAGPU_DEVICE=good" in text
    assert "libgood.so is installed, but PyOpenCL had listed its platforms" in text
    assert "before pyopencl.get_platforms()" in text


@pytest.mark.parametrize("remedy", [None, "pip install it", "set VARIABLE"])
def test_a_hint_says_each_remedy_once(remedy: str | None) -> None:
    class Source:
        title, to_install = "Other", "pip install it, which brings a driver"

    class Driver:
        library, problem = "libother.so", "does not work"

    Driver.remedy = remedy
    with pytest.raises(DeviceSelectionError) as caught:
        choose((), "other:0", unused=[Driver()], source=Source())
    extra = "; or set VARIABLE" if remedy == "set VARIABLE" else ""
    assert caught.value.hint == f"{Source.to_install}{extra}"
