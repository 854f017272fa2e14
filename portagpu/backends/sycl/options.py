"""Options of the compilers for what `cuda.jit` was asked for: SYCL's, and then the driver's, which begin with -cl-."""

from __future__ import annotations

from portagpu.backends.compilers import NOT_OPTIMISED, UNOPTIMISED, CompilerOptions
from portagpu.backends.sycl.codegen.flags import FLAGS
from portagpu.device.capabilities import Capabilities

_DRIVERS = "-cl-"
_FLAGS = {  # clang's, for LLVM's names of what may be taken for granted
    "nnan": "-fno-honor-nans",
    "ninf": "-fno-honor-infinities",
    "nsz": "-fno-signed-zeros",
    "arcp": "-freciprocal-math",
    "contract": "-ffp-contract=fast",
    "afn": "-fapprox-func",
    "reassoc": "-fassociative-math",
}


def options_for(
    asked: CompilerOptions, caps: Capabilities, source: str, always: tuple[str, ...] = FLAGS
) -> tuple[str, ...]:
    """Options for this text; ``always`` are those of the code generator."""
    allowed = asked.fastmath
    if "fast" in allowed:
        allowed = frozenset(_FLAGS)
    if not caps.keeps_negations and "barrier(" in source:  # `0 - x` must not become a negation
        allowed = allowed - {"nsz", "reassoc"}
    options = [*always, *(flag for name, flag in _FLAGS.items() if name in allowed)]
    if not asked.opt or NOT_OPTIMISED in source:
        options.append(UNOPTIMISED)
    return tuple(options)


def sycl_options(options: tuple[str, ...]) -> tuple[str, ...]:
    """Those of SYCL's compiler."""
    return tuple(option for option in options if not option.startswith(_DRIVERS))


def driver_options(options: tuple[str, ...]) -> tuple[str, ...]:
    """Those of the driver's compiler."""
    return tuple(option for option in options if option.startswith(_DRIVERS))
