"""The command that measures a cell again: the same workload, device, operands, rules and peers, and nothing else."""

from __future__ import annotations

import shlex

from portagpu.bench.records.cell import Caches
from portagpu.bench.running.case import Entry, Options, Peers, Sizes
from portagpu.device import DeviceRecord, find_device
from portagpu.errors import PortaGPUError


def repetition(device: DeviceRecord, entry: Entry, options: Options, caches: Caches = Caches.HOT) -> str:
    """The command for an entry on a device, with all that its workload, its operands and its peers depend on."""
    of_suite = entry.command or (entry.path.partition("/")[0], "--filter", entry.path)
    return shlex.join(
        [*entry.program, *of_suite, "--device", selector(device), *_changed(options, caches is Caches.COLD)]
    )


def _changed(options: Options, is_cold: bool) -> list[str]:
    """Options that are not as they come."""
    tuned = options.clblast_tuned
    told: tuple[tuple[bool, list[str]], ...] = (
        (options.quick, ["--quick"]),
        (options.sizes is not Sizes.OWN, ["--sizes-of", options.sizes.value]),
        (options.small, ["--small"]),
        (is_cold, ["--cold"]),
        (not options.core_types, ["--no-core-types"]),
        (options.seed != 0, ["--seed", str(options.seed)]),
        (options.peers is not Peers.VENDOR, ["--peers", options.peers.value]),
        (tuned is not None, ["--clblast-tuned", "" if tuned is None else tuned.name]),  # its folders tell of people
    )
    return [word for is_so, words in told if is_so for word in words]


def selector(device: DeviceRecord) -> str:
    """What names a device among those of its machine: its name, if no other one is meant by it, else its index.

    A name may be a part of another one's, as where two drivers serve one processor.
    """
    for text in (device.name, device.platform, device.driver_version):
        try:
            if find_device(text).selector == device.selector:
                return text
        except PortaGPUError:  # an empty text, or the driver is gone
            continue
    return device.label


__all__ = ["repetition", "selector"]
