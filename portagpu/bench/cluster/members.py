"""Who takes part: a connection to Dask's scheduler, and of its workers one for each machine, of our own version."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from portagpu.bench.cluster import worker
from portagpu.bench.cluster.worker import Introduction, Order
from portagpu.bench.running.measuring import reason_of
from portagpu.errors import WorkersError
from portagpu.version import __version__

CONNECT_SECONDS = 10.0
GREETING_SECONDS = 60.0
"""For a worker's answer that needs no work: it may have to import the package."""
_HINT = "workers must have this version of PortaGPU: pip install there what is installed here, and start them anew"
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A worker that measures: ``process`` is what `portagpu.bench.cluster.worker.PROCESS` is there."""

    address: str
    process: str
    introduction: Introduction


@contextlib.contextmanager
def connected(address: str) -> Iterator[Any]:
    """Dask's client of a scheduler. Raises `WorkersError`."""
    if importlib.util.find_spec("distributed") is None:
        raise WorkersError("--dask needs Dask's package distributed", hint="pip install 'portagpu[dask]'")
    distributed = importlib.import_module("distributed")  # slow to import, and optional
    # what its client tells of lost workers and schedulers, this package tells in its own words
    log = logging.getLogger("distributed.client")
    level = log.level
    log.setLevel(logging.CRITICAL)
    try:
        try:
            client = distributed.Client(address, timeout=CONNECT_SECONDS, set_as_default=False, name="portagpu-bench")
        except (OSError, ValueError, TypeError) as error:
            raise WorkersError(
                f"no Dask scheduler answers at {address}: {reason_of(error)}", hint="start one: dask scheduler"
            ) from error
        with contextlib.closing(client):
            yield client
    finally:
        log.setLevel(level)


def submit(client: Any, address: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """A future of a call in one worker, and in no other; it is not made again where the worker dies."""
    options = {"workers": [address], "allow_other_workers": False, "retries": 0, "pure": False}
    return client.submit(function, *arguments, **options)


def addresses(client: Any) -> list[str]:
    """The workers that are there now. Raises OSError without a scheduler."""
    return sorted(client.nthreads())


def members(client: Any, order: Order, limit: float, say: Say) -> list[Member]:
    """One worker for each machine, with what it has.

    ``say`` is told of those that are not used. Raises `WorkersError` without any, and for other versions than this.
    """
    there = addresses(client)
    if not there:
        raise WorkersError("Dask's scheduler has no workers", hint="start one on each machine: dask worker ADDRESS")
    greeted = _asked(client, there, worker.greeting, (), min(limit, GREETING_SECONDS), say, strict=True)
    _check_versions(greeted)
    machines: dict[str, str] = {}
    for address, told in greeted.items():
        first = machines.setdefault(told["machine"], address)
        if first != address:
            say(f"{address} is not used: it is on the same machine as {first}")
    introduced = _asked(client, list(machines.values()), worker.introduction, (order,), limit, say)
    found = []
    for address, introduction in introduced.items():
        if introduction.problem:
            say(f"{address} is not used: {introduction.problem}")
        else:
            found.append(Member(address=address, process=greeted[address]["process"], introduction=introduction))
    if not found:
        raise WorkersError("none of Dask's workers can measure what is asked for")
    return found


def _asked(
    client: Any,
    there: Sequence[str],
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    limit: float,
    say: Say,
    strict: bool = False,
) -> dict[str, Any]:
    """The workers' answers by their addresses; without those that do not answer. ``strict``: an error is ours."""
    futures = {address: submit(client, address, function, *arguments) for address in there}
    end = time.monotonic() + limit
    answers = {}
    for address, future in futures.items():
        try:
            answers[address] = future.result(timeout=max(end - time.monotonic(), 0.1))
        except (TimeoutError, OSError):
            say(f"{address} is not used: it does not answer within {limit:g} s")
        except Exception as error:  # whatever its interpreter says
            if strict and isinstance(error, ImportError | AttributeError):
                told = f"worker {address} has no PortaGPU, or one without this command: {reason_of(error)}"
                raise WorkersError(told, hint=_HINT) from error
            say(f"{address} is not used: {reason_of(error)}")
        finally:
            future.cancel()
    return answers


def _check_versions(greeted: dict[str, dict[str, str]]) -> None:
    others = [(address, told["version"]) for address, told in greeted.items() if told["version"] != __version__]
    if others:
        listed = ", ".join(f"{address} has {version}" for address, version in others)
        raise WorkersError(f"this is PortaGPU {__version__}, and worker {listed}", hint=_HINT)


__all__ = ["CONNECT_SECONDS", "GREETING_SECONDS", "Member", "Say", "addresses", "connected", "members", "submit"]
