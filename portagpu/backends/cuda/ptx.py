"""What makes PTX of the OpenCL driver's compiler run under CUDA's driver: a text goes in, a text comes out.

- OpenCL's environment registers hold nothing under CUDA: offsets of work-groups and of the grid are zero there, the
  number of work-groups is the number of blocks.
- A pointer to local memory is an argument that OpenCL's driver fills in. It becomes the address of the block's dynamic
  shared memory, behind the kernel's static arrays.
- CUDA's driver has the function that prints, which the text only declares: it must say that others define it.
- CUDA's driver takes at most 48 KB of static shared memory. Of a program that has more, all static arrays become parts
  of the dynamic shared memory; a comment in the text says how many bytes they are.
- A kernel whose text has the directives of clusters (`portagpu.backends.opencl.architecture_ptx`) is launched in such.

PTX ISA: "Special Registers" (``%envreg``), "State Spaces" (``.shared``), "Cluster Dimension Directives".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from portagpu.errors import BuildError

DYNAMIC = "portagpu_dynamic_shared"
_MOVED = "// portagpu: bytes of static arrays in dynamic shared memory: "
_LEAST_ALIGNMENT = 128  # bytes, of dynamic shared memory: OpenCL's largest vector type
_UNIT = 16  # bytes: static arrays that were moved end at a multiple of it
_MOST_STATIC = 48 << 10  # bytes of static shared memory that CUDA's driver takes
_BLOCKS = {6: "%nctaid.x", 7: "%nctaid.y", 8: "%nctaid.z"}
_ENVIRONMENT = re.compile(r"%envreg(\d+)\b")
_ENTRY = re.compile(r"^(?:\.visible\s+|\.weak\s+)?\.entry\s+([\w$]+)", re.MULTILINE)
_SHARED_PARAMETER = re.compile(r"(\.param\s+\.\w+)\s+\.ptr\s+\.shared\s+(?:\.align\s+\d+\s+)?([\w$]+)")
_PRINTF = re.compile(r"^\.func\s+\(\.param \.b32 func_retval0\) vprintf$", re.MULTILINE)
_MODE = re.compile(r"^(\.target \w+), texmode_independent$", re.MULTILINE)
_ARRAY = re.compile(
    r"^[ \t]*(?:\.visible\s+|\.weak\s+)?\.shared\s+(?:\.align\s+(\d+)\s+)?\.[a-z]*(\d+)\s+([\w$]+)(?:\[(\d+)\])?;\n",
    re.MULTILINE,
)
_WAIT = "griddepcontrol.wait;"
_CLUSTER = re.compile(r"^\.reqnctapercluster (\d+), (\d+), (\d+)$", re.MULTILINE)
_HEAD_END = re.compile(r"^\.address_size[^\n]*\n", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What launches of a kernel must say beside grid, block and arguments."""

    moved_bytes: int  # of static arrays that are parts of the dynamic shared memory
    cluster: tuple[int, int, int] | None = None
    waits: bool = False  # for the launches before it, so that it may begin before they are done


def patched(text: str) -> str:
    """The text for CUDA's driver. Raises `BuildError` for a register of OpenCL's that nothing stands for."""
    text = _ENVIRONMENT.sub(_environment, text.rstrip("\0"))
    text = _MODE.sub(r"\1", _PRINTF.sub(r".extern \g<0>", text))
    text, moved, alignment = _with_moved_arrays(text)
    for _, name in _SHARED_PARAMETER.findall(text):
        load = re.compile(rf"\bld\.param\.([ubs](?:32|64))(\s+%\w+,\s*)\[{re.escape(name)}\];")
        text = load.sub(rf"mov.\1\2{DYNAMIC}{f'+{moved}' if moved else ''};", text)
    text = _SHARED_PARAMETER.sub(r"\1 \2", text)
    if re.search(rf"\b{DYNAMIC}\b", text):
        note = f"{_MOVED}{moved}\n" if moved else ""
        declared = f"{note}.extern .shared .align {alignment} .b8 {DYNAMIC}[];\n"
        text = _HEAD_END.sub(lambda m: m.group(0) + declared, text, count=1)
    return text


def entries(text: str) -> dict[str, Entry]:
    """The kernels of a text that was patched, by their names."""
    found = re.search(re.escape(_MOVED) + r"(\d+)", text)
    moved = 0 if found is None else int(found.group(1))
    return {
        name: Entry(moved_bytes=moved, cluster=_cluster(body), waits=_WAIT in body) for name, body in _kernels(text)
    }


def _environment(found: re.Match[str]) -> str:
    number = int(found.group(1))
    if number < min(_BLOCKS):
        return "0"
    if number not in _BLOCKS:
        error = BuildError(
            f"the program reads OpenCL's environment register {number}, which nothing stands for under CUDA",
            hint="please report this as a bug, with kernel.inspect_opencl(); PORTAGPU_BACKEND=opencl runs the kernel",
        )
        error.log = found.string
        raise error
    return _BLOCKS[number]


def _with_moved_arrays(text: str) -> tuple[str, int, int]:
    """The text, with static arrays as parts of the dynamic shared memory where CUDA's driver refuses as many; their
    bytes, and the alignment of the dynamic shared memory."""
    places: dict[str, int] = {}
    end, alignment = 0, _LEAST_ALIGNMENT
    for align, bits, name, count in _ARRAY.findall(text):
        size = max(1, int(bits) // 8)
        step = max(int(align or size), size)
        places[name] = -(-end // step) * step
        end = places[name] + size * int(count or 1)
        alignment = max(alignment, step)
    if end <= _MOST_STATIC:
        return text, 0, _LEAST_ALIGNMENT
    names = "|".join(re.escape(name) for name in sorted(places, key=len, reverse=True))
    used = re.compile(rf"(?<![\w$])({names})(?![\w$])(?:\s*\+\s*(-?\d+))?")
    text = used.sub(lambda m: f"{DYNAMIC}+{places[m[1]] + int(m[2] or 0)}", _ARRAY.sub("", text))
    return text, -(-end // _UNIT) * _UNIT, alignment


def _kernels(text: str) -> Iterator[tuple[str, str]]:
    """Names and texts of kernels."""
    found = [(m.group(1), m.start()) for m in _ENTRY.finditer(text)]
    ends = [*(begin for _, begin in found[1:]), len(text)]
    for (name, begin), end in zip(found, ends, strict=True):
        yield name, text[begin:end]


def _cluster(body: str) -> tuple[int, int, int] | None:
    found = _CLUSTER.search(body)
    return None if found is None else (int(found[1]), int(found[2]), int(found[3]))
