"""Measured times of NumPy and the device for a few sizes, kept on disk, and what they let expect for others.

Measured once for a device, its driver, NumPy's version and the threads that NumPy may use; kept in the cache folder,
beside the rates that models of kernels use (`portagpu.tuning.tunables.device_rates`).
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from portagpu.accelerate.work import Kind, Work
from portagpu.device import DeviceRecord
from portagpu.private_files import read_private_json, write_private
from portagpu.settings import Settings

_SCHEMA = 1
_THREADS = ("OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "OMP_NUM_THREADS")
_RUNS = 9  # of a sample at most
_LEAST_RUNS = 3
_TURNS = 3
_ENOUGH = 0.05  # seconds for the runs of a sample
_SHARE = 0.05  # of a sample's time that arithmetic takes at least: copies cannot be all of it, nor nothing
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Curve:
    """Seconds of an operation: bytes take their time, and arithmetic follows a power law between two samples.

    Larger ones have the larger sample's rate, smaller ones take as long as the smaller sample.
    """

    byte: float
    small: tuple[float, float]  # flops, seconds without bytes
    large: tuple[float, float]

    def seconds(self, work: Work) -> float:
        """How long it should take."""
        return work.bytes * self.byte + work.count * self._arithmetic(work.flops)

    def _arithmetic(self, flops: float) -> float:
        (low, first), (high, last) = self.small, self.large
        if flops >= high:
            return last * flops / high
        if flops <= low:
            return first
        slope = math.log(last / first) / math.log(high / low)
        return first * float((flops / low) ** slope)

    @classmethod
    def of(cls, works: Sequence[Work], times: Sequence[float], byte: float | None) -> Curve:
        """The curve through measured times. ``byte``: seconds a byte, where two samples cannot tell."""
        first, last = works[0], works[-1]
        if len(works) == 3:
            byte = _byte(works, times)
        byte = byte or 0.0
        small, large = (max(t - w.bytes * byte, _SHARE * t) for w, t in ((first, times[0]), (last, times[-1])))
        return cls(byte, (first.flops, small), (last.flops, max(large, small)))


def _byte(works: Sequence[Work], times: Sequence[float]) -> float:
    """Seconds a byte, from three operations that differ in what they compute with as many bytes.

    A call takes some time whatever it does, which is neither of a byte nor of arithmetic: on a GPU half a millisecond.
    """
    start, thin, cube = works
    # differences from the first, which takes that time, too
    thin_bytes, thin_flops, thin_seconds = thin.bytes - start.bytes, thin.flops - start.flops, times[1] - times[0]
    cube_bytes, cube_flops, cube_seconds = cube.bytes - start.bytes, cube.flops - start.flops, times[2] - times[0]
    determinant = thin_bytes * cube_flops - cube_bytes * thin_flops
    found = (thin_seconds * cube_flops - cube_seconds * thin_flops) / determinant
    limits = _SHARE * times[1] / thin.bytes, (1 - _SHARE) * times[2] / cube.bytes
    return min(max(found, limits[0]), limits[1])


@dataclass(frozen=True, slots=True)
class Expected:
    """Seconds that an operation should take in NumPy and on the device, copies included."""

    numpy: float
    device: float


class Rates:
    """Expected times on one device, measured when they are first asked for.

    ``products``: the kind that tells what bytes cost. Several threads may ask at once: one measures, others wait.
    """

    def __init__(self, device: DeviceRecord, settings: Settings, products: Kind) -> None:
        self._key = _key(device)
        digest = hashlib.sha256(self._key.encode()).hexdigest()[:24]
        self._path = settings.cache_dir / "rates" / f"{digest}-numpy-v{_SCHEMA}.json"
        self._products = products
        self._lock = threading.RLock()
        self._curves: dict[tuple[str, str], tuple[Curve, Curve]] = {}

    @property
    def path(self) -> Path:
        """The file that keeps what was measured."""
        return self._path

    def known(self, work: Work) -> Expected | None:
        """What an operation should take, if that was measured before."""
        curves = self._curves.get((work.kind.name, work.dtype)) or self._curves_of(
            work.kind, work.dtype, measure_now=False
        )
        return None if curves is None else Expected(curves[0].seconds(work), curves[1].seconds(work))

    def expected(self, work: Work) -> Expected:
        """What an operation should take; measured now if need be, in some seconds, most of which compile kernels.

        Raises what the device raises.
        """
        curves = self._curves.get((work.kind.name, work.dtype)) or self._curves_of(
            work.kind, work.dtype, measure_now=True
        )
        assert curves is not None
        return Expected(curves[0].seconds(work), curves[1].seconds(work))

    def _curves_of(self, kind: Kind, dtype: str, *, measure_now: bool) -> tuple[Curve, Curve] | None:
        with self._lock:
            found = self._curves.get((kind.name, dtype))
            if found is not None:
                return found
            name = f"{kind.name} {dtype}"
            samples = kind.samples(dtype)
            times = _valid(self._stored().get(name), len(samples))
            if times is None:
                if not measure_now:
                    return None
                times = _in_turns([s.numpy for s in samples], [s.device for s in samples])
                self._store(name, times)
            byte: tuple[float | None, float | None] = None, None
            if kind is not self._products:
                of_products = self._curves_of(self._products, dtype, measure_now=measure_now)
                if of_products is None:
                    return None
                byte = of_products[0].byte, of_products[1].byte
            works = [sample.work for sample in samples]
            made = Curve.of(works, times[0], byte[0]), Curve.of(works, times[1], byte[1])
            self._curves[kind.name, dtype] = made
            return made

    def _stored(self) -> Mapping[str, Any]:
        found = read_private_json(self._path)
        times = None if found is None or found.get("key") != self._key else found.get("times")
        return times if isinstance(times, dict) else {}

    def _store(self, name: str, times: tuple[list[float], list[float]]) -> None:
        value = {"key": self._key, "times": {**self._stored(), name: times}}
        try:
            write_private(self._path, json.dumps(value, indent=1).encode())
        except OSError as error:
            _log.debug("times not kept: %s", error)


def _key(device: DeviceRecord) -> str:
    threads = [f"{name}={os.environ[name]}" for name in _THREADS if name in os.environ]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return "|".join([device.key, f"numpy {np.__version__}", f"{cores} cores", *threads])


def _valid(value: Any, samples: int) -> tuple[list[float], list[float]] | None:
    """Stored times of NumPy and of the device, if they are such."""
    try:
        numpy, device = ([float(seconds) for seconds in part] for part in value)
    except (TypeError, ValueError):
        return None
    good = len(numpy) == len(device) == samples and all(0 < t < math.inf for t in (*numpy, *device))
    return (numpy, device) if good else None


def _in_turns(numpy: list[Callable[[], Any]], device: list[Callable[[], Any]]) -> tuple[list[float], list[float]]:
    """Times of both, the shortest of some turns: what disturbs one then disturbs the other, too."""
    found = [([_measured(run) for run in numpy], [_measured(run) for run in device]) for _ in range(_TURNS)]
    of_numpy, of_device = ([min(times) for times in zip(*turns, strict=True)] for turns in zip(*found, strict=True))
    return of_numpy, of_device


def _measured(run: Callable[[], Any]) -> float:
    """The shortest time of some runs, which others on the machine disturb least, after two that compile and record."""
    run()
    run()
    times: list[float] = []
    while len(times) < _LEAST_RUNS or (len(times) < _RUNS and sum(times) < _ENOUGH):
        begin = time.perf_counter()
        run()
        times.append(time.perf_counter() - begin)
    return min(times)
