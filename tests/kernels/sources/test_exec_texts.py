"""Texts of functions without a file, made in every way, after many others were compiled."""

from __future__ import annotations

import ast
import code
import doctest
import gc
import linecache
import marshal
from types import CodeType, FunctionType

import numpy as np
import pytest

from portagpu import cuda
from portagpu.frontend.source import exec_texts
from portagpu.frontend.source.capture import capture

TEXT = "def f(x):\n    x[0] = {n}\n"
OTHERS = 700


def execute(source, filename="<string>", mode="exec", name="f"):
    scope = {"cuda": cuda}
    exec(source if isinstance(source, CodeType) else compile(source, filename, mode), scope)
    return scope[name]


def from_text(n):
    scope = {}
    exec(TEXT.format(n=n), scope)
    return scope["f"]


def from_bytes(n):
    scope = {}
    exec(TEXT.format(n=n).encode(), scope)
    return scope["f"]


def from_code(n):
    return execute(TEXT.format(n=n))


def from_tree(n):
    return execute(ast.parse(TEXT.format(n=n)), "<tree>")


def after_another(n):
    """Two texts of the same names and file name are compiled before either is executed."""
    codes = [compile(TEXT.format(n=k), "<string>", "exec") for k in (n, n + 1000)]
    functions = [execute(c) for c in codes]
    return functions[0]


def executed_twice(n):
    compiled = compile(TEXT.format(n=n), "<string>", "exec")
    first = execute(compiled)
    second = execute(TEXT.format(n=n + 1000))
    again = execute(compiled)
    assert constants(second) == [0, n + 1000]
    del first
    return again


def nested(n):
    text = "".join(f"    {line}\n" for line in TEXT.format(n=n).splitlines())
    return execute(f"def outer():\n{text}    return f\n", name="outer")()


def method(n):
    text = "".join(f"    {line}\n" for line in TEXT.format(n=n).splitlines())
    return execute(f"class A:\n{text}", name="A").f


def from_code_alone(n):
    compiled = compile(TEXT.format(n=n), "<string>", "exec")
    return FunctionType(next(c for c in compiled.co_consts if isinstance(c, CodeType)), {})


def after_decoration(n):
    return execute(f"@cuda.jit\n{TEXT.format(n=n)}").py_func


def anonymous(n):
    return eval(f"lambda x: x[0] + {n}")


def of_linecache(n):
    filename = f"<cell {n}>"
    text = TEXT.format(n=n)
    linecache.cache[filename] = len(text), None, text.splitlines(keepends=True), filename
    function = execute(text, filename)
    del linecache.cache[filename]
    return function


def of_a_prompt(n):
    scope = {}
    code.InteractiveInterpreter(scope).runsource(TEXT.format(n=n), "<console>", "exec")
    return scope["f"]


def of_a_doctest(n):
    scope = {}
    example = f">>> def f(x):\n...     x[0] = {n}\n"
    test = doctest.DocTestParser().get_doctest(example, scope, "name", None, None)
    doctest.DocTestRunner().run(test, clear_globs=False)
    return test.globs["f"]


def a_copy(n):
    original = from_text(n)
    copy = FunctionType(marshal.loads(marshal.dumps(original.__code__)), {})
    copy.original = original
    return copy


WAYS = [from_text, from_bytes, from_code, from_tree, after_another, executed_twice, nested, method, after_decoration]
WAYS += [anonymous, of_linecache, of_a_prompt, of_a_doctest, a_copy, from_code_alone]


def constants(function):
    return sorted(n.value for n in ast.walk(capture(function).tree) if isinstance(n, ast.Constant))


def many_others():
    """Functions as `dataclasses` and `attrs` make them, which stay."""
    return [from_text(-n - 1) for n in range(OTHERS)]


def test_texts_stay_as_long_as_their_functions():
    functions = [(way, k, way(k)) for way in WAYS for k in (3, 4)]
    others = many_others()
    for way, k, function in functions:
        assert constants(function) == [0, k], way.__name__
    assert len(others) == OTHERS


def test_texts_go_with_their_functions():
    gc.collect()
    exec_texts._waiting.clear()  # texts of the tests before
    exec_texts._size = 0
    texts, waiting = len(exec_texts._texts), len(exec_texts._waiting)
    several = (
        after_another,
        executed_twice,
        a_copy,
        from_code_alone,
        of_linecache,
        of_a_prompt,
    )
    functions = [way(7) for way in WAYS if way not in several] + many_others()
    assert len(exec_texts._texts) >= texts + OTHERS
    del functions
    gc.collect()
    assert len(exec_texts._texts) == texts
    assert len(exec_texts._waiting) == waiting


def test_equal_functions_have_texts_of_their_own():
    first, second = from_text(5), from_text(5)
    assert first.__code__ == second.__code__
    del first
    gc.collect()
    many_others()
    assert constants(second) == [0, 5]


def test_texts_that_are_never_executed_are_few():
    for n in range(200):
        compile(f"def f(x): pass\n# {n}{' ' * 2**17}", "<string>", "exec")
    assert sum(w.size for w in exec_texts._waiting.values()) == exec_texts._size <= exec_texts._MOST_WAITING


@pytest.mark.one_device
def test_launches(device):
    """A kernel and the device function that it calls are compiled late."""
    scope = {"cuda": cuda}
    exec("@cuda.jit(device=True)\ndef half(v):\n    return v / 2\n", scope)
    exec("@cuda.jit\ndef kernel(x):\n    x[0] = half(x[1])\n", scope)
    others = many_others()
    x = np.array([0.0, 3.0])
    scope["kernel"][1, 1](x)
    assert x[0] == 1.5
    assert others
