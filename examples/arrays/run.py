"""Run a program of this folder with a namespace, and beside it with NumPy: times of a step, and the difference.

python examples/arrays/run.py shallow_water --namespace portagpu --device cpu --size 1024
"""

import argparse
import importlib
import time

import conjugate_gradients
import lloyd
import numpy as np
import shallow_water

PROGRAMS = {  # what makes the input, the program, a size, and steps that it makes at most
    "conjugate_gradients": (conjugate_gradients.plate, conjugate_gradients.solve_plate, 1024, 50),
    "conjugate_gradients_dense": (conjugate_gradients.dense, conjugate_gradients.solve_dense, 2048, 50),
    "k_means": (lloyd.mixture, lloyd.run, 200_000, 10),
    "shallow_water": (shallow_water.vortices, shallow_water.run, 1024, 20),
    "shallow_water_joined": (shallow_water.vortices, shallow_water.run_joined, 1024, 20),
    "shallow_water_in_place": (shallow_water.vortices, shallow_water.run_in_place, 1024, 20),
}
# Iterates of conjugate gradients part from each other as rounding spoils the directions' orthogonality, by far more
# than each step's rounding, and solve the system as well as before: what they leave of it is compared.
LEFT_OVER = {
    "conjugate_gradients": conjugate_gradients.plate_left_over,
    "conjugate_gradients_dense": conjugate_gradients.dense_left_over,
}
NAMESPACES = {
    "portagpu": "portagpu.xp",
    "numpy": "array_api_compat.numpy",
    "array_api_strict": "array_api_strict",
    "torch": "array_api_compat.torch",
    "cupy": "array_api_compat.cupy",
}
ROUNDS = 5


def on_host(array):
    """An array as NumPy's."""
    if hasattr(array, "get"):  # CuPy's
        return array.get()
    return np.asarray(array.cpu() if hasattr(array, "cpu") else array)


def timed(program, xp, inputs, steps):
    """(results as NumPy's arrays, seconds of a step) of one run of a program."""
    start = time.perf_counter()
    *results, made = program(xp, *inputs, steps)
    results = [on_host(x) for x in results]
    return results, (time.perf_counter() - start) / made


def difference(found, expected):
    """The largest difference of results, in parts of the largest number."""
    return max(float(np.abs(a - b).max() / np.abs(b).max()) for a, b in zip(found, expected, strict=True))


def check(name, inputs, results, expected, steps):
    """Raise AssertionError for results that are worse than rounding makes them."""
    eps = float(np.finfo(inputs[0].dtype).eps)
    if name in LEFT_OVER:
        ours, numpys = (LEFT_OVER[name](inputs, found) for found in (results, expected))
        assert ours <= 1.1 * numpys + 10 * eps, f"{ours:.1e} of the right-hand side is left, by NumPy {numpys:.1e}"
        return
    error, allowed = difference(results, expected), steps * 1e3 * eps
    assert error <= allowed, f"results differ by {error:.1e}, more than {allowed:.1e}"


def main(name="shallow_water", namespace="portagpu", device=None, size=None, dtype="float32", steps=None):
    """Run a program; returns (seconds of a step, NumPy's, the largest difference)."""
    make, program, usual, most = PROGRAMS[name]
    xp = importlib.import_module(NAMESPACES[namespace])
    arrays = make(size or usual, np.dtype(dtype))
    steps = steps or most
    inputs = tuple(xp.asarray(a, device=device) for a in arrays)
    start = time.perf_counter()
    timed(program, xp, inputs, 2)
    first = time.perf_counter() - start
    seconds, numpys = [], []
    for _ in range(ROUNDS):  # in turns, so that what else runs hits both
        expected, one = timed(program, importlib.import_module(NAMESPACES["numpy"]), arrays, steps)
        results, two = timed(program, xp, inputs, steps)
        numpys.append(one)
        seconds.append(two)
    seconds, numpys = min(seconds), min(numpys)
    error = difference(results, expected)
    where = inputs[0].device
    print(f"{where}: {name} of size {size or usual}, {dtype}")
    print(f"{namespace}: {seconds * 1e3:.3f} ms a step, the first two in {first * 1e3:.0f} ms")
    print(f"numpy: {numpys * 1e3:.3f} ms a step, {numpys / seconds:.2f} times as long; difference {error:.1e}")
    check(name, arrays, results, expected, steps)
    return seconds, numpys, error


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=PROGRAMS)
    parser.add_argument("--namespace", choices=NAMESPACES, default="portagpu")
    parser.add_argument("--device", help="as asarray(device=) takes it: cpu, gpu; for torch cuda")
    parser.add_argument("--size", type=int, help="points along an axis; for k_means all of them")
    parser.add_argument("--dtype", choices=["float32", "float64"], default="float32")
    parser.add_argument("--steps", type=int, help="steps, iterations or rounds at most")
    main(**vars(parser.parse_args()))
