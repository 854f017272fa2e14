"""What drivers of SYCL devices do that cannot be asked of them: one row a platform, with the reason.

The compiler of Intel's CPU driver is the one of its OpenCL driver, so that its row says what is said there
(`portagpu.backends.opencl.quirks`, docs/driver-quirks.md).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Hints:
    """Fields are those of `portagpu.device.capabilities.Capabilities`.

    ``crashing_compiler``: on every device, since SYCL's own compiler ends the process over some programs (a loop that
    reverses the bits of bytes), before a driver sees them.
    """

    compares_ids: bool = True
    diverging_nests: bool = True
    cuts_subscripts: bool = True
    keeps_negations: bool = True
    blends_values: bool = True
    skips_loads: bool = True
    sums_differences: bool = True
    chooses_arrays: bool = True
    crashing_compiler: bool = True


_CPU_DRIVER = "Intel(R) OpenCL"
_HINTS = {
    (_CPU_DRIVER, "cpu"): Hints(
        compares_ids=False,
        diverging_nests=False,
        cuts_subscripts=False,
        keeps_negations=False,
        blends_values=False,
        skips_loads=False,
        sums_differences=False,
        chooses_arrays=False,
    ),
}
_NO_POINTERS = "kernels cannot take its memory as addresses (unified shared memory), and it takes no SPIR-V"
_REMEDIES = {
    _NO_POINTERS: "pip install intel-opencl-rt brings a CPU driver that does; this one runs programs as OpenCL's",
}


def hints_for(platform: str, kind: str) -> Hints:
    """The row of a platform's devices of a kind ("cpu", "gpu", "accelerator")."""
    return _HINTS.get((platform, kind), Hints())


def known_problem(facts: dict[str, str]) -> str | None:
    """Why a device that tells this of itself can run none of our kernels; None where it may."""
    if facts.get("usm_device") != "1":
        return _NO_POINTERS
    return None if facts.get("compiles_sycl") == "1" else "the SYCL run time compiles no source for it"


def remedy_for(problem: str) -> str:
    """What helps."""
    return _REMEDIES.get(problem, "update the driver and the SYCL run time; `portagpu doctor` tells what is installed")
