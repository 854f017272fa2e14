"""A campaign: programs of a subject in worker processes, failures minimised and printed, a JSON record."""

from __future__ import annotations

import argparse
import gc
import json
import multiprocessing
import os
import pickle
import re
import tempfile
import time
import traceback
from collections import Counter
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, field
from itertools import chain
from pathlib import Path
from random import Random
from typing import Any

from fuzz_minimise import minimised
from fuzz_subject import SUBJECTS, Difference, Invalid, Subject

CHUNK = 400  # programs of one process
MINIMISING = 120  # seconds for making a failure smaller
MINIMISED = 2  # failures of a kind in one chunk that are made smaller
PATIENCE = 240  # seconds after which a program is taken to hang
SHARING = ("arrays", "blas")  # subjects whose programs run kernels of earlier ones
BACK_ENDS = ("opencl", "cuda", "sycl")


@dataclass(frozen=True)
class Chunk:
    """The work of one process."""

    subject: str
    device: str
    seed: int
    programs: int
    end: float  # time() at which no further program begins
    cache: str  # a folder for caches of drivers


@dataclass
class Outcome:
    """Results of one chunk. ``failures``: reports with minimised programs; a crash ends the chunk."""

    seed: int
    programs: int = 0
    invalid: int = 0
    failed: int = 0
    failures: list[str] = field(default_factory=list)
    crashes: list[str] = field(default_factory=list)

    @classmethod
    def crashed(cls, seed: int, journal: Path, result: Path, reason: str) -> Outcome:
        """The outcome of a chunk whose process did not come to its end: with the failures before, not minimised."""
        if not journal.exists():
            return cls(seed, crashes=[f"{reason} before a program was drawn"])
        number, program = pickle.loads(journal.read_bytes())
        outcome = cls(**json.loads(result.read_text())) if result.exists() else cls(seed, number)
        outcome.crashes.append(f"{reason} over\n{program}")
        return outcome

    def save(self, result: Path) -> None:
        """Write the outcome at once: what follows may crash."""
        new = result.with_suffix(".new")
        new.write_text(json.dumps(asdict(self)))
        new.replace(result)


def kind(error: BaseException) -> str:
    """Failures of one kind have one cause, probably: the class, and the message without names and numbers."""
    if isinstance(error, Difference):
        return "Difference raises" if "raises" in str(error) else "Difference"
    first = str(error).strip().split("\n", 1)[0]
    words = re.findall(r"\b[^\W\d_]+\b", first)
    return " ".join([type(error).__name__, *words[:8]])


def run_chunk(chunk: Chunk) -> Outcome:
    """Draw and check programs in a process of their own: a driver may crash, or never return."""
    with tempfile.TemporaryDirectory(prefix="portagpu-fuzz-") as folder:
        journal, result = Path(folder, "program"), Path(folder, "outcome")
        # kernels are never seen again, those of arrays and routines are
        kept = {"POCL_CACHE_DIR": chunk.cache, "CUDA_CACHE_PATH": chunk.cache, "CUDA_CACHE_MAXSIZE": str(1 << 32)}
        dropped = {"POCL_CACHE_DIR": folder, "CUDA_CACHE_DISABLE": "1", "SYCL_CACHE_PERSISTENT": "0"}
        caches = kept if chunk.subject in SHARING else dropped
        child = multiprocessing.get_context("spawn").Process(target=_chunk, args=(chunk, journal, result, caches))
        child.start()
        while child.is_alive():
            child.join(1)
            changed = journal.stat().st_mtime if journal.exists() else time.time()
            if time.time() - changed > PATIENCE:
                child.kill()
                child.join()
                return Outcome.crashed(chunk.seed, journal, result, "the device does not return")
        if child.exitcode != 0:
            return Outcome.crashed(chunk.seed, journal, result, f"the process ended with {child.exitcode}")
        return Outcome(**json.loads(result.read_text()))


def _chunk(chunk: Chunk, journal: Path, result: Path, caches: dict[str, str]) -> None:
    os.environ |= {"PORTAGPU_WARNINGS": "0", **caches}
    _checked(chunk, journal, result)


def back_end_and_selector(device: str) -> tuple[str | None, str | int]:
    """``cuda:0`` is device 0 of the back end cuda; else a number or a part of a name."""
    back_end, _, rest = device.rpartition(":")
    if back_end and back_end not in BACK_ENDS:
        back_end, rest = "", device
    return back_end or None, int(rest) if rest.isdecimal() else rest


def _select(device: str) -> Any:
    back_end, selector = back_end_and_selector(device)
    if back_end:
        os.environ["PORTAGPU_BACKEND"] = back_end
    from portagpu import cuda  # reads the environment

    return cuda.select_device(selector)


def _checked(chunk: Chunk, journal: Path, result: Path) -> None:
    selected = _select(chunk.device)
    subject = Subject(chunk.subject)
    outcome = Outcome(chunk.seed)
    failures: list[tuple[str, Any]] = []

    def failure(program: Any) -> BaseException | None:
        journal.write_bytes(pickle.dumps((outcome.programs, program)))
        try:
            subject.check(program)
        except Invalid:
            return Invalid()
        except Exception as error:
            return error
        return None

    def explore() -> None:
        for program in chain.from_iterable(
            subject.drawn(Random(f"{chunk.seed}/{n}")) for n in range(2 * chunk.programs)
        ):
            if time.time() > chunk.end or outcome.programs == chunk.programs:
                return
            error = failure(program)
            if isinstance(error, Invalid):
                outcome.invalid += 1
                continue
            outcome.programs += 1
            if error is not None:
                failures.append((kind(error), program))

    gc.freeze()  # modules, which each collection would look at
    with selected:
        try:
            explore()
        except Exception:
            outcome.failures.append(f"the generator failed\n{traceback.format_exc()}")
        outcome.failed = len(failures)
        chosen = _one_of_each(failures)
        outcome.failures += [f"{wanted}, not minimised\n\n{program}" for wanted, program in chosen]
        outcome.save(result)
        for n, (wanted, program) in enumerate(chosen, len(outcome.failures) - len(chosen)):
            small = minimised(
                program,
                lambda candidate, wanted=wanted: (e := failure(candidate)) is not None and kind(e) == wanted,
                subject.smaller,
                MINIMISING,
            )
            error = failure(small)
            outcome.failures[n] = f"{type(error).__name__}: {error}\n\n{small}"
            outcome.save(result)


def _one_of_each(failures: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Some failures of each kind, the shortest."""
    seen: Counter[str] = Counter()
    chosen = []
    for wanted, program in sorted(failures, key=lambda f: len(f[1].source)):
        seen[wanted] += 1
        if seen[wanted] <= MINIMISED:
            chosen.append((wanted, program))
    return chosen


def _chunks(options: argparse.Namespace, end: float, cache: str) -> Any:
    n, left = 0, options.programs
    whole = max(1, min(CHUNK, -(-left // options.jobs)))
    while left > 0 and time.time() < end:
        size = min(whole, left)
        yield Chunk(options.subject, options.device, options.seed * 1_000_000 + n, size, end, cache)
        n, left = n + 1, left - size


def _campaign(options: argparse.Namespace) -> Any:
    """Outcomes as they come; as many chunks run at once as there are jobs."""
    end = time.time() + options.seconds
    with tempfile.TemporaryDirectory(prefix="portagpu-fuzz-") as cache, ThreadPoolExecutor(options.jobs) as pool:
        chunks = _chunks(options, end, cache)
        running: set[Future[Outcome]] = set()
        while True:
            while len(running) < options.jobs and (chunk := next(chunks, None)) is not None:
                running.add(pool.submit(run_chunk, chunk))
            if not running:
                return
            done, running = wait(running, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in done)


def main(arguments: list[str] | None = None) -> int:
    """Run a campaign; the number of failures is the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("subject", choices=SUBJECTS)
    parser.add_argument("--device", default="0", help="number or name in `portagpu devices`; cuda:0 for a back end's")
    parser.add_argument("--seconds", type=float, help="no program begins later; 60 where --programs is left out")
    parser.add_argument("--programs", type=int, help="number of programs; as many as the time allows if left out")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--record", type=Path, help="JSON file for seeds, counts and failures")
    options = parser.parse_args(arguments)
    if options.seconds is None:
        options.seconds = 60.0 if options.programs is None else float("inf")
    if options.programs is None:
        options.programs = 1 << 40
    began = time.time()
    outcomes: list[Outcome] = []
    for outcome in _campaign(options):
        outcomes.append(outcome)
        for text in (*outcome.failures, *outcome.crashes):
            print(f"--- seed {outcome.seed}\n{text}", flush=True)
        record = {
            "subject": options.subject,
            "device": options.device,
            "seed": options.seed,
            "programs": sum(o.programs for o in outcomes),
            "invalid": sum(o.invalid for o in outcomes),
            "failures": sum(max(o.failed, len(o.failures)) for o in outcomes),
            "crashes": sum(len(o.crashes) for o in outcomes),
            "seconds": round(time.time() - began),
        }
        print("{programs} {subject}, {failures} failures, {crashes} crashes, {seconds} s".format(**record), flush=True)
        if options.record is not None:
            whole = {**record, "chunks": [asdict(o) for o in outcomes]}
            new = options.record.with_suffix(".new")
            new.write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
            new.replace(options.record)
    return min(sum(max(o.failed, len(o.failures)) + len(o.crashes) for o in outcomes), 100)
