"""The text of docs/reference.md, made from the registries of the package."""

from __future__ import annotations

from collections.abc import Iterator

from portagpu import cuda
from portagpu.dialect.names import Intrinsic, VectorMaker
from portagpu.dialect.reference.core import HARDWARE, SECTIONS, entry_of
from portagpu.dialect.reference.entry import ReferenceEntry
from portagpu.frontend.arrays.attributes import ARRAY_ATTRIBUTES
from portagpu.frontend.core.registry import INTRINSICS, METHODS, NUMBER_METHODS
from tools.docstrings import escaped, table
from tools.entries import joined
from tools.reference import host_names, python_functions
from tools.reference.lowered import lower
from tools.reference.profiles import WITHOUT
from tools.reference.samples import cell, lowerings, samples

FRESH = (
    "This page is made from the package's own tables: `python -m tools.documents` writes it, and a test fails when it\n"
    "is stale."
)
HEAD = f"""\
# Reference

What you call on the host comes first. `help(cuda.to_device)` shows the same in Python.

| Page | What it has |
| --- | --- |
| this page | the host side of `portagpu.cuda`: arrays, devices, streams, classes |
| [api-matmul.md](api-matmul.md) | `portagpu.matmul`, `grouped_matmul` and `portagpu.blas` |
| [api-tuning.md](api-tuning.md) | `portagpu.tuning` |
| [api-errors.md](api-errors.md) | every exception and warning |
| [reference-kernels.md](reference-kernels.md) | names inside kernels, from indices to warps; what a device may lack |
| [reference-python.md](reference-python.md) | functions of Python, `math`, `cmath` and NumPy inside kernels; arrays |
| [reference-libdevice.md](reference-libdevice.md) | `cuda.libdevice` |
| [reference-hardware.md](reference-hardware.md) | asynchronous copies and matrix units |
| [cli.md](cli.md), [environment.md](environment.md) | commands and environment variables |

What is not here: [not-portable.md](not-portable.md).

{FRESH}
## In one program

```python
import numpy as np
from portagpu import cuda


@cuda.jit
def axpy(a, x, y):
    i = cuda.grid(1)
    if i < y.size:
        y[i] += a * x[i]


@cuda.vectorize
def squared_error(x, y):
    return (x - y) ** 2


print(cuda.get_current_device().name, len(cuda.gpus))
stream, start, end = cuda.stream(), cuda.event(), cuda.event()
x = cuda.to_device(np.arange(1000, dtype=np.float32), stream=stream)  # copied to the device
y = cuda.device_array_like(x)  # uninitialised
y[:] = 1
start.record(stream)
axpy[4, 256, stream](np.float32(2), x, y)  # 4 blocks of 256 threads
end.record(stream)
stream.synchronize()
print(start.elapsed_time(end), "ms")

errors = squared_error(x, y)  # a device array, since x and y are
total = cuda.reduce(lambda a, b: a + b)(errors)
assert np.isclose(total, ((np.arange(1000) + 1.0) ** 2).sum())
assert y.copy_to_host()[10] == 21
```
"""

LOWERINGS = f"""\
# Names inside kernels

{FRESH}

The last column is what the code generator writes for a small kernel, on made-up devices of three classes: a CPU (OpenCL
C 1.2), a GPU with sub-groups such as those of AMD and Intel, and one of NVIDIA's, which takes inline PTX. One text
alone holds for all three.

- `f(x)`: a function of OpenCL C's core. In brackets: an optional extension that it needs. What computes with float64 or
  complex128 needs `cl_khr_fp64` besides.
- PTX: instructions of NVIDIA's, written inline. There is a helper around them, which moves values in and out.
- `pg_...`: emulated by a helper function in OpenCL C, which `kernel.inspect_opencl()` shows.
- a loop of `atomic_cmpxchg`: right, but slow where many threads meet.
- an exchange through shared memory: right, but as slow as the barriers of the block that it needs.
- a function in the dialect: written in Python like a kernel, and compiled with it.
- no code: known when the kernel is compiled, or nothing to do.

`place` is the address of the element, here in global memory; in shared memory it is the same with `__local`, or
`atom.shared`.
"""

_NOTES = {
    "Indices": "Python integers are 64-bit among integers and adopt the float's type among floats:"
    " [dialect.md](dialect.md#the-one-difference-python-numbers-are-weak).",
    "Memory": "Local arrays that are indexed by constants only become separate variables.",
    "Atomics": "Arrays are in global or shared memory; uint32 and uint64 become what int32 and int64 do.",
    "Warps": "On CPUs and GPUs without inline PTX a warp is 32 consecutive threads of a block.",
    "float16": "`cuda.fp16`. Arguments are converted to float16. Without half arithmetic they are computed in float32"
    " and rounded after each operation.",
    HARDWARE: "Most are instructions of some GPUs and have no other form: kernels that use them ask the device first.\n"
    "`portagpu.matmul` does that; its kernels, in `portagpu/blas`, show how they are used.",
    "libdevice": "`cuda.libdevice`. Arguments are converted to the types shown. With `fastmath=True` the driver may use"
    " faster, less exact functions.",
}


def sections() -> dict[str, list[str]]:
    """Every name that kernels use, by the sections of the page."""
    found = {section: list(entries) for section, entries in SECTIONS.items() if section != HARDWARE}
    for section, prefix in (("float16", "fp16."), ("libdevice", "libdevice.")):  # tables of their own
        found[section] = [name for name in INTRINSICS if name.startswith(prefix)]
    return {**found, HARDWARE: list(SECTIONS[HARDWARE])}


def names() -> list[str]:
    """Every name that kernels use."""
    return [name for members in sections().values() for name in members]


def section_of(name: str) -> str:
    """The section of a name. Raises `StopIteration` where it has none."""
    return next(section for section, members in sections().items() if name in members)


def described(name: str) -> ReferenceEntry:
    """The meaning of a name. Raises `LookupError` where nobody wrote one."""
    found = entry_of(name)
    if found is None:
        raise LookupError(f"cuda.{name} has no entry in portagpu.dialect.reference.core")
    return found


def _section(section: str, members: list[str]) -> Iterator[str]:
    """A section's notes, table and errors."""
    if section in _NOTES:
        yield _NOTES[section] + "\n"
    rows: list[tuple[str, ...]] = []
    for name in sorted(members) if section in ("libdevice", "float16") else members:
        meaning = described(name)
        short = name.removeprefix("libdevice.").removeprefix("fp16.")
        row = (f"`{meaning.signature(short)}`", _types(meaning), escaped(meaning.text))
        rows.append(row if section == HARDWARE else (*row, cell(lowerings(name, meaning))))
    yield table("Name | Takes → gives | Meaning" + ("" if section == HARDWARE else " | Becomes"), rows)
    if section not in ("libdevice", "float16", "Indices"):
        yield _errors(members)


def _types(meaning: ReferenceEntry) -> str:
    """What goes in and comes out."""
    parameters = [escaped(p) for p in meaning.parameters or ()]
    if all("converted to " in p for p in parameters):
        takes = ", ".join(p.partition("converted to ")[2] for p in parameters)
    else:
        takes = "<br>".join(parameters)
    return f"{takes} → {meaning.result}" if takes else meaning.result


def _errors(members: list[str]) -> str:
    by_text: dict[str, list[str]] = {}
    for name in members:
        text = described(name).errors
        if text:
            by_text.setdefault(text, []).append(f"`{name}`")
    return "".join(f"- {', '.join(found)}: {text}\n" for text, found in by_text.items())


def _vectors() -> str:
    makers: dict[VectorMaker, list[str]] = {}
    for name in cuda.__all__:
        value = getattr(cuda, name)
        if isinstance(value, VectorMaker):
            makers.setdefault(value, []).append(name)
    by_dtype: dict[str, list[str]] = {}
    for maker, found in makers.items():
        by_dtype.setdefault(maker.dtype.name, []).append(" = ".join(f"`{n}`" for n in found))
    rows = [(dtype, ", ".join(found)) for dtype, found in by_dtype.items()]
    return (
        "Vector types make a vector from lanes, or one number for each lane; `v.x`, `v[0]` read a lane.\n"
        "They are OpenCL C's `float4` and so on.\n\n" + table("Lanes | Names", rows)
    )


def _python() -> Iterator[str]:
    yield "# Python and NumPy in kernels\n"
    yield FRESH
    yield (
        "What they mean is what they mean in Python and NumPy. For integers, `math`'s functions compute in float64\n"
        "where the device has it. NumPy's ufuncs take whole arrays, too, with an array for the result:\n"
        "`np.add(x, y, out)`.\n"
    )
    yield table("Functions | Take | Become", [tuple(row) for row in python_functions.rows()])


def _arrays() -> Iterator[str]:
    yield "## Arrays\n"
    yield f"Attributes: {', '.join(f'`{n}`' for n in sorted(ARRAY_ATTRIBUTES))}.\n"
    yield f"Methods: {', '.join(f'`{n}()`' for n in sorted(METHODS))}; they loop over the elements or make views.\n"
    yield f"Methods of numbers: {', '.join(f'`{n}()`' for n in NUMBER_METHODS)}.\n"


def _lacking() -> Iterator[str]:
    """What fails on a device that lacks something, found by lowering every name for it."""
    yield "## What a device may lack\n"
    yield "A kernel that needs it does not compile: `MissingCapabilityError`, with the line and a hint.\n"
    rows = []
    for title, caps in WITHOUT.items():
        failing: dict[str, str] = {}
        for name in names():
            for sample in samples(name, described(name)) if section_of(name) != HARDWARE else ():
                error = lower(sample.call, sample.rest, sample.arguments, caps).error
                if error is not None:
                    failing.setdefault(name, error.message)
        found = ", ".join(f"`{n}`" for n in failing) if len(failing) < 50 else "all that compute with it"
        rows.append((title, found, escaped(next(iter(failing.values())))))
    yield table("Without | These names | Say, for example", rows)


def check_public_names() -> None:
    """Raise `LookupError` for a public name that no section shows."""
    shown = {n.partition(".")[0] for n in names()} | set(host_names.sections())
    missing = [n for n in cuda.__all__ if n not in shown and not isinstance(getattr(cuda, n), VectorMaker | Intrinsic)]
    if missing:
        raise LookupError(f"names of portagpu.cuda without a place in the reference: {missing}")


def host_text() -> str:
    """The page of the host side, with which the reference begins."""
    check_public_names()
    return joined([HEAD, *host_names.parts()])


def kernels_text() -> str:
    """The page of names inside kernels, but for those with pages of their own."""
    parts = [LOWERINGS]
    for section, members in sections().items():
        if section not in ("libdevice", HARDWARE):
            parts += [f"## {section}\n", *_section(section, members)]
            parts += [_vectors()] if section == "Loops and vectors" else []
    return joined([*parts, *_lacking()])


def python_text() -> str:
    """The page of Python's own functions, NumPy's, and arrays in kernels."""
    return joined([*_python(), *_arrays()])


def libdevice_text() -> str:
    """The page of `cuda.libdevice`."""
    return joined(["# libdevice\n", FRESH, *_section("libdevice", sections()["libdevice"])])


def hardware_text() -> str:
    """The page of asynchronous copies and matrix units."""
    return joined([f"# {HARDWARE}\n", FRESH, *_section(HARDWARE, sections()[HARDWARE])])
