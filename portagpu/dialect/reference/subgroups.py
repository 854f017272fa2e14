"""Reference entries of subgroups and their matrix units."""

from __future__ import annotations

from portagpu.dialect.reference.entry import ReferenceEntry, call

_MISSING = "MissingCapabilityError: the device has no such thing."
_TYPES = "KernelTypeError: operands of other types."
_ALL = "All threads of a subgroup must get there."
_MATRICES = f"{_MISSING} {_TYPES} KernelValueError: an unknown shape or dtype."
_PLACE = "array: global array of numbers; index: index, the same in the whole subgroup"

ENTRIES: dict[str, ReferenceEntry] = {
    "subgroup_size": call("", "int32", "Threads of a subgroup, the threads that run in lockstep.", _MISSING),
    "subgroup_lane": call("", "int32", "Place of the thread in its subgroup, from 0.", _MISSING),
    "subgroup_id": call("", "int32", "Place of the subgroup in its block, from 0.", _MISSING),
    "subgroup_broadcast": call(
        "value: number of 32 or 64 bits; lane: int, the same in the whole subgroup",
        "the value's type",
        f"The value that the thread in that lane has. {_ALL}",
        f"{_MISSING} {_TYPES}",
    ),
    "subgroup_shuffle": call(
        "value: number of 32 or 64 bits; lane: int",
        "the value's type",
        f"The value that the thread in that lane has; each thread may name another lane. {_ALL}",
        f"{_MISSING} {_TYPES}",
    ),
    "subgroup_block_read": call(
        f"{_PLACE}; width: constant 1, 2, 4 or 8 = 1",
        "a number, or a vector of `width` lanes",
        "Loads consecutive elements from the place on, `width` for each thread: component `i` is the element"
        f" `i * subgroup_size + subgroup_lane`. The place is aligned to 4 bytes. {_ALL}",
        f"{_MISSING} {_TYPES}",
    ),
    "subgroup_block_write": call(
        f"value: number or vector of 2, 4 or 8; {_PLACE}",
        "nothing",
        f"Stores what `subgroup_block_read` loads. The place is aligned to 16 bytes. {_ALL}",
        f"{_MISSING} {_TYPES}",
    ),
    "mfma": call(
        "shape: constant str; dtype: constant str; a: number or vector; b: number or vector; acc: vector",
        "the accumulator's type",
        "`a @ b + acc` on the matrix unit of a wavefront of 64 threads (CDNA): m32n32k8 and m16n16k16 of float16,"
        " bfloat16 and int8, m32n32k2 and m16n16k4 of float32, m16n16k4 of float64, m32n32k16 and m16n16k32 of int8,"
        " m32n32k4 and m16n16k8 of tfloat32, each where the device has it. Halves may be given by their bits (int16).",
        _MATRICES,
    ),
    "wmma": call(
        "shape: constant str; dtype: constant str; a: vector; b: vector; acc: vector",
        "the accumulator's type",
        "`a @ b + acc` on the matrix unit of a wavefront of 32 threads (RDNA 3 and 4): m16n16k16 of float16, bfloat16"
        " and int8. Vectors of a and b have 16 elements on RDNA 3, where both halves of the wavefront hold the same,"
        " and 8 on RDNA 4; those of the accumulator 8. Halves may be given by their bits, as int16.",
        _MATRICES,
    ),
    "subgroup_matrix_mad": call(
        "dtype: constant str; a: number or vector; b: vector of 8; acc: number or vector of 1, 2, 4 or 8 rows",
        "the accumulator's type",
        "`a @ b + acc` on the matrix unit of a subgroup: as many columns as the subgroup has threads, as many rows as"
        " the accumulator has components, 16 deep of float16 and bfloat16, 32 of int8, 8 of tfloat32. A row of a is an"
        " int16 in each of 16 lanes, or an int32 in each of 8; b is eight int32, each with"
        f" consecutive elements of a column. {_ALL}",
        _MATRICES,
    ),
}
