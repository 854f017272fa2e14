"""Kernels in other processes: of ``__main__``, of functions, in pools of processes."""

import copy
import importlib.util
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import portagpu
from portagpu import cuda
from portagpu.errors import KernelPickleError

pytestmark = pytest.mark.one_device

PROGRAM = """
import math, multiprocessing, os, pickle, sys
import numpy as np
from portagpu import cuda, vectorize, guvectorize
from portagpu.cuda import threadIdx

FACTOR = 3
TABLE = np.arange(5.0)
local = open(__file__)  # an attribute has this name in a kernel, which says nothing of this value

@cuda.jit(device=True)
def even(n):
    return FACTOR if n == 0 else 2 * FACTOR

@cuda.jit
def scale(x, offset=1.0):
    own = cuda.local.array(1, np.float64)
    own[0] = x[0]
    x[threadIdx.x] = own[0] * even(0) + TABLE[2] + math.sqrt(offset)

@cuda.jit
def wrong(x):
    x[0] = unknown

@cuda.reduce
def total(a, b):
    return a + b

@vectorize
def twice(a):
    return 2 * a * FACTOR

@guvectorize(["void(float64[:], float64[:])"], "(n)->()")
def first(a, out):
    out[0] = a[0]

def inner():
    step = 10.0
    @cuda.jit
    def add(x):
        x[0] += step
    return add

def task(objects):
    again, others, kernel, failing = objects
    x = np.ones(1)
    kernel[1, 1](x)  # 1 * 3 + 2 + 1
    others[1, 1](x)  # + 10
    try:
        failing[1, 1](x)
    except cuda.errors.NumbaError as error:
        message = str(error)
    total, twice, first = again
    values = np.arange(3.0)
    found = float(x[0]), float(total(values)), twice(values).tolist(), float(first(values + 7))
    return *found, message, os.getpid(), id(kernel)

def run(mapped):
    objects = (total, twice, first), inner(), scale, wrong
    results = list(mapped(task, [objects, objects]))
    for x, sum_, doubled, one, message, *_ in results:
        assert (x, sum_, doubled, one) == (16.0, 3.0, [0.0, 6.0, 12.0], 7.0), results
        assert "script.py:23" in message and "x[0] = unknown" in message, message
    # a process's second task has the same kernel: nothing is compiled again
    assert len({r[-2:] for r in results}) == len({r[-2] for r in results})
    print("right")
"""

MAINS = {
    "spawn": "with multiprocessing.get_context('spawn').Pool(1) as pool: run(pool.map)",
    "joblib": "import joblib\n    run(lambda f, values: joblib.Parallel(2)(joblib.delayed(f)(v) for v in values))",
    "cloudpickle": (
        "import cloudpickle, subprocess\n"
        "    def mapped(f, values):\n"
        "        code = 'import pickle, sys; f, v = pickle.load(sys.stdin.buffer);'\n"
        "        code += 'sys.stdout.buffer.write(pickle.dumps([f(v), f(v)]))'\n"
        "        data = cloudpickle.dumps((f, values[0]))\n"
        "        return pickle.loads(subprocess.run([sys.executable, '-c', code], input=data,"
        " stdout=subprocess.PIPE, check=True).stdout)\n"
        "    run(mapped)"
    ),
}


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("way", MAINS)
def test_kernels_of_a_script(device, tmp_path, way):
    if way in ("joblib", "cloudpickle") and importlib.util.find_spec(way) is None:
        pytest.skip(f"{way} is not installed")
    script = tmp_path / "script.py"
    script.write_text(f"{PROGRAM}\nif __name__ == '__main__':\n    {MAINS[way]}\n")
    found = [str(Path(portagpu.__file__).parents[1]), *filter(None, sys.path)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(found), "PORTAGPU_DEVICE": str(device.index)}
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "right\n"


def _pair():
    """Two device functions that name each other, of which one is never called."""

    @cuda.jit(device=True)
    def odd(n):
        return n if n < 2 else n + 1

    @cuda.jit
    def kernel(x):
        x[0] = odd(x[0]) if x[0] < 5 else kernel.missing + holder.missing

    holder = kernel
    return kernel


def test_the_same_kernel_once():
    kernel = _pair()
    assert pickle.loads(pickle.dumps(kernel)) is kernel
    assert copy.copy(kernel) is copy.deepcopy(kernel) is kernel


def test_replaced_values_make_another_kernel(device):
    scope = {"cuda": cuda, "STEP": 1.0, "__name__": "__main__"}
    exec("@cuda.jit\ndef kernel(x):\n    x[0] += STEP\n", scope)
    kernel = scope["kernel"]
    before = pickle.dumps(kernel)
    assert pickle.dumps(kernel) == before
    scope["STEP"] = 5.0
    after = pickle.dumps(kernel)
    assert after != before
    x = np.zeros(1)
    pickle.loads(after)[1, 1](x)
    assert x[0] == 5


def test_intrinsics_and_constexpr_travel():
    for value in (cuda.threadIdx, cuda.shared, cuda.atomic, cuda.constexpr, cuda.cg):
        assert pickle.loads(pickle.dumps(value)) is value
    for value in (cuda.grid, cuda.atomic.add, cuda.threadIdx.x, cuda.float32x4):
        assert pickle.loads(pickle.dumps(value)) == value


def test_another_version_of_python(monkeypatch):
    data = pickle.dumps(_pair())
    monkeypatch.setattr("portagpu.dispatch.pickling._python", lambda: "cpython 3.99")
    with pytest.raises(KernelPickleError, match="was pickled by cpython 3"):
        pickle.loads(data)
