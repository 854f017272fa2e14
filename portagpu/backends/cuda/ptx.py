"""What makes PTX of the OpenCL driver's compiler run under CUDA's driver: a text goes in, a text comes out.

- OpenCL's environment registers hold nothing under CUDA: offsets of work-groups and of the grid are zero there, the
  number of work-groups is the number of blocks.
- A pointer to local memory is an argument that OpenCL's driver fills in. It becomes the address of the block's dynamic
  shared memory, behind the kernel's static arrays.
- CUDA's driver has the function that prints, which the text only declares: it must say that others define it.
- CUDA's driver takes at most 48 KB of static shared memory. Of a kernel that has more, all static arrays become parts
  of the dynamic shared memory; a comment in the text says how many bytes they are.
- A kernel whose text has the directives of clusters (`portagpu.backends.opencl.ptx.architecture`) is launched in such.

PTX ISA: "Special Registers" (``%envreg``), "State Spaces" (``.shared``), "Cluster Dimension Directives".
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from portagpu.errors import BuildError

DYNAMIC = "portagpu_dynamic_shared"
_MOVED = re.compile(r"^// portagpu: bytes of static arrays in dynamic shared memory, (\S+): (\d+)$", re.MULTILINE)
_LEAST_ALIGNMENT = 128  # bytes, of dynamic shared memory: OpenCL's largest vector type
_UNIT = 16  # bytes: static arrays that were moved end at a multiple of it
_MOST_STATIC = 48 << 10  # bytes of static shared memory that CUDA's driver takes
_BLOCKS = {6: "%nctaid.x", 7: "%nctaid.y", 8: "%nctaid.z"}
_ENVIRONMENT = re.compile(r"%envreg(\d+)\b")
_FUNCTION = re.compile(r"^(?:\.visible\s+|\.weak\s+|\.extern\s+)?\.(?:entry\s+([\w$]+)|func\b)", re.MULTILINE)
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
    moves = _moves(text)
    made = [_with_dynamic(body, moves.get(name)) for name, body in _functions(text)]
    text = _without_unused("".join(made), {array for move in moves.values() for array in move.places})
    if re.search(rf"\b{DYNAMIC}\b", text):
        notes = "".join(
            f"// portagpu: bytes of static arrays in dynamic shared memory, {name}: {move.nbytes}\n"
            for name, move in moves.items()
            if name is not None
        )
        alignment = max((move.alignment for move in moves.values()), default=_LEAST_ALIGNMENT)
        declared = f"{notes}.extern .shared .align {alignment} .b8 {DYNAMIC}[];\n"
        text = _HEAD_END.sub(lambda m: m.group(0) + declared, text, count=1)
    return text


def entries(text: str) -> dict[str, Entry]:
    """The kernels of a text that was patched, by their names."""
    moved = {name: int(nbytes) for name, nbytes in _MOVED.findall(text)}
    return {
        name: Entry(moved_bytes=moved.get(name, 0), cluster=_cluster(body), waits=_WAIT in body)
        for name, body in _functions(text)
        if name is not None
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Move:
    """Where static arrays of a kernel are in the dynamic shared memory."""

    places: dict[str, int]
    nbytes: int
    alignment: int


def _moves(text: str) -> dict[str | None, _Move]:
    """For kernels with more static arrays than CUDA's driver takes, by name.

    What functions use that are no kernels comes first, at the same places for all kernels, which all move then; these
    places are there for None.
    """
    arrays = {name: (int(align or 1), int(bits), int(count or 1)) for align, bits, name, count in _ARRAY.findall(text)}
    found: dict[str | None, _Move] = {}
    if not arrays:
        return found
    parts = [
        (name, set(re.findall(r"[\w$]+", body)) & arrays.keys()) for name, body in _functions(_ARRAY.sub("", text))
    ]
    common = {array: arrays[array] for array in arrays if any(name is None and array in used for name, used in parts)}
    for name, used in parts:
        own = {array: arrays[array] for array in arrays if array in used and array not in common}
        found[name] = _move(common if name is None else common | own)
    if common and any(move.nbytes > _MOST_STATIC for move in found.values()):
        return found
    return {name: move for name, move in found.items() if move.nbytes > _MOST_STATIC}


def _move(arrays: dict[str, tuple[int, int, int]]) -> _Move:
    """One behind the other; ``arrays``: alignments, bits of an element, and numbers of elements."""
    places: dict[str, int] = {}
    end, alignment = 0, _LEAST_ALIGNMENT
    for name, (align, bits, count) in arrays.items():
        size = max(1, bits // 8)
        step = max(align, size)
        places[name] = -(-end // step) * step
        end = places[name] + size * count
        alignment = max(alignment, step)
    return _Move(places=places, nbytes=end if end <= _MOST_STATIC else -(-end // _UNIT) * _UNIT, alignment=alignment)


def _with_dynamic(body: str, move: _Move | None) -> str:
    """A kernel with its moved arrays, and what OpenCL's driver fills in, in the dynamic shared memory."""
    if move is not None:
        names = "|".join(re.escape(name) for name in sorted(move.places, key=len, reverse=True))
        used = re.compile(rf"(?<![\w$])({names})(?![\w$])(?:\s*\+\s*(-?\d+))?")
        places = move.places
        body = used.sub(lambda m: f"{DYNAMIC}+{places[m[1]] + int(m[2] or 0)}", _without(body, places.keys()))
    behind = f"+{move.nbytes}" if move is not None else ""
    for _, name in _SHARED_PARAMETER.findall(body):
        load = re.compile(rf"\bld\.param\.([ubs](?:32|64))(\s+%\w+,\s*)\[{re.escape(name)}\];")
        body = load.sub(rf"mov.\1\2{DYNAMIC}{behind};", body)
    return _SHARED_PARAMETER.sub(r"\1 \2", body)


def _without(text: str, arrays: Collection[str]) -> str:
    """The text without the declarations of arrays."""
    return _ARRAY.sub(lambda m: "" if m[3] in arrays else m[0], text)


def _without_unused(text: str, moved: Collection[str]) -> str:
    """The text without the declarations of moved arrays that no kernel uses where they were any more."""
    used = set(re.findall(r"[\w$]+", _ARRAY.sub("", text)))
    return _without(text, [array for array in moved if array not in used])


def _functions(text: str) -> Iterator[tuple[str | None, str]]:
    """All parts of a text: kernels with their names; what is before the first function, and functions, without."""
    found = [(m.group(1), m.start()) for m in _FUNCTION.finditer(text)]
    begins: list[tuple[str | None, int]] = [(None, 0), *found]
    ends = [*(begin for _, begin in found), len(text)]
    for (name, begin), end in zip(begins, ends, strict=True):
        yield name, text[begin:end]


def _cluster(body: str) -> tuple[int, int, int] | None:
    found = _CLUSTER.search(body)
    return None if found is None else (int(found[1]), int(found[2]), int(found[3]))
