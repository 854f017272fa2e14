"""Kernels whose text is in no file: made with exec, from syntax trees, given on the command line or by hand."""

from __future__ import annotations

import ast
import subprocess
import sys

import numpy as np
import pytest

from portagpu import cuda
from portagpu.errors import KernelTypeError, SourceUnavailableError

pytestmark = pytest.mark.one_device

TEXT = "@cuda.jit\ndef kernel(out):\n    out[0] = FACTOR * 3\n"


def made(text, **names):
    scope = {"cuda": cuda, **names}
    exec(text, scope)
    return scope["kernel"]


def result(kernel):
    out = np.zeros(1)
    kernel[1, 1](out)
    return out[0]


def test_exec(device):
    kernels = [made(TEXT, FACTOR=n) for n in range(1, 4)] + [made(TEXT.replace("3", "5"), FACTOR=2)]
    assert [result(k) for k in kernels] == [3, 6, 9, 10]


def test_errors_show_the_text_given_to_exec(device):
    kernel = made("@cuda.jit\ndef kernel(out):\n    out[0] = 'text'\n")
    with pytest.raises(KernelTypeError, match=r"out\[0\] = 'text'"):
        result(kernel)


def test_syntax_tree(device):
    tree = ast.parse("def kernel(out, *args):\n    out[0] = total(*args)\n")
    tree.body[0].args.vararg = None
    tree.body[0].args.args += [ast.arg(arg="a"), ast.arg(arg="b")]
    tree.body[0].body[0].value.args = [ast.Name(id=n, ctx=ast.Load()) for n in "ab"]
    code = compile(ast.fix_missing_locations(tree), "<kernel>", "exec")

    @cuda.jit(device=True)
    def total(a, b):
        return a + b

    scope = {"total": total}
    exec(code, scope)
    out = np.zeros(1)
    cuda.jit(scope["kernel"])[1, 1](out, 2, 5)
    assert out[0] == 7


def test_command_line(device):
    text = f"""
import numpy as np
from portagpu import cuda
cuda.select_device({device.index})
@cuda.jit
def kernel(out):
    out[0] = 4
out = np.zeros(1)
kernel[1, 1](out)
assert out[0] == 4
"""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_given_text(device):
    code = compile("def kernel(out):\n    out[0] = 8\n", "<lost>", "exec")
    scope = {}
    exec(code, scope)
    function = scope["kernel"]
    function.__code__ = function.__code__.replace(co_filename="<elsewhere>")
    with pytest.raises(SourceUnavailableError, match="source=text"):
        result(cuda.jit(function))
    assert result(cuda.jit(function, source="def kernel(out):\n    out[0] = 8\n")) == 8
