"""Rows of what prints and saves arrays: the host's text and files."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from function_table import Case, row, rows
from operand_drawing import ALL, NUMBERS, WITH_HALVES, Drawing


@rows(["numpy.array2string", "numpy.array_repr", "numpy.array_str"])
def _texts(d: Drawing, name: str) -> Case:
    x, precision = d.array(WITH_HALVES), d.one(None, 2)
    return Case(call=lambda n, a: getattr(n, name[6:])(a, precision=precision), operands=(x,))


@row("numpy.savetxt")
def _savetxt(d: Drawing) -> Case:
    x = d.array(NUMBERS, d.one((1,), (7,), (3, 4), (2, 3, 5)))

    def call(n: Any, a: Any) -> Any:
        file = io.StringIO()
        n.savetxt(file, a, delimiter=",")
        return file.getvalue()

    return Case(call=call, operands=(x,))


@rows(["numpy.savez", "numpy.savez_compressed"])
def _savez(d: Drawing, name: str) -> Case:
    x, y = d.array(WITH_HALVES), d.array(ALL)

    def call(n: Any, a: Any, b: Any) -> Any:
        file = io.BytesIO()
        getattr(n, name[6:])(file, a, named=b)
        file.seek(0)
        with np.load(file) as found:
            return [found["arr_0"], found["named"]]

    return Case(call=call, operands=(x, y))
