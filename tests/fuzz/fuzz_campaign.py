"""A long run: chunks of kernels in worker processes, differences shrunk and printed, a JSON record at the end."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import tempfile
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path

CHUNK = 100  # kernels drawn from one seed
SHRINKING = 40  # seconds for making a failure smaller
PATIENCE = 90  # seconds after which a kernel is taken to hang


@dataclass
class Outcome:
    """What one chunk gave: ``failures`` are reports with shrunk sources."""

    seed: int
    kernels: int = 0
    failures: list[str] = field(default_factory=list)


def run_chunk(device: int, seed: int, kernels: int) -> Outcome:
    """Draw and check kernels from a seed in a process of their own: a driver may crash, or never return."""
    with tempfile.TemporaryDirectory(prefix="portagpu-fuzz-") as folder:
        journal, result = Path(folder, "kernel"), Path(folder, "outcome")
        # each chunk has caches of its own, which go with it: the kernels are never seen again
        caches = {"PORTAGPU_CACHE_DIR": folder, "POCL_CACHE_DIR": folder, "CUDA_CACHE_DISABLE": "1"}
        child = multiprocessing.get_context("spawn").Process(
            target=_chunk, args=(device, seed, kernels, journal, result, caches)
        )
        child.start()
        while child.is_alive():
            child.join(5)
            changed = journal.stat().st_mtime if journal.exists() else time.time()
            if time.time() - changed > PATIENCE:
                child.kill()
                child.join()
                return Outcome(seed, 0, [f"the device does not return from\n{journal.read_text()}"])
        if not result.exists():
            last = journal.read_text() if journal.exists() else "nothing: no kernel was drawn"
            return Outcome(seed, 0, [f"the process ended with {child.exitcode} over\n{last}"])
        return Outcome(**json.loads(result.read_text()))


def _chunk(device: int, seed: int, kernels: int, journal: Path, result: Path, caches: dict[str, str]) -> None:
    os.environ |= {"PORTAGPU_WARNINGS": "0", **caches}
    result.write_text(json.dumps(asdict(_checked(device, seed, kernels, journal))))


def _checked(device: int, seed: int, kernels: int, journal: Path) -> Outcome:
    # the caches' folders are read when these are imported
    from fuzz_programs import Kernel
    from fuzz_programs import kernels as drawn
    from fuzz_run import Difference, check
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis import seed as seeded

    from portagpu import cuda

    outcome = Outcome(seed)
    late = 0.0
    failed: dict[str, str] = {}  # the smallest report of each kind of failure

    @seeded(seed)
    @settings(
        max_examples=kernels,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(drawn())
    def explore(kernel: Kernel) -> None:
        nonlocal late
        if not failed:
            outcome.kernels += 1
            late = time.monotonic() + SHRINKING
        elif time.monotonic() > late:
            return
        journal.write_text(str(kernel))
        try:
            check(kernel)
        except Exception as error:
            report = f"{type(error).__name__}: {error}\n{kernel}"
            kind = f"{type(error).__name__} {str(error).splitlines()[0]}" if not isinstance(error, Difference) else ""
            if kind not in failed or len(report) < len(failed[kind]):
                failed[kind] = report
            raise

    with cuda.select_device(device):
        try:
            explore()
        except Exception:
            outcome.failures += failed.values() or [f"the generator failed\n{traceback.format_exc()}"]
    return outcome


def main(arguments: list[str] | None = None) -> int:
    """Run what the command line asks for; the number of differences is the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--device", type=int, default=0, help="number in `portagpu devices`")
    parser.add_argument("--kernels", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--record", type=Path, help="JSON file for seeds, counts and differences")
    options = parser.parse_args(arguments)
    began = time.time()
    chunks = [
        (options.device, options.seed * 1_000_000 + n, min(CHUNK, options.kernels - n * CHUNK))
        for n in range(-(-options.kernels // CHUNK))
    ]
    outcomes: list[Outcome] = []
    with ThreadPoolExecutor(options.jobs) as pool:
        for outcome in pool.map(lambda chunk: run_chunk(*chunk), chunks):
            outcomes.append(outcome)
            for failure in outcome.failures:
                print(f"--- seed {outcome.seed}\n{failure}", flush=True)
            done, bad = sum(o.kernels for o in outcomes), sum(len(o.failures) for o in outcomes)
            print(f"{done} kernels, {bad} differences, {time.time() - began:.0f} s", flush=True)
    failures = sum(len(o.failures) for o in outcomes)
    if options.record is not None:
        record = {
            "device": _device_name(options.device),
            "seed": options.seed,
            "kernels": sum(o.kernels for o in outcomes),
            "failures": failures,
            "seconds": round(time.time() - began),
            "chunks": [asdict(o) for o in outcomes],
        }
        options.record.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return min(failures, 100)


def _device_name(index: int) -> str:
    from portagpu.device import working_devices

    return next(f"{d.platform}: {d.name}" for d in working_devices() if d.index == index)
