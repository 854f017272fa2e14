"""Variables that some path leaves without a value: warnings, and exceptions under ``debug=True``."""

from __future__ import annotations

import contextlib
import types
import warnings

import numpy as np
import pytest
from remarks import FLOATS, remarks_of

from portagpu import cuda
from portagpu.errors import PortaGPUCorrectnessWarning, UnsetVariableError

pytestmark = pytest.mark.one_device

FEW = 3


def branch(x):
    i = cuda.grid(1)
    if i > 3:
        y = 2.0
    x[i] = y


def branch_of_three(x):
    i = cuda.grid(1)
    if i > 3:
        y = 2.0
    elif i > 1:
        y = 1.0
    x[i] = y


def first_iteration(x):
    for k in range(3):
        x[k] = before  # noqa: F821
        before = k  # noqa: F841


def in_another_type(x):
    if x[0] > 3:
        y = 2
    for _ in range(2):
        y = y + 0.5
    x[0] = y


def condition_that_says_something_else(x):
    if x[0] > 3:
        y = 2.0
    x[0] = y if x[0] > 1 else 0.0


def after_a_break(x):
    while True:
        if x[0] > 1:
            break
        y = x[1]
        if x[2] > 1:
            break
    x[0] = y


def tuple_of_two(x):
    if x[0] > 1:
        pair = x[0], x[1]
    x[1] = pair[1]


WRONG = [
    (branch, "y", 4),
    (branch_of_three, "y", 6),
    (first_iteration, "before", 2),
    (in_another_type, "y", 4),
    (condition_that_says_something_else, "y", 3),
    (after_a_break, "y", 7),
    (tuple_of_two, "pair", 3),
]


@pytest.mark.parametrize(("function", "name", "line"), WRONG, ids=[f.__name__ for f, _, _ in WRONG])
def test_a_path_without_a_value_is_told(function, name, line):
    assert remarks_of(function, FLOATS) == {(name, line)}


def all_paths(x):
    if x[0] > 3:
        y = 2.0
    elif x[0] > 1:
        y = 1
    else:
        y = x[1]
    x[0] = y


def left_early(x):
    if x[0] > 3:
        y = 2.0
    elif x[0] > 1:
        return
    else:
        raise ValueError("no")
    x[0] = y


def same_condition(x, n):
    i = cuda.grid(1)
    if i < n:
        y = x[i]
    cuda.syncthreads()
    if i < n:
        x[i] = y


def opposite_condition(x, n):
    i = cuda.grid(1)
    if i < n:
        y = x[i]
    if i >= n:
        return
    x[i] = y


def one_of_two_conditions(x, n):
    i = cuda.grid(1)
    if i < n:
        y = x[i]
    if i < n and x[0] > 0:
        x[i] = y


def either_of_two_conditions(x, n):
    if n == 1:
        y = x[0]
    elif n == 2:
        y = x[1]
    if n == 1 or n == 2:
        x[2] = y


def lazily(x, n):
    i = cuda.grid(1)
    if i < n:
        y = x[i]
    x[i] = y if i < n else 0.0


def flag_beside_it(x):
    found = False
    for k in range(x.size):
        if x[k] > 100:
            found = True
            place = k
            break
    if found:
        x[0] = place


def loop_over_arguments(x, n):
    for k in range(n):
        last = k
    x[0] = last


def while_over_arguments(x, n):
    k = 0
    while k < n:
        last = k
        k += 1
    x[0] = last


def endless(x):
    k = 0
    while True:
        v = k
        if v > 3:
            break
        k += 1
    x[0] = v


def later_iterations(x):
    for k in range(3):
        if k > 0:
            x[k] = before  # noqa: F821
        before = k  # noqa: F841


def decided_while_compiling(x):
    if FEW > 2:
        y = 1.0
    x[0] = y


def loop_with_else(x):
    for k in range(x.size):
        if x[k] > 0:
            place = k
            break
    else:
        place = -1
    x[0] = place


def continues(x):
    for k in range(x.size):
        if x[k] < 0:
            continue
        y = x[k]
        x[k] = y + 1


def swaps(x):
    a, b = x[0], x[1]
    for _ in range(3):
        a, b = b, a + b
    x[0] = a


RIGHT = [
    *(all_paths, left_early, same_condition, opposite_condition, one_of_two_conditions, lazily, flag_beside_it),
    either_of_two_conditions,
    *(loop_over_arguments, while_over_arguments, endless, later_iterations, decided_while_compiling, loop_with_else),
    *(continues, swaps),
]


@pytest.mark.parametrize("function", RIGHT, ids=lambda f: f.__name__)
def test_usual_programs_are_left_alone(function):
    arguments = (FLOATS, cuda.int64)[: function.__code__.co_argcount]
    assert remarks_of(function, *arguments) == set()


@pytest.mark.filterwarnings("ignore::portagpu.errors.PortaGPUPerformanceWarning")  # small launches
def test_the_warning_names_the_line(device, telling):
    kernel = cuda.jit(branch)
    with pytest.warns(PortaGPUCorrectnessWarning, match=r"`y` has no value here .*PORTAGPU_WARNINGS=0") as told:
        kernel[1, 4](np.zeros(4, np.float32))
    assert told[0].filename == __file__
    assert told[0].lineno == branch.__code__.co_firstlineno + 4
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kernel[1, 4](np.zeros(4, np.float32))  # once for each kernel and configuration


@cuda.jit(device=True)
def chosen(a, wanted):
    if wanted:
        result = a
    return result


@cuda.jit(debug=True, opt=False)
def checked(x, mode, n):
    i = cuda.grid(1)
    if mode == 1:
        if i > 1:
            y = 2.0
        x[i] = y
    elif mode == 2:
        for k in range(n):
            last = k
        x[i] = last
    elif mode == 3:
        for k in range(n):
            x[i] += before  # noqa: F821
            before = k  # noqa: F841
    elif mode == 4:
        x[i] = chosen(x[i], i != 2)
    elif mode == 5:
        if i > 1:
            z = 2.0
        x[i] = z if i > 0 else 0.0
    elif mode == 6:
        if i < n:
            w = 5
        for _ in range(2):
            w = w + 0.5
        x[i] = w


# mode, n, the variable, threads that may be the first
RAISES = [(1, 0, "y", (0, 1)), (2, 0, "last", range(4)), (3, 1, "before", range(4)), (4, 0, "result", (2,))]
RAISES += [(5, 0, "z", (1,)), (6, 3, "w", (3,))]


@pytest.mark.parametrize(("mode", "n", "name", "threads"), RAISES)
def test_reading_it_raises_under_debug(device, mode, n, name, threads):
    with pytest.raises(UnboundLocalError, match=f"local variable '{name}'") as caught:
        checked[1, 4](np.zeros(4, np.float32), mode, n)
    assert caught.value.kernel_fault.thread[0] in threads
    assert name in caught.value.kernel_fault.span.text


@pytest.mark.parametrize(("mode", "n", "result"), [(2, 3, 2), (6, 4, 6)])
def test_taken_paths_do_not_raise(device, mode, n, result):
    x = np.zeros(4, np.float32)
    checked[1, 4](x, mode, n)
    assert x.tolist() == [result] * 4


def never_plain(x, n):
    if n == 1:
        y = never  # noqa: F821
        x[0] = y
    elif n > 1:
        never = 3
        x[0] = never


def never_added_to(x, n):
    if n > 0:
        c = 2
    else:
        x[0] = 5
        c += 1
    x[0] = c


def never_after_an_effect(x, n):
    x[0] = 1
    if n == 1:
        x[0] = add(x, n) + never  # noqa: F821
    never = 2
    x[0] += never


def never_as_a_condition(x, n):
    if n > 0:
        if n > 1:
            x[0] = 4
        elif never:  # noqa: F821
            x[0] = 6
    never = n
    x[0] += never


def never_deleted(x, n):
    c = n
    if n == 1:
        del c
        x[0] = c
    x[0] = 7


def never_in_a_loop(x, n):
    for k in range(3):
        if n == k == 1:
            x[0] += never  # noqa: F821
        x[0] += k
    never = n  # noqa: F841


def never_returned(x, n):
    x[0] = 9
    x[0] = picked(n)


@cuda.jit(device=True)
def add(x, n):
    x[1] += n
    return n


@cuda.jit(device=True)
def picked(n):
    if n == 0:
        return 3
    if n == 1:
        return never  # noqa: F821
    never = 4
    return never


NEVER = [never_plain, never_added_to, never_after_an_effect, never_as_a_condition, never_deleted, never_in_a_loop]
NEVER += [never_returned]
PLAIN = {"add": add.py_func, "picked": picked.py_func}


def in_python(function, n):
    """The array after the function, and whether it raised."""
    x = np.zeros(2, np.int64)
    try:
        types.FunctionType(function.__code__, {**globals(), **PLAIN})(x, n)
    except UnboundLocalError:
        return x.tolist(), True
    return x.tolist(), False


@pytest.mark.filterwarnings("ignore::portagpu.errors.PortaGPUPerformanceWarning")  # small launches
@pytest.mark.parametrize("function", NEVER, ids=[f.__name__ for f in NEVER])
def test_variables_that_no_path_sets(device, telling, function):
    checked, plain = cuda.jit(debug=True, opt=False)(function), cuda.jit(function)
    with pytest.warns(PortaGPUCorrectnessWarning, match="has no value on any path that leads here, where threads end"):
        plain[1, 1](np.zeros(2, np.int64), 0)
    raised = []
    for n in (0, 1, 2):
        expected, raises = in_python(function, n)
        x, y = (cuda.to_device(np.zeros(2, np.int64)) for _ in range(2))
        plain[1, 1](x, n)
        assert x.tolist() == expected
        with pytest.raises(UnboundLocalError, match="local variable") if raises else contextlib.nullcontext():
            checked[1, 1](y, n)
        assert y.tolist() == expected
        raised.append(raises)
    assert any(raised)
    assert not all(raised)


def never_at_all(x, n):
    x[0] = never  # noqa: F821
    never = n  # noqa: F841


def never_in_a_choice(x, n):
    if n:
        x[0] = never if n > 1 else 2  # noqa: F821
    never = n  # noqa: F841


def never_in_a_loop_that_may_not_run(x, n):
    if n:
        for k in range(n):
            x[k] = never  # noqa: F821
    never = n  # noqa: F841


@pytest.mark.parametrize("function", [never_at_all, never_in_a_choice, never_in_a_loop_that_may_not_run])
def test_variables_that_are_refused(function):
    with pytest.raises(UnsetVariableError, match="`never` is used before it has a value"):
        remarks_of(function, FLOATS, cuda.int64)
