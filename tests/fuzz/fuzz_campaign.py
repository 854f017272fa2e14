"""A long run: chunks of kernels in worker processes, differences shrunk and printed, a JSON record kept up to date."""

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
    """What one chunk gave: ``failures`` are reports with shrunk sources; a crash ends the chunk."""

    seed: int
    kernels: int = 0
    failures: list[str] = field(default_factory=list)
    crashes: list[str] = field(default_factory=list)

    @classmethod
    def crashed(cls, seed: int, journal: Path, what: str) -> Outcome:
        """A chunk whose process did not come to its end."""
        if not journal.exists():
            return cls(seed, crashes=[f"{what} before a kernel was drawn"])
        number, text = journal.read_text().split("\n", 1)
        return cls(seed, int(number) - 1, crashes=[f"{what} over\n{text}"])


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
                return Outcome.crashed(seed, journal, "the device does not return")
        if not result.exists():
            return Outcome.crashed(seed, journal, f"the process ended with {child.exitcode}")
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
    from hypothesis.errors import UnsatisfiedAssumption

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
        journal.write_text(f"{outcome.kernels}\n{kernel}")
        try:
            check(kernel)
        except UnsatisfiedAssumption:
            raise  # no example
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
    began, device = time.time(), _device_name(options.device)
    chunks = [
        (options.device, options.seed * 1_000_000 + n, min(CHUNK, options.kernels - n * CHUNK))
        for n in range(-(-options.kernels // CHUNK))
    ]
    outcomes: list[Outcome] = []
    with ThreadPoolExecutor(options.jobs) as pool:
        for outcome in pool.map(lambda chunk: run_chunk(*chunk), chunks):
            outcomes.append(outcome)
            for text in (*outcome.failures, *outcome.crashes):
                print(f"--- seed {outcome.seed}\n{text}", flush=True)
            record = {
                "device": device,
                "seed": options.seed,
                "kernels": sum(o.kernels for o in outcomes),
                "differences": sum(len(o.failures) for o in outcomes),
                "crashes": sum(len(o.crashes) for o in outcomes),
                "seconds": round(time.time() - began),
            }
            print("{kernels} kernels, {differences} differences, {crashes} crashes, {seconds} s".format(**record))
            if options.record is not None:
                whole = {**record, "chunks": [asdict(o) for o in outcomes]}
                new = options.record.with_suffix(".new")
                new.write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
                new.replace(options.record)
    return min(sum(len(o.failures) + len(o.crashes) for o in outcomes), 100)


def _device_name(index: int) -> str:
    from portagpu.device import working_devices

    return next(f"{d.platform}: {d.name}" for d in working_devices() if d.index == index)
