"""Runs as five machines might have left them; names and numbers are made up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from portagpu.bench.records.cell import Caches, Cell, Memory, Role, Status
from portagpu.bench.records.run import Device, Machine, Run
from portagpu.bench.records.workload import Unit, Workload


@dataclass(frozen=True)
class Sort:
    """A device that does not exist: rates in GFLOP/s and GB/s, and how good kernels are on it."""

    name: str
    platform: str
    driver: str
    kind: str
    compiler: str
    peaks: dict[str, float]
    memory: float
    ours: float
    vendor: float
    library: str
    launch: float
    watts: float


SORTS = (
    Sort(
        "Aurora A100X 80GB HBM3",
        "Aurora Compute",
        "580.159.04",
        "gpu",
        "Aurora NVC 13.0",
        {
            "float32": 59e3,
            "float64": 30e3,
            "float16 matrix unit": 840e3,
            "bfloat16 matrix unit": 830e3,
            "tf32 matrix unit": 410e3,
            "float64 matrix unit": 58e3,
        },
        3010,
        0.86,
        0.93,
        "auBLAS 12.9 through PyTorch 2.9",
        4.1e-6,
        620,
    ),
    Sort(
        "Meridian MI-300 (gfx-m42)",
        "Meridian Parallel Processing",
        "3649.0 (HSA1.1,LC)",
        "gpu",
        "clang 20.0.0 (Meridian)",
        {"float32": 118e3, "float64": 61e3, "float16 matrix unit": 690e3, "bfloat16 matrix unit": 670e3},
        4020,
        0.67,
        0.81,
        "merBLAS 4.4 through PyTorch 2.9",
        7.2e-6,
        690,
    ),
    Sort(
        "Isar Arc(TM) B-580 Graphics",
        "Isar(R) OpenCL Graphics",
        "25.31.34666",
        "gpu",
        "IGC 2.16",
        {"float32": 13.6e3, "float16 matrix unit": 98e3, "bfloat16 matrix unit": 97e3},
        412,
        0.71,
        0.83,
        "oneIsar MKL 2026.0",
        9.5e-6,
        165,
    ),
    Sort(
        "cpu-znver-EPIC 9575F 64-Core Processor",
        "Portable Computing Language",
        "7.1",
        "cpu",
        "LLVM 19.1.7",
        {"float32": 5.9e3, "float64": 2.95e3},
        461,
        0.74,
        0.84,
        "NumPy 2.4.6 (OpenBLAS 0.3.30)",
        6.4e-6,
        350,
    ),
    Sort(
        "Isar(R) Zeon(R) Platinum 8592+",
        "Isar(R) OpenCL",
        "2026.22.10.0",
        "cpu",
        "Isar CPU runtime 2026.22",
        {"float32": 6.8e3, "float64": 3.4e3, "bfloat16 matrix unit": 51e3},
        338,
        0.69,
        0.88,
        "NumPy 2.4.6 (OpenBLAS 0.3.30)",
        1.6e-5,
        330,
    ),
)

_LEVEL1 = {"axpy": (2, 3), "scal": (1, 2), "dot": (2, 2), "nrm2": (2, 1), "asum": (1, 1), "copy": (0, 2)}
_SIZES = (512, 1024, 2048, 4096, 8192)
_BYTES = {"float64": 8, "float32": 4, "float16": 2, "bfloat16": 2, "float32/tf32": 4}


def workloads() -> list[Workload]:
    """Products, vectors, factorisations, textbook kernels, launches."""
    found = []
    for dtype, size in _BYTES.items():
        for n in _SIZES:
            found.append(_product(dtype, str(n), n, n, n, size))
        found.append(_product(dtype, "16 x 4096 x 11008", 16, 4096, 11008, size))
        found.append(_product(dtype, "4096 x 4096 x 128", 4096, 4096, 128, size))
    for name, (flops, streams) in _LEVEL1.items():
        for dtype in ("float32", "float64"):
            n = 1 << 26
            work = {"flops": float(flops * n) or None, "nbytes": float(streams * n * _BYTES[dtype])}
            found.append(Workload(suite="blas", name=name, arithmetic=dtype, size=str(n), unit=Unit.GBYTES, **work))
    for name, share in (("potrf", 1 / 3), ("getrf", 2 / 3)):
        for n in (2048, 8192):
            work = {"flops": share * n**3, "nbytes": 8.0 * n * n}
            found.append(Workload(suite="blas", name=name, arithmetic="float32", size=str(n), unit=Unit.GFLOPS, **work))
    for name, intensity in (("mandelbrot", 300.0), ("stencil", 0.9), ("histogram", 0.3), ("n-body", 120.0)):
        nbytes = 2.0**26
        work = {"flops": intensity * nbytes, "nbytes": nbytes}
        found.append(
            Workload(suite="textbook", name=name, arithmetic="float32", size="4096 x 4096", unit=Unit.GFLOPS, **work)
        )
    found.append(Workload(suite="launch", name="empty-kernel", arithmetic="", size="1", unit=Unit.MICROSECONDS))
    return found


def _product(dtype: str, size: str, m: int, n: int, k: int, width: int) -> Workload:
    work = {"flops": 2.0 * m * n * k, "nbytes": float(width * (m * k + k * n + m * n))}
    return Workload(suite="gemm", name="matmul", arithmetic=dtype, size=size, unit=Unit.GFLOPS, **work)


def samples(generator: np.random.Generator, seconds: float, noise: float = 0.004, rounds: int = 9, each: int = 3):
    """Times of a call: each round has its own luck, and each call in it."""
    luck = generator.normal(0, noise, rounds)
    spread = generator.normal(0, noise, (rounds, each))
    return tuple(tuple(float(seconds * np.exp(a + b)) for b in turn) for a, turn in zip(luck, spread, strict=True))


def run_of(sort: Sort, seed: int) -> Run:
    """A run on a machine with one device."""
    generator = np.random.default_rng(seed)
    cells = [cell for work in workloads() for cell in _cells(sort, work, generator)]
    return Run(
        identity=f"run-{seed}",
        started=f"2026-11-{10 + seed:02d}T09:30:00Z",
        finished=f"2026-11-{10 + seed:02d}T11:02:00Z",
        command=f"portagpu bench -o machine-{seed}.json",
        seed=24,
        method={"rounds": 9, "least_seconds": 0.05, "stop": "relative error below 1%, or 30 rounds"},
        machines=(
            Machine(
                label=f"lab-{seed}",
                system="Linux 6.12 x86_64",
                processor="EPIC 9575F",
                cores=64,
                memory_bytes=1 << 38,
                software={"portagpu": "0.1.0", "numpy": "2.4.6", "python": "3.13.1"},
            ),
        ),
        devices=(
            Device(
                machine=0,
                name=sort.name,
                platform=sort.platform,
                driver=sort.driver,
                kind=sort.kind,
                vendor=sort.name.split()[0],
                version="OpenCL 3.0",
                compiler=sort.compiler,
            ),
        ),
        cells=(*_roofs(sort, generator), *cells),
    )


def _roofs(sort: Sort, generator: np.random.Generator) -> list[Cell]:
    made = []
    for arithmetic, rate in sort.peaks.items():
        work = Workload(suite="roofs", name="flops", arithmetic=arithmetic, size="", unit=Unit.GFLOPS, flops=1e12)
        made.append((work, 1e12 / (rate * 1e9)))
    for level, factor in (("copy", 1.0), ("read/L2", 3.1), ("read/L1", 11.0)):
        work = Workload(suite="roofs", name=level, arithmetic="", size="1 GiB", unit=Unit.GBYTES, nbytes=float(2**30))
        made.append((work, 2**30 / (sort.memory * factor * 1e9)))
    return [
        Cell(
            device=0,
            workload=work,
            implementation="probe",
            role=Role.ROOF,
            memory=Memory.DEVICE,
            status=Status.MEASURED,
            samples=samples(generator, seconds, 0.002),
        )
        for work, seconds in made
    ]


def _cells(sort: Sort, work: Workload, generator: np.random.Generator) -> list[Cell]:
    ours = {"device": 0, "workload": work, "implementation": "PortaGPU", "role": Role.OURS, "memory": Memory.DEVICE}
    theirs = ours | {"implementation": sort.library, "role": Role.VENDOR}
    least = _least(sort, work)
    if least is None:
        lacking = f"the device has no {work.arithmetic}"
        refused = {"status": Status.UNSUPPORTED, "reason": lacking}
        return [Cell(**ours, **refused), Cell(**theirs, **refused)]
    if sort is SORTS[2] and work.name == "getrf":
        bad = {"status": Status.WRONG, "reason": "the error is 3.1 times what is allowed"}
        return [Cell(**ours, **bad), *_timed(sort, [theirs], least, generator)]
    if sort is SORTS[4] and work.name == "n-body":
        return [Cell(**ours, status=Status.THROTTLED, reason="clocks fell to 1.9 of 3.9 GHz: power limit")]
    implementations = [ours] if work.suite == "launch" else [ours, theirs]
    if work.suite == "gemm" and work.arithmetic in ("float32", "float64"):
        implementations.append(ours | {"implementation": "CLBlast 1.6.3, untuned", "role": Role.PEER})
    return _timed(sort, implementations, least, generator)


def _least(sort: Sort, work: Workload) -> float | None:
    if work.suite == "launch":
        return sort.launch
    name = work.arithmetic.rpartition("/")[2]
    peak = max((sort.peaks.get(known, 0.0) for known in (name, f"{name} matrix unit")), default=0.0)
    if not peak:
        return None
    return max((work.flops or 0.0) / (peak * 1e9), (work.nbytes or 0.0) / (sort.memory * 1e9)) + sort.launch / 2


_QUALITY = {Role.OURS: lambda sort: sort.ours, Role.VENDOR: lambda sort: sort.vendor, Role.PEER: lambda sort: 0.4}


def _timed(sort: Sort, implementations: list[dict], least: float, generator: np.random.Generator) -> list[Cell]:
    made = []
    for values in implementations:
        work = values["workload"]
        quality = _QUALITY[values["role"]](sort) * float(np.exp(generator.normal(0, 0.09)))
        seconds = least / min(quality, 0.985) if work.suite != "launch" else least
        noisy = sort is SORTS[3] and work.suite == "blas" and values["role"] is Role.OURS
        size = work.size.replace(" ", "")
        made.append(
            Cell(
                **values,
                status=Status.MEASURED,
                samples=samples(generator, seconds, 0.09 if noisy else 0.004),
                first_call=float(0.18 + generator.gamma(2, 0.2)) if values["role"] is Role.OURS else 0.02,
                device_seconds=seconds * 0.98,
                error=float(generator.uniform(0.02, 0.4)),
                stopped="relative error below 1%" if not noisy else "30 rounds",
                conditions={"core_clock_mhz": 1755.0, "temperature_c": 61.0},
                joules=seconds * sort.watts if sort.kind == "gpu" else None,
                kernel=f"{generator.integers(1 << 40):010x}" if values["role"] is Role.OURS else "",
                tuning="tuned in 60 s" if work.suite == "gemm" and values["role"] is Role.OURS else "",
                repeat=f"portagpu bench --filter {work.suite}/{work.name}/{work.arithmetic}/{size}",
            )
        )
    return made


def five() -> tuple[list[Run], list[str]]:
    """The runs, and what their files are called."""
    return [run_of(sort, seed) for seed, sort in enumerate(SORTS, 1)], [f"machine-{n}.json" for n in range(1, 6)]


def cell(seconds: float | None = 1.0, **changes) -> Cell:
    """One cell: a product of 256 in float32, by us, three steady rounds."""
    work = {"suite": "gemm", "name": "matmul", "arithmetic": "float32", "size": "256", "unit": Unit.GFLOPS}
    work |= {"flops": 1e9, "nbytes": 1e8} | changes.pop("work", {})
    values = {"device": 0, "workload": Workload(**work), "implementation": "PortaGPU", "role": Role.OURS}
    values |= {"memory": Memory.DEVICE, "caches": Caches.HOT, "status": Status.MEASURED}
    if seconds is None:
        values |= {"status": Status.FAILED, "reason": "no memory"}
    else:
        values["samples"] = tuple((seconds * (1 + 0.001 * n),) for n in (-1, 0, 1))
    return Cell(**{**values, **changes})


def vendors(seconds: float | None = 1.0, **changes) -> Cell:
    """As `cell`, by the vendor's library."""
    return cell(seconds, **{"implementation": "lib 2", "role": Role.VENDOR, **changes})


def run(*cells: Cell, devices: tuple[str, ...] = ("GPU",), identity: str = "r", **changes) -> Run:
    """A run on a machine of which nothing is told."""
    found = tuple(Device(machine=0, name=name, platform="p", driver="1.0") for name in devices)
    values = {"identity": identity, "started": "2026", "machines": (Machine(),), "devices": found, "cells": cells}
    return Run(**{**values, **changes})
