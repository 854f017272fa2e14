"""Reference entries of clusters of blocks (see `reference.core`)."""

from __future__ import annotations

from portagpu.dialect.reference.entry import ReferenceEntry, call

ENTRIES: dict[str, ReferenceEntry] = {
    "cg.this_cluster": call(
        "",
        "the cluster's group",
        "The group of all threads of the block's cluster: `@cuda.jit(cluster=n)` says of how many blocks, else it is"
        " one. It has `block_rank()`, `num_blocks()`, `sync()`, `barrier_arrive()`, `barrier_wait()` and"
        " `map_shared_rank()`. A cluster of several blocks takes a CUDA GPU of compute capability 9.0 or newer.",
    ),
    "cg.this_cluster().block_rank": call("", "int32", "The block's number in its cluster."),
    "cg.this_cluster().num_blocks": call("", "a constant", "Blocks of a cluster."),
    "cg.this_cluster().sync": call(
        "", "None", "Wait for all threads of the cluster; they then see each other's writes, to shared memory, too."
    ),
    "cg.this_cluster().barrier_arrive": call(
        "", "None", "The first half of `sync()`: tells the others that this thread is here, and goes on."
    ),
    "cg.this_cluster().barrier_wait": call(
        "", "None", "The second half of `sync()`: waits until all threads of the cluster have come to the first."
    ),
    "cg.this_cluster().map_shared_rank": call(
        "array: shared array; rank: int",
        "an array",
        "The same shared array of the block of a rank: its elements are read and written there, by atomics too. The"
        " block must not have ended: `sync()` before the end of the kernel sees to that.",
        "KernelTypeError: no shared array. KernelValueError: a constant rank that the cluster has not.",
    ),
    "griddepcontrol_wait": call(
        "",
        "nothing",
        "Programmatic dependent launch: a kernel that calls it may begin before the launch ahead of it in the stream is"
        " done, on the back end `cuda`, and waits here until that is, and sees what it wrote. Nothing in global memory"
        " is read or written before it. Elsewhere launches follow one another, and it does nothing.",
        "MissingCapabilityError: no CUDA GPU of compute capability 9.0 or newer.",
    ),
    "griddepcontrol_launch_dependents": call(
        "",
        "nothing",
        "Lets the next launch of the stream begin, if it calls `griddepcontrol_wait`, as soon as there is room for its"
        " blocks: all blocks have called it, or ended.",
        "MissingCapabilityError: no CUDA GPU of compute capability 9.0 or newer.",
    ),
    "fence_mbarrier_init": call(
        "",
        "nothing",
        "Orders barriers that this thread made before what other blocks of the cluster do.",
        "MissingCapabilityError: the device has no such instruction.",
    ),
}
