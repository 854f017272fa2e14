"""The named operations and instructions of the IR: what a back end renders, with operands and meaning.

`Operation` and `Instruction` nodes have the names of these tables and no others; `portagpu.ir.verify` checks that, and
the number of operands. A back end says which it renders (`portagpu.backends.languages.KernelLanguage`).
"""

from __future__ import annotations

from typing import NamedTuple

from portagpu.errors import LoweringError
from portagpu.ir.nodes import Instruction, Operation


class NamedOperation(NamedTuple):
    """One operation: ``operands`` by name, ``name?`` for one that may be missing, ``*name`` for any number.

    ``taken_away_by``: the pass after which there is none, so that only a back end without that pass meets it.
    """

    operands: tuple[str, ...]
    meaning: str
    taken_away_by: str = ""

    def takes(self, count: int) -> bool:
        """Whether it has so many operands."""
        least = sum(not o.startswith("*") and not o.endswith("?") for o in self.operands)
        return count >= least and (count <= len(self.operands) or any(o.startswith("*") for o in self.operands))


def _named(operands: str, meanings: dict[str, str]) -> dict[str, NamedOperation]:
    return {name: NamedOperation(tuple(operands.split()), meaning) for name, meaning in meanings.items()}


# Where nothing else is said, a result has the type of the operands, which have one type.
OPERATIONS: dict[str, NamedOperation] = {
    # functions of one float
    **_named(
        "x",
        {
            "acos": "Arc cosine, in radians.",
            "acosh": "Inverse hyperbolic cosine.",
            "asin": "Arc sine, in radians.",
            "asinh": "Inverse hyperbolic sine.",
            "atan": "Arc tangent, in radians.",
            "atanh": "Inverse hyperbolic tangent.",
            "cbrt": "Cube root.",
            "ceil": "Smallest whole number that is not below x.",
            "cos": "Cosine of an angle in radians.",
            "cosh": "Hyperbolic cosine.",
            "cospi": "Cosine of x times pi.",
            "degrees": "An angle in radians, in degrees.",
            "erf": "Error function.",
            "erfc": "Complementary error function.",
            "exp": "e to the power of x.",
            "exp10": "10 to the power of x.",
            "exp2": "2 to the power of x.",
            "expm1": "e to the power of x, minus 1; exact near 0.",
            "fabs": "Absolute value.",
            "floor": "Largest whole number that is not above x.",
            "lgamma": "Logarithm of the absolute value of the gamma function.",
            "log": "Natural logarithm.",
            "log10": "Logarithm to base 10.",
            "log1p": "Natural logarithm of 1 + x; exact near 0.",
            "log2": "Logarithm to base 2.",
            "logb": "Exponent of x as a float.",
            "one_plus_erf": "1 + erf(x).",
            "one_plus_tanh": "1 + tanh(x).",
            "radians": "An angle in degrees, in radians.",
            "rint": "Nearest whole number; halves go to the even one.",
            "round": "Nearest whole number; halves go away from 0.",
            "rsqrt": "1 / sqrt(x).",
            "sin": "Sine of an angle in radians.",
            "sinh": "Hyperbolic sine.",
            "sinpi": "Sine of x times pi.",
            "sqrt": "Square root.",
            "tan": "Tangent of an angle in radians.",
            "tanh": "Hyperbolic tangent.",
            "tgamma": "Gamma function.",
            "trunc": "Whole number next to x towards 0.",
            "frexp_mantissa": "The fraction f of x = f * 2**e, 0.5 <= abs(f) < 1; x where it is not finite.",
            "frexp_exponent": "The exponent e of x = f * 2**e, an int32; 0 where x is 0 or not finite.",
            "ilogb": "Exponent of x as an integer.",
            "isfinite": "Whether x is neither infinite nor NaN: a bool.",
            "isinf": "Whether x is infinite: a bool.",
            "isnan": "Whether x is NaN: a bool.",
            "signbit": "Whether the sign is negative, that of zeros and NaNs too: a bool.",
        },
    ),
    # functions of several floats
    **_named("y x", {"atan2": "Angle of the point (y, x), in radians: the first argument is the ordinate."}),
    **_named(
        "x y",
        {
            "copysign": "x with the sign of y.",
            "fdim": "x - y where that is positive, else 0.",
            "fmax": "The larger number; a NaN counts as missing.",
            "fmin": "The smaller number; a NaN counts as missing.",
            "fmod": "Remainder of x / y with the sign of x.",
            "hypot": "sqrt(x*x + y*y), without overflow.",
            "ldexp": "x times 2 to the power of y.",
            "maximum": "The larger number; NaN where either is.",
            "minimum": "The smaller number; NaN where either is.",
            "nextafter": "The next float after x towards y.",
            "pow": "x to the power of y.",
            "pown": "x to the power of the integer y.",
            "remainder": "x minus y times the whole number nearest to x / y.",
        },
    ),
    **_named("x y z", {"fma": "x * y + z, rounded once."}),
    # numbers and integers
    **_named(
        "x y",
        {
            "max": "The larger number; of floats y if y > x, else x.",
            "min": "The smaller number; of floats y if y < x, else x.",
            "floordiv": "Python's x // y; of integers 0 where y is 0.",
            "mod": "Python's x % y; of integers 0 where y is 0.",
            "ipow": "x to the power of y of integers; the whole part for a negative y.",
            "shl": "x << y of integers: 0 where all bits leave, and for a negative y.",
            "shr": "x >> y of integers: what fills from the left where all bits leave, and for a negative y.",
            "hadd": "(x + y) // 2, without overflow.",
            "mul24": "Product of the low 24 bits.",
            "mul_hi": "Upper half of the product.",
            "rhadd": "(x + y + 1) // 2, without overflow.",
            **{
                f"compare_{op}": f"The comparison {op} of an int64 with a uint64, in any order, as numbers: a bool."
                for op in ("lt", "le", "gt", "ge", "eq", "ne")
            },
        },
    ),
    **_named(
        "x",
        {
            "iabs": "Absolute value; the most negative number stays.",
            "brev": "The bits in reverse order.",
        },
    ),
    **_named(  # an int32
        "x",
        {
            "clz": "Number of zero bits above the highest set one.",
            "ffs": "Place of the lowest set bit, from 1; 0 if there is none.",
            "popc": "Number of bits that are set.",
        },
    ),
    **_named(
        "a b c",
        {
            f"dp4a_{signs}": f"c plus the sum of four products of bytes, of a ({a}) with b ({b})."
            for signs, a, b in (
                ("ss", "signed", "signed"),
                ("su", "signed", "unsigned"),
                ("us", "unsigned", "signed"),
                ("uu", "unsigned", "unsigned"),
            )
        },
    ),
    **_named("bound extent low high", {"slice_bound": "Where a slice begins or ends, counted as Python does."}),
    **_named("distance step", {"slice_length": "How many steps fit a distance; 0 where it is negative."}),
    # conversions; `Cast` nodes are the others
    **_named(
        "x",
        {
            "as_type": "The bits of x as the result's type, of the same size.",
            "convert_nearest": "x as the result's type, rounded to nearest.",
            "convert_down": "x as the result's type, rounded down.",
            "convert_up": "x as the result's type, rounded up.",
            "convert_zero": "x as the result's type, rounded towards 0.",
            "bfloat16_bits": "A float rounded to bfloat16, as its bits.",
            "bfloat16_value": "The float whose bfloat16 bits are x.",
            "float_bits": "The bits of a float32 as uint32.",
            "float_to_tf32": "A float32 rounded to the bits that matrix units take of it.",
            "half_bits": "A float rounded to float16, as its bits.",
            "half_value": "The float whose float16 bits are x.",
            "round_half": "A float32 or float64 rounded to what a float16 can hold, as a float32.",
            "imag": "Imaginary part.",
            "real": "Real part.",
        },
    ),
    **_named("real imag", {"complex": "A complex number of its parts."}),
    **_named(
        "low high",
        {
            "pack_bfloat162": "Two float32 rounded to bfloat16, side by side in a uint32.",
            "pack_half2": "Two float32 rounded to float16, side by side in a uint32.",
        },
    ),
    # memory
    **_named(
        "place",
        {
            "load_half": "A float32 from a float16 in memory, or a vector of them.",
            "load_half_aligned": "The same, of a vector that is aligned to its size.",
            "prefetch": "A hint that global memory will be read soon.",
            "volatile_load": "The element in global memory as it is now, read each time anew.",
            "reinterpret": "A pointer as one to other elements; of 0, a pointer to nothing.",
            "global_address": "A pointer as a uint64; one to shared or local memory is an address there.",
            "shared_address": "A pointer to shared memory as its uint32 address in that memory.",
        },
    ),
    **_named(
        "place value",
        {
            "store_half": "Round a float32 to a float16 in memory, or a vector of them.",
            "store_half_aligned": "The same, of a vector that is aligned to its size.",
            "volatile_store": "Set an element in global memory now.",
        },
    ),
    **_named(
        "to source valid",
        {
            f"copy_{size}": f"Copy {size} bytes from global to shared memory; zeros where it is not valid."
            for size in (4, 8, 16)
        },
    ),
    # atomics: the result is the old element
    **_named(
        "place value",
        {
            "atomic_add": "Add.",
            "atomic_and": "Bitwise and.",
            "atomic_dec": "Count down: value where the old one is 0 or above value.",
            "atomic_exch": "Put value there.",
            "atomic_inc": "Count up: 0 where the old one is value or above.",
            "atomic_max": "The larger number; the old one where either is NaN.",
            "atomic_min": "The smaller number; the old one where either is NaN.",
            "atomic_nanmax": "The larger number; a NaN counts as missing.",
            "atomic_nanmin": "The smaller number; a NaN counts as missing.",
            "atomic_or": "Bitwise or.",
            "atomic_sub": "Subtract.",
            "atomic_xor": "Bitwise exclusive or.",
        },
    ),
    **_named("place old value", {"atomic_cas": "Put value there if the element is old."}),
    # a thread's exception (`portagpu.ir.program.KernelException`)
    **_named("record number", {"claim_fault": "Whether this thread is the first of the launch that has one: a bool."}),
    **_named("x", {"fault_bits": "A float's bits as an int64, for the record."}),
    # where a thread is
    **_named(
        "axis",
        {
            "threadIdx": "Its place in the block.",
            "blockIdx": "The block's place in the grid.",
            "blockDim": "Threads of a block.",
            "gridDim": "Blocks of the grid.",
            "grid": "Its place in the grid.",
            "gridsize": "Threads of the grid.",
        },
    ),
    **_named("", {"laneid": "Its place in its warp of 32."}),
    **_named("x", {"opaque": "x, of which the compiler behind knows nothing but its type."}),
    **_named("x number", {"varying": "x, as the same in all threads to no compiler; each has a number of its own."}),
    # barriers and fences
    **_named(
        "",
        {
            "syncthreads": "Wait for all threads of the block, and see what they wrote.",
            "threadfence": "Order memory for all threads of the device.",
            "threadfence_block": "Order memory for all threads of the block.",
            "threadfence_system": "Order memory for all threads of the device, and for the host.",
        },
    ),
    **_named(  # cell: shared, for the barrier's own use
        "cell condition",
        {
            "syncthreads_and": "The barrier, and whether all threads' conditions hold: an int32.",
            "syncthreads_count": "The barrier, and for how many threads the condition holds: an int32.",
            "syncthreads_or": "The barrier, and whether any thread's condition holds: an int32.",
        },
    ),
    # clusters of blocks, whose shared memory its blocks reach
    **_named(
        "",
        {
            "cluster_arrive": "Tell the cluster's blocks that this thread is here; with what it wrote.",
            "cluster_rank": "The block's number in its cluster: an int32.",
            "cluster_sync": "Wait for all threads of the cluster, and see what they wrote.",
            "cluster_wait": "Wait for all threads of the cluster that were told of.",
        },
    ),
    **_named("place rank", {"map_shared_rank": "A pointer to shared memory as one to that of the block of a rank."}),
    **_named("place", {"cluster_load": "The element in a block's shared memory."}),
    **_named("place value", {"cluster_store": "Set an element in a block's shared memory."}),
    **_named("cells?", {"grid_sync": "Wait for all blocks: through cells, after the pass grid_barriers."}),
    **_named("ns", {"nanosleep": "Pause for about so many nanoseconds."}),
    # warps of 32 threads: `mask` says which take part
    **_named(
        "mask value lane mode", {"warp_shfl": "A value of another lane; mode 0: that one, 1: up, 2: down, 3: xor."}
    ),
    **_named(
        "mask condition",
        {
            "warp_all": "Whether all conditions hold: a uint32 that is not 0.",
            "warp_any": "Whether any condition holds: a uint32 that is not 0.",
            "warp_eq": "Whether all conditions are equal: a uint32 that is not 0.",
            "warp_ballot": "The lanes whose conditions hold, as bits of a uint32.",
        },
    ),
    **_named(
        "mask value",
        {
            "warp_match_any": "The lanes with the same value, as bits of a uint32.",
            "warp_match_all": "The mask where all lanes have the same value, else 0.",
        },
    ),
    **_named("", {"warp_active": "The lanes that are here, as bits of a uint32."}),
    **_named("mask", {"warp_sync": "Wait for the lanes of the mask, and see what they wrote."}),
    # the same through shared memory, after the pass emulated_warps: barriers of the block; `here`: whether the thread
    # takes part; a pair is a uint64 of the lanes that voted or agree (low) and of those that take part (high)
    **_named("cells flags value lane mode here", {"warp_shuffle": "As warp_shfl."}),
    **_named("cells flags mask condition here", {"warp_ballots": "The pair of a vote."}),
    **_named("cells flags mask value here", {"warp_match": "The pair of the lanes with the same value."}),
    **_named("", {"warp_barrier": "The barrier of the block where a warp waits."}),
    # subgroups: threads that run in lockstep, of the device's own size
    **_named(
        "",
        {
            "subgroup_id": "The number of the subgroup in its block.",
            "subgroup_lane": "The thread's place in its subgroup.",
            "subgroup_size": "Threads of a subgroup.",
        },
    ),
    **_named(
        "value lane",
        {
            "subgroup_broadcast": "The value of one lane, the same for all.",
            "subgroup_shuffle": "The value of a lane that each chooses.",
        },
    ),
    **_named("place", {"subgroup_block_read": "Consecutive elements, one or several for each lane, lane after lane."}),
    **_named("place value", {"subgroup_block_write": "Store elements as subgroup_block_read loads them."}),
    # matrix units whose operands are vectors of lanes: docs/matrix-units.md
    **_named(
        "a b acc",
        {
            **{
                f"{unit}.{dtype}.{shape}": f"acc + a @ b of {dtype} with the shape {shape}."
                for unit, dtype, shapes in (
                    ("mfma", "float16", ("m32n32k8", "m16n16k16")),
                    ("mfma", "float32", ("m32n32k2", "m16n16k4")),
                    ("mfma_bfloat16", "bfloat16", ("m32n32k8", "m16n16k16")),
                    ("mfma_float64", "float64", ("m16n16k4",)),
                    ("mfma_int8", "int8", ("m32n32k8", "m16n16k16")),
                    ("mfma_int8_wide", "int8", ("m32n32k16", "m16n16k32")),
                    ("mfma_tfloat32", "tfloat32", ("m32n32k4", "m16n16k8")),
                    *((u, d, ("m16n16k16",)) for u in ("wmma", "wmma_halves") for d in ("float16", "bfloat16", "int8")),
                )
                for shape in shapes
            },
            **{
                f"mad_{dtype}": f"acc + a @ b of {dtype} in a subgroup of 8 or 16 lanes, with as many rows as acc has."
                for dtype in ("float16", "bfloat16", "int8", "tfloat32")
            },
        },
    ),
}

PER_THREAD = frozenset({"threadIdx", "grid", "laneid", "varying", "subgroup_id", "subgroup_lane"})
"""Operations whose value differs among the threads of a block, whatever the operands. Others without an effect are
taken to be uniform where their operands are."""

# of hardware whose kernels name its instructions: PTX ISA has the details. Attributes are in parentheses.
INSTRUCTIONS: dict[str, NamedOperation] = {
    "async_copy": NamedOperation(
        ("to", "source", "valid"),
        "Begin to copy (bytes) from global to shared memory; zeros where it is not valid.",
        taken_away_by="async_copies",
    ),
    **_named(
        "to source bytes?",
        {"async_copy_bytes": "Begin to copy (bytes) between addresses; zeros behind the bytes that are read."},
    ),
    **_named(
        "",
        {
            "async_copy_commit": "Close a group of copies.",
            "async_copy_wait": "Wait until only (n) groups of copies are under way.",
            "griddepcontrol_launch_dependents": "Let the next launch of the stream begin before this one ends.",
            "griddepcontrol_wait": "Wait until the launches before this one are done, and see what they wrote.",
            "fence_mbarrier_init": "Let the cluster's blocks see barriers that were made.",
            "fence_proxy_async": "Let bulk copies and matrix units see what threads wrote to shared memory.",
            "setmaxnreg": "(increase, count): change the registers of a thread.",
            "tensor_map_release": "Let others see a tensor map that was written.",
            "tma_store_commit": "Close a group of bulk stores.",
            "tma_store_wait": "Wait until only (n) groups of bulk stores read shared memory.",
            "wgmma_commit_group": "Close a group of matrix products.",
            "wgmma_fence": "Order registers before matrix products.",
            "wgmma_wait_group": "Wait until only (n) groups of matrix products are under way.",
        },
    ),
    **_named("number threads", {"barrier_sync": "Wait for so many threads of the block at one of its barriers."}),
    **_named("place", {"ldmatrix": "(transposed): load matrices of 8 x 8 16-bit elements to registers."}),
    **_named("*registers", {"mma_sync": "(dtype, shape, registers of a): results += a @ b, of a warp."}),
    **_named(
        "*operands",
        {"wgmma": "(n, dtype, a in registers, adds or None, transposes): results += a @ b, of four warps."},
    ),
    **_named("barrier", {"mbarrier_arrive": "Arrive at a barrier in shared memory."}),
    **_named("barrier", {"mbarrier_arrive_cluster": "(orders): arrive at a barrier of a block of the cluster."}),
    **_named("barrier bytes", {"mbarrier_arrive_expect_tx": "Arrive, and have it wait for so many bytes, too."}),
    **_named("barrier count", {"mbarrier_init": "Make a barrier for so many arrivals."}),
    **_named("barrier parity", {"mbarrier_wait_parity": "(orders): wait for the phase of a parity."}),
    **_named("map", {"tensor_map_acquire": "See a tensor map that another thread wrote."}),
    **_named("map", {"tensor_map_fix": "(field, ordinal, value): set a field of a tensor map to a constant."}),
    **_named("map value", {"tensor_map_replace": "(field, bits, ordinal): set a field of a tensor map."}),
    **_named("to map *place", {"tma_load": "(axes): begin to copy a tile to shared memory; last a barrier."}),
    **_named(
        "to map *place",
        {"tma_load_multicast": "(axes): copy to several blocks of the cluster, which a mask says, behind a barrier."},
    ),
    **_named("map *place", {"tma_store": "(axes): begin to copy a tile from shared memory, last."}),
}


def is_known(node: Operation | Instruction) -> bool:
    """Whether a node's name is in its table, with so many operands."""
    if isinstance(node, Instruction):
        found, count = INSTRUCTIONS.get(node.name), len(node.operands)
    else:
        found, count = OPERATIONS.get(node.name), len(node.args)
    return found is not None and found.takes(count)


def not_rendered(node: Operation | Instruction, backend: str) -> LoweringError:
    """The error for what a back end does not render."""
    return LoweringError(
        f"the back end {backend} does not know the operation {node.name}",
        span=node.span,
        hint="run the kernel on a device of another back end; `portagpu.ir.operations` says what the operation means",
    )
