"""What each name of the dialect takes, gives and means: `help` shows it, and docs/reference.md is made from it."""

from __future__ import annotations

from collections.abc import Callable

from portagpu.dialect.reference import clusters, matrix_hardware, subgroups
from portagpu.dialect.reference.entry import ReferenceEntry, call

HARDWARE = "Asynchronous copies and matrix units"


def _value(result: str, text: str) -> ReferenceEntry:
    return ReferenceEntry(None, result, text)


_INDEX = "a Python integer"
_AXES = "x y z"
_CONSTANT_AXES = "KernelValueError: `ndim` is not the constant 1, 2 or 3."
_SHAPE = "shape: constant int or tuple"
_DTYPE = "dtype: NumPy, scalar, vector or record type"
_ALIGNMENT = "alignment: bytes, a constant power of two up to 1024 = None"
_SHAPE_ERRORS = "NeedsConstantError: the shape is not known at compile time. KernelTypeError: the dtype is none."
_POINTER = "pointer: numbers side by side; shape: extents; dtype: type of the elements = None"
_OTHER = "KernelTypeError: it is no pointer, or its elements have another dtype."
_CELLS = "array: 32- or 64-bit integers or floats"
_BITS = "array: 32- or 64-bit integers"
_PLACE = "index: int, or tuple of ints"
_SIDE_BY_SIDE = "array: numbers side by side"
_OLD = "the old value"
_ATOMIC_ERRORS = (
    "KernelTypeError: elements of 8 or 16 bits, complex or not aligned; a read-only array."
    " MissingCapabilityError: 64 bits on a device without 64-bit atomics."
)
_MASK = "mask: int"
_SHUFFLED = "value: integer or float of up to 64 bits"
_EXCHANGE_ERRORS = "KernelTypeError: bools, vectors or complex numbers."

_INDICES: dict[str, ReferenceEntry] = {}
for _axis in _AXES.split():
    _INDICES |= {
        f"threadIdx.{_axis}": _value(_INDEX, f"This thread's number in its block along {_axis}, from 0."),
        f"blockIdx.{_axis}": _value(_INDEX, f"This block's number in the grid along {_axis}, from 0."),
        f"blockDim.{_axis}": _value(_INDEX, f"Threads of a block along {_axis}."),
        f"gridDim.{_axis}": _value(_INDEX, f"Blocks of the grid along {_axis}."),
    }

# the sections of the reference; a new name is an entry here, and nothing else makes it known
SECTIONS: dict[str, dict[str, ReferenceEntry]] = {
    "Indices": {
        **_INDICES,
        "grid": call(
            "ndim: 1, 2 or 3", "a Python integer, or a tuple", "This thread's number in the whole grid.", _CONSTANT_AXES
        ),
        "gridsize": call(
            "ndim: 1, 2 or 3", "a Python integer, or a tuple", "Threads of the whole grid.", _CONSTANT_AXES
        ),
        "laneid": _value(_INDEX, "This thread's number in its warp, from 0."),
        "warpsize": _value("a constant", "Threads of a warp: 32, also where the device has none, or others."),
    },
    "Memory": {
        "shared.array": call(
            f"{_SHAPE}; {_DTYPE}; {_ALIGNMENT}",
            "an array",
            "An uninitialised array of the block; with shape 0 it has the bytes that the launch asks for.",
            f"{_SHAPE_ERRORS} KernelValueError: more than the device has.",
        ),
        "local.array": call(
            f"{_SHAPE}; {_DTYPE}; {_ALIGNMENT}",
            "an array",
            "An uninitialised array of this thread alone.",
            _SHAPE_ERRORS,
        ),
        "const.array_like": call(
            "array: captured NumPy array",
            "a read-only array",
            "The array in constant memory, as it is when the kernel is compiled.",
            "KernelValueError: the array is not a global or closure variable.",
        ),
        "carray": call(
            _POINTER, "an array", "The memory of a `types.CPointer` as an array of this shape, in C order.", _OTHER
        ),
        "farray": call(_POINTER, "an array", "As `carray`, in Fortran order.", _OTHER),
    },
    "Barriers and fences": {
        "syncthreads": call("", "None", "Wait for all threads of the block; they then see each other's writes."),
        "syncthreads_count": call(
            "predicate: number or bool", "int32", "As `syncthreads`; in how many threads of the block it is true."
        ),
        "syncthreads_and": call(
            "predicate: number or bool",
            "int32",
            "As `syncthreads`; 1 if it is true in all threads of the block, else 0.",
        ),
        "syncthreads_or": call(
            "predicate: number or bool",
            "int32",
            "As `syncthreads`; 1 if it is true in any thread of the block, else 0.",
        ),
        "threadfence": call("", "None", "Writes before it are seen by the device before writes after it."),
        "threadfence_block": call("", "None", "Writes before it are seen by the block before writes after it."),
        "threadfence_system": call("", "None", "Writes before it are seen by host and device before writes after it."),
        "cg.this_grid": call("", "the grid's group", "The group of all threads of the grid; it has `sync()`."),
        "cg.this_grid().sync": call(
            "",
            "None",
            "Wait for all threads of the grid. All blocks must run at once.",
            "LaunchConfigError at a launch of more blocks than can run at once.",
        ),
    },
    "Atomics": {
        "atomic.add": call(f"{_CELLS}; {_PLACE}; value: element", _OLD, "`array[index] += value`.", _ATOMIC_ERRORS),
        "atomic.sub": call(f"{_CELLS}; {_PLACE}; value: element", _OLD, "`array[index] -= value`.", _ATOMIC_ERRORS),
        "atomic.max": call(
            f"{_CELLS}; {_PLACE}; value: element",
            _OLD,
            "The larger of `array[index]` and `value` is stored; where either is NaN, nothing changes.",
            _ATOMIC_ERRORS,
        ),
        "atomic.min": call(
            f"{_CELLS}; {_PLACE}; value: element",
            _OLD,
            "The smaller of `array[index]` and `value` is stored; where either is NaN, nothing changes.",
            _ATOMIC_ERRORS,
        ),
        "atomic.nanmax": call(
            f"{_CELLS}; {_PLACE}; value: element", _OLD, "As `atomic.max`; a NaN counts as missing.", _ATOMIC_ERRORS
        ),
        "atomic.nanmin": call(
            f"{_CELLS}; {_PLACE}; value: element", _OLD, "As `atomic.min`; a NaN counts as missing.", _ATOMIC_ERRORS
        ),
        "atomic.and_": call(f"{_BITS}; {_PLACE}; value: element", _OLD, "`array[index] &= value`.", _ATOMIC_ERRORS),
        "atomic.or_": call(f"{_BITS}; {_PLACE}; value: element", _OLD, "`array[index] |= value`.", _ATOMIC_ERRORS),
        "atomic.xor": call(f"{_BITS}; {_PLACE}; value: element", _OLD, "`array[index] ^= value`.", _ATOMIC_ERRORS),
        "atomic.inc": call(
            f"{_BITS}; {_PLACE}; value: element", _OLD, "One is added; from `value` on it becomes 0.", _ATOMIC_ERRORS
        ),
        "atomic.dec": call(
            f"{_BITS}; {_PLACE}; value: element",
            _OLD,
            "One is subtracted; 0, and what is above `value`, becomes `value`.",
            _ATOMIC_ERRORS,
        ),
        "atomic.exch": call(f"{_CELLS}; {_PLACE}; value: element", _OLD, "`array[index] = value`.", _ATOMIC_ERRORS),
        "atomic.cas": call(
            f"{_CELLS}; {_PLACE}; old: element; val: element",
            _OLD,
            "`array[index] = val` where it was `old`; floats are compared bit by bit.",
            _ATOMIC_ERRORS,
        ),
        "atomic.compare_and_swap": call(
            f"{_CELLS}; old: element; val: element", _OLD, "As `atomic.cas` with index 0.", _ATOMIC_ERRORS
        ),
    },
    "Arithmetic": {
        "fma": call(
            "a: float; b: float; c: float",
            "their common type",
            "`a * b + c`, rounded once.",
            "KernelTypeError: no operand is a float.",
        ),
        "popc": call("x: integer", "int32", "Number of bits that are set.", "KernelTypeError: no integer."),
        "clz": call(
            "x: integer",
            "int32",
            "Number of zero bits above the highest set one, of 32 bits (64 for 64-bit types).",
            "KernelTypeError: no integer.",
        ),
        "ffs": call(
            "x: integer",
            "int32",
            "Place of the lowest set bit, from 1; 0 if there is none.",
            "KernelTypeError: no integer.",
        ),
        "brev": call("x: integer", "type of x", "The bits in reverse order.", "KernelTypeError: no integer."),
        "rsqrt": call("x: float", "type of x", "`1 / sqrt(x)`."),
        "cbrt": call("x: float", "type of x", "Cube root, also of negative numbers."),
        "dp4a": call(
            "a: four 8-bit integers; b: four 8-bit integers; c: int",
            "int32; uint32 where a and b are unsigned",
            "`c` plus the four products of the lanes of `a` and `b`: `int8x4` or `uint8x4` vectors, or the int32 or"
            " uint32 that hold their bits. The sum wraps around.",
            "KernelTypeError: other types.",
        ),
        "selp": call(
            "condition: number or bool; a: any; b: any",
            "the common type of a and b",
            "`a if condition else b`; both are evaluated.",
        ),
    },
    "Loops and vectors": {
        "unroll": call(
            "iterable: range of constants, or tuple",
            "an iterable",
            "In `for i in cuda.unroll(range(4))` the loop is written out, and `i` is a constant in each copy.",
            "KernelValueError: the bounds are not known at compile time.",
        ),
        "literal_unroll": call(
            "iterable: range of constants, or tuple",
            "an iterable",
            "As `unroll`: for tuples whose items have different types.",
            "KernelValueError: no tuple of constants.",
        ),
        "vload": call(
            f"{_SIDE_BY_SIDE}; {_PLACE}; width: 2, 3, 4, 8 or 16; aligned: bool = False",
            "a vector",
            "`width` elements from `index` on as one vector, of bfloat16 as float32; `aligned`: its address is a"
            " multiple"
            " of its size.",
            "KernelTypeError: gaps between the elements. KernelValueError: another width.",
        ),
        "vstore": call(
            f"vector: of the array's elements; {_SIDE_BY_SIDE}; {_PLACE}; aligned: bool = False",
            "None",
            "Store a vector's lanes from `index` on; float32 is rounded to bfloat16 where the array has such elements.",
            "KernelTypeError: gaps between the elements, or a vector of another type.",
        ),
    },
    "Cache hints": {
        "prefetch": call(
            "array: numbers in global memory; index: int, or tuple of ints",
            "None",
            "A hint that `array[index]` will be read soon. The index may be outside of the array, where nothing is"
            " fetched; a negative one does not count from the end.",
            "KernelTypeError: an array in another memory.",
        ),
        **dict.fromkeys(
            ("ldca", "ldcg", "ldcs", "ldlu"),
            call(
                "array: numbers; i: index or tuple of indices", "element", "`array[i]`: OpenCL takes no hint to caches."
            ),
        ),
        "ldcv": call(
            "array: numbers; i: index or tuple of indices",
            "element",
            "`array[i]` as it is now: a loop may wait for what another thread stores there with `stwt`, or with an"
            " atomic. No promise for numbers of other than 32 or 64 bits, and outside of global memory.",
        ),
        "stwt": call(
            "array: numbers; i: index or tuple of indices; value: element",
            "None",
            "`array[i] = value` now, for threads that read it with `ldcv`. It orders no other access, as `threadfence`"
            " does.",
        ),
        **dict.fromkeys(
            ("stcg", "stcs", "stwb"),
            call(
                "array: numbers; i: index or tuple of indices; value: element",
                "None",
                "`array[i] = value`: OpenCL takes no hint to caches.",
            ),
        ),
    },
    "Warps": {
        "nanosleep": call("ns: int", "None", "A hint to pause this thread for about so many nanoseconds."),
        "syncwarp": call("mask: int = 0xFFFFFFFF", "None", "Wait for the lanes of the warp that `mask` names."),
        "shfl_sync": call(
            f"{_MASK}; {_SHUFFLED}; src_lane: int", "type of value", "The value of lane `src_lane`.", _EXCHANGE_ERRORS
        ),
        "shfl_up_sync": call(
            f"{_MASK}; {_SHUFFLED}; delta: int",
            "type of value",
            "The value of the lane `delta` below; the own one where there is none.",
            _EXCHANGE_ERRORS,
        ),
        "shfl_down_sync": call(
            f"{_MASK}; {_SHUFFLED}; delta: int",
            "type of value",
            "The value of the lane `delta` above; the own one where there is none.",
            _EXCHANGE_ERRORS,
        ),
        "shfl_xor_sync": call(
            f"{_MASK}; {_SHUFFLED}; lane_mask: int",
            "type of value",
            "The value of the lane whose number is the own one `^ lane_mask`.",
            _EXCHANGE_ERRORS,
        ),
        "all_sync": call(f"{_MASK}; predicate: number or bool", "bool", "Whether it is true in all lanes of `mask`."),
        "any_sync": call(f"{_MASK}; predicate: number or bool", "bool", "Whether it is true in any lane of `mask`."),
        "eq_sync": call(
            f"{_MASK}; predicate: number or bool", "bool", "Whether it is the same in all lanes of `mask`."
        ),
        "ballot_sync": call(
            f"{_MASK}; predicate: number or bool", "int32", "A bit for each lane of `mask` where it is true."
        ),
        "match_any_sync": call(
            f"{_MASK}; {_SHUFFLED}", "int32", "The lanes of `mask` that hold the same value, as bits.", _EXCHANGE_ERRORS
        ),
        "match_all_sync": call(
            f"{_MASK}; {_SHUFFLED}",
            "(int32, bool)",
            "The lanes of `mask` if all hold the same value, else 0; and whether they do.",
            _EXCHANGE_ERRORS,
        ),
        "activemask": call("", "uint32", "The lanes of the warp that run here now, as bits."),
        "lanemask_lt": call("", "uint32", "The lanes below this one, as bits."),
    },
    HARDWARE: {**matrix_hardware.ENTRIES, **clusters.ENTRIES, **subgroups.ENTRIES},
}
ENTRIES: dict[str, ReferenceEntry] = {name: entry for section in SECTIONS.values() for name, entry in section.items()}

GROUPS = {
    "threadIdx": "This thread's place in its block: `x`, `y`, `z`.",
    "blockIdx": "This block's place in the grid: `x`, `y`, `z`.",
    "blockDim": "Threads of a block along each axis: `x`, `y`, `z`.",
    "gridDim": "Blocks of the grid along each axis: `x`, `y`, `z`.",
    "shared": "Memory of a block.",
    "local": "Memory of a thread.",
    "const": "Constant memory.",
    "atomic": "Updates of array elements that threads can make at the same time.",
    "cg": "Cooperative groups.",
}

LATER: dict[str, Callable[[str], ReferenceEntry | None]] = {}  # by prefix, of groups that are tables of their own


def entry_of(name: str) -> ReferenceEntry | None:
    """What is known about a name of the dialect, such as ``popc`` or ``libdevice.sinf``."""
    found = ENTRIES.get(name)
    prefix, _, rest = name.partition(".")
    return LATER[prefix](rest) if found is None and prefix in LATER else found
