"""The one table of what vendors' devices do that cannot be asked of them: one row a quirk, with the reason.

docs/driver-quirks.md says what the package does about each field, and what else drivers do. Vendors' names appear
here and in `portagpu.backends.opencl.drivers.search`, and where device classes are named, nowhere else.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Hints:
    """What to try and where to ask, beyond what every device is asked.

    ``may_take_ptx``: try inline PTX. ``hidden_local_memory``: bytes up to which static local arrays are tried beyond
    the reported size. ``warp_size_query``: attribute of `pyopencl.Device` with the number of lanes in lockstep.
    ``named_group_size_query``: the same with the most work-items of a group that a kernel names.
    ``compute_capability_query``: the same for CUDA's compute capability, with {} for "major" and "minor".
    ``single_barriers``: False where a barrier must be written twice.
    ``conditional_barriers``: False where a barrier under a branch is compiled wrongly, though a whole block takes it.
    ``compares_ids``: False where work-items run what is for a negative id only.
    ``line_directives``: the driver reports the user's positions. ``simulated``: every operation costs microseconds, so
    probing is kept small. ``runs_optimised``: False where it cannot run all that its own optimiser writes.
    ``may_have_wave_matrices``: try the compiler's functions for matrix units, which no extension says.
    ``thread_registers``: 32-bit registers that a thread can have. ``max_blocks``: work-groups of a launch;
    ``max_blocks_of_axis``: along one axis. ``unit_lanes``: see `Capabilities`.
    ``declares_all``: the driver parses declarations of the whole library before each program.
    ``compiles_for_binaries``: asked for a program's binary, the driver compiles kernels that launches do not use.
    ``diverging_nests``: False where loops in loops that threads run or leave apart are compiled wrongly.
    ``cuts_subscripts``: False where 64-bit integers that are made of ids and cut to 32 bits are compiled wrongly.
    ``keeps_negations``: False where threads lose negated floats over barriers.
    ``takes_all_cases``: False where tests for all values that a number can have are compiled wrongly before a barrier,
    and loops around barriers whose last turn is known.
    ``takes_known_floats``: False where functions of NaN and large floats that the compiler knows go wrong.
    ``sees_divergence``: False where variables that some threads of a block set are taken for uniform over a barrier.
    ``blends_values``: False where the vectoriser takes uniform values that some threads' branches assign for uniform.
    ``skips_loads``: False where elements at uniform places are read in branches that no thread takes.
    ``sums_differences``: False where loops that subtract integers from a sum are compiled wrongly.
    ``chooses_arrays``: False where elements of arrays that some threads chose are mixed up.
    ``crashing_compiler``: over some valid programs the compiler ends the process that calls it.
    ``staged_copies``: one thread of the driver copies pageable memory to page-locked memory, at half the bus's rate.
    ``copies_lists``: False where a queued migration reads the caller's list of buffers when the call has returned.
    ``rewritten_ptx``: some instructions of its PTX are compiled wrongly and replaced (`ptx.miscompiled`).
    """

    may_take_ptx: bool = False
    hidden_local_memory: int | None = None
    warp_size_query: str | None = None
    named_group_size_query: str | None = None
    compute_capability_query: str | None = None
    line_directives: bool = False
    single_barriers: bool = True
    conditional_barriers: bool = True
    compares_ids: bool = True
    simulated: bool = False
    runs_optimised: bool = True
    may_have_wave_matrices: bool = False
    thread_registers: int = 256
    unit_lanes: int = 128
    max_blocks: int = 2**64 - 1
    max_blocks_of_axis: int = 2**63 - 1
    declares_all: bool = False
    compiles_for_binaries: bool = False
    diverging_nests: bool = True
    cuts_subscripts: bool = True
    keeps_negations: bool = True
    takes_all_cases: bool = True
    takes_known_floats: bool = True
    divides_products: bool = True
    sees_divergence: bool = True
    blends_values: bool = True
    skips_loads: bool = True
    sums_differences: bool = True
    chooses_arrays: bool = True
    crashing_compiler: bool = False
    staged_copies: bool = False
    copies_lists: bool = True
    rewritten_ptx: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Quirk:
    """Sets one hint for the devices whose platform name and vendor contain ``match`` (lower case)."""

    match: str
    field: str
    value: bool | int | str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """What to do about a device whose problem text contains ``symptom`` (lower case)."""

    symptom: str
    advice: str


QUIRKS: tuple[Quirk, ...] = (
    Quirk(
        match="nvidia",
        field="may_take_ptx",
        value=True,
        reason="its compiler takes inline PTX, which no extension says; other compilers may abort over it",
    ),
    Quirk(
        match="nvidia",
        field="hidden_local_memory",
        value=228 * 1024,
        reason="it reports 48 KiB, but static local arrays work up to the hardware's limit (228 KiB on Hopper)",
    ),
    Quirk(match="nvidia", field="warp_size_query", value="warp_size_nv", reason="cl_nv_device_attribute_query"),
    Quirk(
        match="nvidia",
        field="compute_capability_query",
        value="compute_capability_{}_nv",
        reason="cl_nv_device_attribute_query; other makers have no such number",
    ),
    Quirk(
        match="nvidia",
        field="max_blocks_of_axis",
        value=2**31 - 1,
        reason="580: from 2^31 work-groups along an axis on all of them run, but their ids and get_num_groups are the"
        " lower 32 bits, with a sign; CUDA has the same limit",
    ),
    Quirk(
        match="nvidia",
        field="staged_copies",
        value=True,
        reason="580: pageable memory moves at 8 to 10 GB/s, and new memory at 2 to 3, where page-locked memory moves at"
        " 52 (PCIe 5, 160 MiB): one thread of the driver copies it",
    ),
    Quirk(
        match="nvidia",
        field="copies_lists",
        value=False,
        reason="580: clEnqueueMigrateMemObjects keeps the address of the caller's list, and a thread of the driver"
        " reads it when the call has returned, and lowers a number behind each address that it finds there",
    ),
    Quirk(
        match="nvidia",
        field="divides_products",
        value=False,
        reason="580, also NVRTC 12.9 and 13.5 for sm_90: where loops square a number modulo a constant, `v = v * v %"
        " 997`, in a loop of a loop, the compiler's time doubles with each squaring, and it does not return",
    ),
    Quirk(
        match="nvidia",
        field="rewritten_ptx",
        value=True,
        reason="580, CUDA 13.0: ptxas widens 16-bit negations and absolute values wrongly, drops the negation of the"
        " second of three int32 of which a minimum is taken (sm_90), and takes shifted sums with different multiples"
        " of 2^32 for equal, so that stores to fields of records are lost",
    ),
    Quirk(
        match="advanced micro devices",
        field="warp_size_query",
        value="wavefront_width_amd",
        reason="cl_amd_device_attribute_query; 64 on GCN and CDNA, 32 on RDNA",
    ),
    Quirk(
        match="advanced micro devices",
        field="named_group_size_query",
        value="max_work_group_size_amd",
        reason="cl_amd_device_attribute_query; kernels get registers for groups of 256 unless they name a size, so"
        " CL_DEVICE_MAX_WORK_GROUP_SIZE says 256: the hardware runs groups of 1024",
    ),
    Quirk(
        match="advanced micro devices",
        field="may_have_wave_matrices",
        value=True,
        reason="its compiler has MFMA or WMMA as functions, which no extension says; other compilers do not know them",
    ),
    Quirk(
        match="intel(r) opencl hd graphics",
        field="thread_registers",
        value=128,
        reason="a hardware thread has 128 registers of 8 or 16 lanes; with wider subgroups a thread has fewer",
    ),
    Quirk(
        match="intel(r) opencl graphics",
        field="thread_registers",
        value=128,
        reason="as above: the platform's name since 2023",
    ),
    Quirk(
        match="intel(r) opencl hd graphics",
        field="unit_lanes",
        value=8,
        reason="CL_DEVICE_MAX_COMPUTE_UNITS counts vector units, of which a core with local memory has 8 or 16",
    ),
    Quirk(match="intel(r) opencl graphics", field="unit_lanes", value=8, reason="as above"),
    Quirk(
        match="portable computing language",
        field="single_barriers",
        value=False,
        reason="3.1 and 5.0: in a loop with barriers, a condition that threads computed before a barrier may have the"
        " last thread's value after it; two barriers in a row keep it right",
    ),
    Quirk(
        match="portable computing language",
        field="conditional_barriers",
        value=False,
        reason="3.1 and 5.0: under a branch with a barrier, a condition that threads computed before a barrier may have"
        " the last thread's value after it, and one before the branch's first barrier that of the first thread; 3.1:"
        " what follows such a branch is compiled twice, so that nine in a row never end, nor do eight loops with"
        " barriers and bounds of their own (six take 14 s)",
    ),
    Quirk(
        match="portable computing language",
        field="takes_all_cases",
        value=False,
        reason="3.1: of tests for all values that a number can have (x & 3 == 0, 1, 2, 3) LLVM makes a switch whose"
        " default is unreachable, which the driver takes for a way out of the kernel, and the barriers after it for"
        " conditional ones: threads take another's branch, or an assertion ends the process; issue 2113 says so of 7.1."
        " The same where LLVM knows the last turn of a loop with barriers, and goes by a flag from it to the next",
    ),
    Quirk(
        match="portable computing language",
        field="takes_known_floats",
        value=False,
        reason="3.1: its functions of floats (SLEEF's) convert to integers before they look whether the float fits. Of"
        " a constant that is undefined to LLVM: stores of floor(NAN) are dropped, rint(INFINITY) ends the process",
    ),
    Quirk(
        match="portable computing language",
        field="sees_divergence",
        value=False,
        reason="3.1, and by its source all up to 7.1: a variable counts as uniform where uniform values are assigned in"
        " code that counts as uniform: all that post-dominates uniform code, though a loop runs it once or five times,"
        " and all that a uniform branch leads to, though a divergent one does, too. A loop's counter from 0 in steps of"
        " 1 counts as uniform wherever the loop ends. After a barrier all threads have the last one's value",
    ),
    Quirk(
        match="portable computing language",
        field="max_blocks",
        value=2**32 - 1,
        reason="3.1: it counts a launch's work-groups in 32 bits: 2^32 end the process, of more it would run what is"
        " left of the number",
    ),
    Quirk(
        match="portable computing language",
        field="declares_all",
        value=True,
        reason="3.1: Clang's header of all functions, 18,000 lines, stands before each program and is parsed twice,"
        " which takes 0.17 s of the 0.19 s in which a small program is built",
    ),
    Quirk(
        match="portable computing language",
        field="compiles_for_binaries",
        value=True,
        reason="3.1: a binary has each kernel for groups of any size, which takes a quarter of the time to the first"
        " launch; launches compile one for their size in any case, and a cache of the driver's own keeps it",
    ),
    Quirk(
        match="intel(r) opencl\n",
        field="compares_ids",
        value=False,
        reason="the CPU runtime 2026.22 makes a test for equality of an id and a uniform number into the bounds of"
        " its loop over work-items, and where the number is negative it runs them with ids that no item has: after"
        " `i = get_local_id(0) + get_group_id(0) * n`, `if (i == 0)` was entered by every group. A comparison that"
        " is or-ed with a uniform one is left alone",
    ),
    Quirk(
        match="intel(r) opencl\n",
        field="diverging_nests",
        value=False,
        reason="the CPU runtime 2026.22 runs threads in the lanes of a vector; in loops within loops that threads leave"
        " at different times, its lanes went wrong in 4 of 1,000 random kernels; right where nothing is vectorised",
    ),
    Quirk(
        match="intel(r) opencl\n",
        field="cuts_subscripts",
        value=False,
        reason="the CPU runtime 2026.22 computes 64-bit numbers that are made of ids and cut in 32 bits, and mixes up"
        " elements of arrays whose subscripts are such: after `long v = (long)id * 2` and"
        " `s[(int)v] = s[(int)v] + 5`, `s[(int)v]` was another thread's element in 63 of 64"
        " threads. Right by convert_int(v), and in 32 bits",
    ),
    Quirk(
        match="intel(r) opencl\n",
        field="keeps_negations",
        value=False,
        reason="the CPU runtime 2026.22 takes LLVM's fneg, and what is computed from it and uniform values alone, for"
        " uniform: of `v = -x`, used after a barrier, all threads but those of the last vector have another thread's."
        " Also where the optimiser makes the negation: of a - b * c (with b in two such, on both sides of a barrier),"
        " of x * -1, and of bits whose sign is flipped by a constant",
    ),
    Quirk(
        match="intel(r) opencl\n",
        field="blends_values",
        value=False,
        reason="the CPU runtime 2026.22: its vectoriser takes a variable for uniform that a divergent branch sets to a"
        " uniform value, in some programs with branches inside of that one (`v = 7`; if (t != 0) { a choice between a"
        " load and t; v = 3; } else { if (n == 3 || n == -2) a store }): all lanes have the first one's value, with"
        " barriers or without; 4 of 640 random programs. Right where nothing is vectorised",
    ),
    Quirk(
        match="intel(r) opencl\n",
        field="skips_loads",
        value=False,
        reason="the CPU runtime 2026.22: it reads what all threads read at one place in front of the branch around it."
        " After `if (n > 9) { long e = x[n * 1000000000]; barrier(...); v += e; }` with n = 3 the process ended: of"
        " 28 such texts 8, where e is used behind a barrier of the branch and nothing is written before; a thread's own"
        " arrays are read so in branches without barriers, too",
    ),
    Quirk(
        match="intel(r) opencl\n",
        field="sums_differences",
        value=False,
        reason="the CPU runtime 2026.22: it runs loops within a work-item in lanes, too; of a sum of negated integers"
        " (`s += -i`) in a loop of 24 or 40 turns it subtracts one vector of partial sums from another: -132 became 44,"
        " in 8 of 700 loops with three sums. Right where nothing is vectorised",
    ),
    Quirk(
        match="intel(r) opencl\n",
        field="chooses_arrays",
        value=False,
        reason="the CPU runtime 2026.22: where threads choose between shared or local arrays (`c = a if t % 2 else b`,"
        " or `v = a[k]` in a branch and `v = b[k]` in the other, of which its optimiser makes one load) it reads other"
        " elements at subscripts that differ between threads: 47 of 321 random kernels that exchange names of arrays"
        " were wrong, and 1 of 252 that read several arrays in branches. Right without optimisation. Of local arrays"
        " that only some threads read, and of parts of them (`a[::-1]`), also where nothing is vectorised",
    ),
    Quirk(
        match="intel(r) opencl\n",
        field="crashing_compiler",
        value=True,
        reason="the CPU runtime 2026.22: its vectoriser (pass vplan-vec) ends the process with SIGSEGV over some loops"
        " in loops that are left in several places; it compiles them where the kernel says that it is a vector's",
    ),
    Quirk(
        match="oclgrind",
        field="line_directives",
        value=True,
        reason="it reports races and bad accesses at the file and line that #line names",
    ),
    Quirk(
        match="oclgrind",
        field="simulated",
        value=True,
        reason="it interprets kernels, about a million operations a second",
    ),
    Quirk(
        match="oclgrind",
        field="runs_optimised",
        value=False,
        reason="21.10: its optimiser (LLVM 14's) writes intrinsics that its interpreter does not know, and makes no"
        " kernel of such a program: llvm.abs of absolute integers, llvm.fshl of rotations, llvm.usub.sat of differences"
        " that stop at 0, llvm.umul.with.overflow of quotients that are compared, llvm.bitreverse",
    ),
)

REMEDIES: tuple[Remedy, ...] = (
    Remedy(
        symptom="target cpu",
        advice="the driver's LLVM is older than the processor: install a newer PoCL (from 5.0 on, POCL_LLVM_CPU_NAME"
        " also helps), or `pip install intel-opencl-rt intel-cmplr-lib-rt`, which works on processors of every maker",
    ),
    Remedy(
        symptom="linker",
        advice="the driver's compiler needs a linker: install the package binutils (or gcc), or reinstall the driver",
    ),
    Remedy(
        symptom="out_of_host_memory",
        advice="the driver ran out of memory while it started: close programs, or raise the container's memory limit",
    ),
    Remedy(
        symptom="out_of_resources",
        advice="another program may hold the device exclusively or have crashed it: `nvidia-smi` or `rocm-smi` show it",
    ),
)

_DEFAULT_ADVICE = "update or reinstall the driver; `portagpu doctor` shows which library it is"


def hints_for(platform: str, vendor: str) -> Hints:
    """The hints that the table gives for a device of this platform and vendor."""
    identity = f"{platform}\n{vendor}".lower()
    return Hints(**{quirk.field: quirk.value for quirk in QUIRKS if quirk.match in identity})  # type: ignore[arg-type]


def remedy_for(problem: str) -> str:
    """What to do about a device's problem."""
    text = problem.lower()
    return next((remedy.advice for remedy in REMEDIES if remedy.symptom in text), _DEFAULT_ADVICE)
