"""Tuning an own kernel: a smoothing stencil with a block size, elements a thread, and a choice of memory.

`tune` measures what the model thinks best, then what a search strategy proposes, each trial in a child process. `best`,
here through the decorator `tuned`, uses what was found, at once, in every program that uses this tunable.
"""

import sys

import numpy as np

from portagpu import cuda, tuning

RADIUS = 3
WIDTH = 2 * RADIUS + 1


@cuda.jit
def smooth_kernel(source, target, per_thread: cuda.constexpr, block: cuda.constexpr, staged: cuda.constexpr):
    """target[i] is the mean of source[i : i + WIDTH]."""
    n = target.size
    first = cuda.blockIdx.x * block * per_thread
    t = cuda.threadIdx.x
    if staged:  # the block's part of the source through shared memory
        tile = cuda.shared.array(block * per_thread + WIDTH - 1, source.dtype)
        for at in range(t, block * per_thread + WIDTH - 1, block):
            if first + at < source.size:
                tile[at] = source[first + at]
        cuda.syncthreads()
    for step in cuda.unroll(range(per_thread)):
        local = step * block + t
        if first + local < n:
            total = source.dtype.type(0)
            for offset in range(WIDTH):
                total += tile[local + offset] if staged else source[first + local + offset]
            target[first + local] = total / WIDTH


def launch(point, source, target):
    """Run the kernel with the parameters of a point."""
    block, per_thread = point["block"], point["per_thread"]
    blocks = -(-target.size // (block * per_thread))
    smooth_kernel[blocks, block](source, target, per_thread, block, point["staged"])


def prepare(problem):
    """The arguments of a problem, and the right results."""
    n = problem["n"]
    source = np.random.default_rng(0).random(n + WIDTH - 1).astype(problem["dtype"])
    expected = np.convolve(source.astype(np.float64), np.full(WIDTH, 1 / WIDTH), mode="valid")
    target = np.zeros(n, problem["dtype"])
    return tuning.Case(inputs={"source": source}, outputs={"target": target}, expected={"target": expected})


def run(data, point):
    """One trial."""
    launch(point, data["source"], data["target"])


def model(problem, point, device):
    """What a launch needs: the source is read and the target written once."""
    n, itemsize = problem["n"], np.dtype(problem["dtype"]).itemsize
    elements = point["block"] * point["per_thread"]
    return tuning.Resources(
        threads=point["block"],
        blocks=-(-n // elements),
        flops=WIDTH * n,
        dram_bytes=2 * n * itemsize,
        cache_bytes=n * itemsize * (2 if point["staged"] else 1 + WIDTH),
        local_bytes=n * itemsize * (1 + WIDTH) * point["staged"],
        local_memory=(elements + WIDTH - 1) * itemsize * point["staged"],
        dtype=problem["dtype"],
    )


def space(problem, device):
    """What this device can run."""
    caps = device.capabilities
    most, itemsize = caps.local_memory_static, np.dtype(problem["dtype"]).itemsize
    return tuning.SearchSpace.of(
        lambda block: block <= caps.max_work_group_size,
        lambda block, per_thread, staged: not staged or (block * per_thread + WIDTH - 1) * itemsize <= most,
        block=(32, 64, 128, 256, 512),
        per_thread=(1, 2, 4, 8),
        staged=(False, True),
    )


SMOOTH = tuning.Tunable(
    name="example-smooth",
    version=1,  # raise it when the kernel or its parameters change
    space=space,
    prepare=prepare,
    run=run,
    model=model,
    verify_on=({"n": 1, "dtype": "float32"}, {"n": 1001, "dtype": "float32"}),  # a winner must be right here, too
)


@tuning.tuned(SMOOTH, problem=lambda source, target: {"n": target.size, "dtype": target.dtype.name})
def smooth(point, source, target):
    """The stencil with the best known parameters for these arrays on the current device."""
    launch(point, source, target)


def main(n=50_000, budget="20s", trials=6):
    """Tune, then smooth a random vector with the winner; returns (result of tuning, choice)."""
    problem = {"n": n, "dtype": "float32"}
    device = cuda.current_context().device
    result = tuning.tune(SMOOTH, problem, device=device, budget=budget, trials=trials)
    assert result.winner is not None or result.trials == 0, result

    case = prepare(problem)
    source, target = cuda.to_device(case.inputs["source"]), cuda.device_array(n, np.float32)
    smooth(source, target)
    np.testing.assert_allclose(target.copy_to_host(), case.expected["target"], rtol=1e-5)
    choice = tuning.best(SMOOTH, problem, device=device)
    print(f"{device.name}: {n} elements")
    print(result)
    print(choice)
    return result, choice


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 50_000, trials=None)
