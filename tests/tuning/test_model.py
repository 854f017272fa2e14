"""The roofline model on a device of round numbers, and what is measured of real ones."""

from __future__ import annotations

import dataclasses
import math
import os

import pytest

from portagpu.backends.opencl.rates import measure
from portagpu.device.families import device_class, device_classes, driver_family
from portagpu.device.ideal_device import IDEAL
from portagpu.settings import Settings
from portagpu.tuning import DeviceFigures, Limit, Resources, figures_of, predict
from portagpu.tuning.choice import shipped_file
from portagpu.tuning.tunables.roofline import obstacle

pytestmark = pytest.mark.one_device

GPU = DeviceFigures(
    units=100,
    flops={"float32": 10e12, "float64": 5e12},
    dram=1e12,
    cache=4e12,
    local=20e12,
    launch=1e-6,
    registers=65536,
    local_memory=100_000,
    threads=2048,
    blocks=32,
    warp=32,
    measured=True,
)
WORK = Resources(threads=256, blocks=800, flops=10e9, dram_bytes=1e6)


def test_arithmetic_limits():
    found = predict(WORK, GPU)
    assert found.limit is Limit.COMPUTE and found.seconds == pytest.approx(1e-3 + 1e-6)
    assert (found.resident, found.occupancy, found.waves, found.utilisation) == (8, 1.0, 1.0, 1.0)
    assert found.bound == pytest.approx(1e-3)
    assert "limited by arithmetic" in str(found)
    assert predict(dataclasses.replace(WORK, dtype="float64"), GPU).bound == pytest.approx(2e-3)
    assert predict(dataclasses.replace(WORK, peak=1e12), GPU).bound == pytest.approx(1e-2)


@pytest.mark.parametrize(
    ("change", "limit", "seconds"),
    [
        ({"dram_bytes": 2e9}, Limit.DRAM, 2e-3),
        ({"cache_bytes": 16e9}, Limit.CACHE, 4e-3),
        ({"local_bytes": 100e9}, Limit.LOCAL, 5e-3),
        ({"flops": 1.0, "dram_bytes": 1.0}, Limit.LAUNCH, 1e-6),
    ],
)
def test_other_limits(change, limit, seconds):
    found = predict(dataclasses.replace(WORK, **change), GPU)
    assert found.limit is limit and found.seconds == pytest.approx(seconds, rel=0.01, abs=2e-6)


def test_a_last_wave_of_one_block_costs_as_much_as_a_full_one():
    full, more = predict(WORK, GPU), predict(dataclasses.replace(WORK, blocks=801, flops=10e9 * 801 / 800), GPU)
    assert more.utilisation == pytest.approx(801 / 900)
    assert more.seconds / full.seconds == pytest.approx(9 / 8, rel=0.01)
    few = predict(dataclasses.replace(WORK, blocks=1), GPU)
    assert few.seconds > 100e-3  # one of a hundred units works


@pytest.mark.parametrize(
    ("change", "resident"),
    [({"registers": 128}, 2), ({"local_memory": 30_000}, 3), ({"threads": 1024}, 2), ({"threads": 32}, 32)],
)
def test_what_limits_residency(change, resident):
    assert predict(dataclasses.replace(WORK, **change), GPU).resident == resident


def test_few_threads_hide_no_latency():
    little = predict(dataclasses.replace(WORK, local_memory=100_000), GPU)
    assert little.occupancy == 0.125 and little.seconds == pytest.approx(2e-3, rel=0.01)


@pytest.mark.parametrize("change", [{"threads": 4096}, {"local_memory": 100_001}, {"registers": 257}, {"threads": 0}])
def test_what_does_not_fit(change):
    need = dataclasses.replace(WORK, **change)
    assert predict(need, GPU) is None and obstacle(need, GPU)


@pytest.mark.parametrize("flops", [0.0, 1e9])
def test_no_rate_is_no_division_by_zero(flops):
    found = predict(dataclasses.replace(WORK, flops=flops, dram_bytes=0.0, efficiency=0.0), GPU)
    assert found.seconds == (math.inf if flops else pytest.approx(1e-6))


def test_figures_are_measured_once(device, tmp_path, monkeypatch):
    settings = Settings.from_environment({**os.environ, "PORTAGPU_CACHE_DIR": str(tmp_path)})
    assert not figures_of(device, settings).measured
    found = figures_of(device, settings, measure_now=True)
    assert found.measured and found == figures_of(device, settings)
    assert 1e8 < found.flops["float32"] < 1e16 and 1e7 < found.dram <= found.cache
    assert 0 < found.launch < 1


def test_simulators_are_not_measured(device):
    simulated = dataclasses.replace(device, platform="Oclgrind")
    assert measure(simulated) is None


def test_classes_of_devices(device):
    processor = type(device.device_type).CPU
    caps = dataclasses.replace(IDEAL, device_type=processor, vector_width_float=16, compute_units=2)
    named = dataclasses.replace(
        device, capabilities=caps, device_type=processor, platform="Portable Computing Language"
    )
    assert device_class(named) == "AVX-512 CPU of 2 cores under PoCL"
    assert device_class(dataclasses.replace(named, driver_version="another")) == device_class(named)
    narrow = dataclasses.replace(named, capabilities=dataclasses.replace(caps, vector_width_float=8, compute_units=12))
    assert device_class(narrow) == "AVX2 CPU of 16 cores under PoCL"
    caps = dataclasses.replace(caps, device_type=type(device.device_type).GPU)
    gpu = dataclasses.replace(
        device, name="A GPU", device_type=caps.device_type, platform="NVIDIA CUDA", capabilities=caps
    )
    assert device_class(gpu) == "A GPU under NVIDIA"
    assert device_classes(gpu) == ("A GPU under NVIDIA",) and device_classes(named) == (device_class(named),)


def test_gpus_of_the_same_processors_share_shipped_results(device):
    gpu = type(device.device_type).GPU
    caps = dataclasses.replace(IDEAL, device_type=gpu, ptx_target=(9, 0), compute_units=132)
    record = dataclasses.replace(device, name="NVIDIA H200", device_type=gpu, platform="NVIDIA CUDA", capabilities=caps)
    measured = "NVIDIA H100 80GB HBM3"
    assert device_classes(record) == ("NVIDIA H200 under NVIDIA", f"{measured} under NVIDIA")
    assert device_classes(dataclasses.replace(record, name=measured)) == (f"{measured} under NVIDIA",)
    for other in ({"compute_units": 114}, {"ptx_target": (10, 0)}):
        assert len(device_classes(dataclasses.replace(record, capabilities=dataclasses.replace(caps, **other)))) == 1
    assert shipped_file(dataclasses.replace(record, name=measured)).exists()  # the class has results
    assert driver_family("A new platform") == "A new platform"
