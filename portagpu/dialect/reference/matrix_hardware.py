"""Reference entries of the names that stand for asynchronous copies and matrix units (see `reference.core`)."""

from __future__ import annotations

from portagpu.dialect.reference.entry import ReferenceEntry, call

_MISSING = "MissingCapabilityError: the device has no such instruction."
_CONSTANT = "KernelValueError: what must be known at compile time is not, or has no such value."
_ERRORS = f"{_MISSING} {_CONSTANT}"
_BARRIER = "barriers: shared uint64 array; index: int"
_MAP = "tensor_maps: global uint64 array; map_index: index of the first of a map's 16 elements, a multiple of 16"

ENTRIES: dict[str, ReferenceEntry] = {
    "pipeline_memcpy_async": call(
        "target: shared array; target_index: index; source: global array; source_index: index;"
        " count: constant number of elements, 4, 8 or 16 bytes in all; valid: bool = True",
        "nothing",
        "Copies consecutive elements from global to shared memory while the thread goes on; zeros where `valid` is"
        " false. Both places are aligned to the bytes that are copied. The copy is done after a"
        " `pipeline_commit`, the matching `pipeline_wait_prior`, and for other threads a barrier. CUDA GPUs from"
        " compute capability 8.0 on have such copies; elsewhere the thread copies at once.",
        _CONSTANT,
    ),
    "pipeline_commit": call("", "nothing", "Makes the copies that this thread began since the last one a group."),
    "pipeline_wait_prior": call(
        "n: constant int from 0 to 8",
        "nothing",
        "Waits until at most the last `n` groups of this thread's copies are under way.",
        _CONSTANT,
    ),
    "pack_half2": call(
        "low: number; high: number",
        "uint32",
        "Two float32 numbers rounded to float16, the first in the low half.",
    ),
    "pack_bfloat162": call(
        "low: number; high: number",
        "uint32",
        "Two float32 numbers rounded to bfloat16, the first in the low half.",
    ),
    "float_to_tf32": call(
        "x: number",
        "float32",
        "`x` rounded to the nearest number of TF32 (11 bits), of two the one further from 0, as CUDA's"
        " `__float_to_tf32`. The matrix units cut off what `tfloat32` has not.",
    ),
    "mma_sync": call(
        "shape: constant str; dtype: constant str; acc: local array; a: local array; b: local array",
        "nothing",
        "`acc += a @ b` on a warp's matrix unit. The shapes are m16n8k8 and m16n8k16 of float16 and bfloat16, m16n8k4"
        " and m16n8k8 of tfloat32, m16n8k16 and m16n8k32 of int8 and uint8, m8n8k4 of float64, and from compute"
        " capability 9.0 on m16n8k4, m16n8k8 and m16n8k16 of float64. The arrays are PTX's fragments: uint32 registers"
        " for elements of 16 bits and less, float32 or int32 accumulators, float64 for float64. Parts of larger local"
        " arrays will do.",
        _ERRORS,
    ),
    "ldmatrix": call(
        "registers: local uint32 array of 1, 2 or 4; array: shared array; index: index;"
        " transposed: constant bool = False",
        "nothing",
        "Loads as many 8x8 matrices of 16-bit elements into a warp's fragments; lane `i` gives the place of row `i`.",
        _ERRORS,
    ),
    "wgmma": call(
        "n: constant int; dtype: constant str; acc: local array of n / 2; a: descriptor, or local array of 4 registers;"
        " b: descriptor; accumulate: bool = True; transpose_a: constant bool = False;"
        " transpose_b: constant bool = False",
        "nothing",
        "Begins `acc += a @ b` (`acc = a @ b` without `accumulate`) on the matrix units of a warp group, four warps:"
        " 64 rows by n columns, 32 bytes deep, of float16, bfloat16, tfloat32, int8 or uint8. Descriptors name tiles"
        " in shared memory. Hopper GPUs only.",
        _ERRORS,
    ),
    "wgmma_fence": call("", "nothing", "Orders accesses to registers before the following `wgmma`.", _MISSING),
    "wgmma_commit_group": call("", "nothing", "Makes the `wgmma` since the last one a group.", _MISSING),
    "wgmma_wait_group": call(
        "n: constant int from 0 to 7", "nothing", "Waits until at most the last `n` groups are under way.", _ERRORS
    ),
    "setmaxnreg": call(
        "registers: constant int, a multiple of 8 from 24 to 256; increase: constant bool",
        "nothing",
        "Gives registers of this warp group back, or takes more. Hopper GPUs only.",
        _ERRORS,
    ),
    "barrier_sync": call(
        "number: int from 1 to 15; threads: int, a multiple of 32",
        "nothing",
        "A barrier for so many threads of the block; barriers of other numbers are others.",
        _MISSING,
    ),
    "shared_address": call(
        "array: shared array; index: index", "uint32", "The address of an element in shared memory.", _MISSING
    ),
    "mbarrier_init": call(
        f"{_BARRIER}; count: int", "nothing", "Makes a barrier that waits for `count` arrivals.", _MISSING
    ),
    "mbarrier_arrive": call(
        f"{_BARRIER}; relaxed: constant bool = False",
        "nothing",
        "Arrives at a barrier, also at one of `cg.this_cluster().map_shared_rank`, whose block then sees what this"
        " thread wrote; not so with `relaxed`, which is much faster, and enough where bulk copies and matrix units"
        " alone touch memory.",
        _MISSING,
    ),
    "mbarrier_arrive_expect_tx": call(
        f"{_BARRIER}; bytes: int",
        "nothing",
        "Arrives at a barrier, which then also waits for so many bytes of bulk copies.",
        _MISSING,
    ),
    "mbarrier_wait_parity": call(
        f"{_BARRIER}; parity: 0 or 1; relaxed: constant bool = False",
        "nothing",
        "Waits for the end of a barrier's phase of that parity; in kernels of clusters, to see what its blocks wrote,"
        " unless `relaxed`, see `mbarrier_arrive`.",
        _MISSING,
    ),
    "fence_proxy_async": call(
        "", "nothing", "Orders this thread's accesses to shared memory before those of bulk copies.", _MISSING
    ),
    "tma_load": call(
        f"target: shared array; target_index: index; {_MAP}; coordinates: tuple of 1 to 5 ints;"
        " barriers: shared uint64 array; barrier_index: int; multicast: bits of ranks = None",
        "nothing",
        "Begins a bulk copy of a tile from global to shared memory, which arrives at the barrier with its bytes;"
        " zeros outside the array. The coordinates are those of the tile's first element. With `multicast`, bits of"
        " ranks, it goes to the same places of all these blocks of the cluster, and arrives at the barriers there."
        " Hopper GPUs.",
        _ERRORS,
    ),
    "tma_store": call(
        f"{_MAP}; coordinates: tuple of 1 to 5 ints; source: shared array; source_index: index",
        "nothing",
        "Begins a bulk copy of a tile from shared to global memory; what is outside the array is left out. Hopper"
        " GPUs.",
        _ERRORS,
    ),
    "tma_store_commit": call("", "nothing", "Makes the `tma_store` since the last one a group.", _MISSING),
    "tma_store_wait": call(
        "n: constant int from 0 to 8",
        "nothing",
        "Waits until at most the last `n` groups still read from shared memory.",
        _ERRORS,
    ),
    "tensor_map_encode": call(
        f"{_MAP}; array: global array; shape: tuple of ints; strides: tuple of ints, bytes, one less than axes;"
        " box: tuple of ints; swizzle: constant 0, 32, 64 or 128; dtype: constant str",
        "nothing",
        "Writes the tensor map of an array and the tiles (boxes) that `tma_load` and `tma_store` copy. One thread does"
        " it, in an earlier kernel. Hopper GPUs.",
        _ERRORS,
    ),
    "tensor_map_acquire": call(
        _MAP, "nothing", "Makes a tensor map that an earlier kernel wrote usable, and begins to fetch it.", _MISSING
    ),
}
