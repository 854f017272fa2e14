"""Calls of NumPy's functions for array programs: reductions, functions that move elements, ``out=``, rounded ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from fuzz_array_expressions import ROUGH, ArrayExpressions


def reduction(e: ArrayExpressions) -> str:
    """A reduction or a scan whose result is exact."""
    pick, name = e.choose.pick, e.device_array()
    if e.choose.chance(3):
        text = e.expression(1 + e.choose.below(2))
        value = e.value(text)
        x = f"({text})"
        if not isinstance(value, np.ndarray):
            value, x = e.scope[name], name
    else:
        value, x = e.scope[name], name
    kind, size = value.dtype.kind, max(value.size, 1)
    whole = e.small(value, size)
    functions = ["any", "all", "count_nonzero"]
    if kind in "biuf":
        functions += ["max", "min", "argmax", "argmin", "max", "min"]
    if whole:
        functions += ["sum", "sum", "cumsum", "sum"]
    if kind in "biu":
        functions += ["prod", "cumprod", "bitwise_or.reduce", "bitwise_xor.reduce", "add.accumulate"]
    if kind in "iuf":
        functions += ["maximum.accumulate", "minimum.reduce", "ptp"] + (["nanmax", "nanargmin"] if kind == "f" else [])
    function = str(pick(*functions))
    scan = function in ("cumsum", "cumprod") or function.endswith("accumulate")
    several = not scan and not function.startswith(("arg", "nanarg")) and not function.endswith("reduce")
    words = [f"axis={e.axis(value, several)}"]
    if value.ndim and not scan and e.choose.chance(4):
        words.append("keepdims=True")
    if function in ("sum", "prod", "cumsum", "cumprod") and e.choose.chance(5):
        words.append(f"dtype={pick('i8', 'f8', 'i4') if kind != 'c' else 'c16'!r}")
        if kind == "f" or (kind in "iu" and "f8" in words[-1] and not _below(value, size)) or "prod" in function:
            words.pop()
    if function in ("sum", "prod", "any", "all", "max", "min") and e.choose.chance(4) and value.ndim:
        words.append(f"where={pick(f'{x} != 0', f'{x} == {x}', mask(e, value))}")
        if function in ("max", "min"):
            words.append("initial=0" if kind != "b" else "initial=False")
    zero = " + 0" if kind in "fc" and function.split(".")[0] not in ("any", "all", "argmax", "argmin") else ""
    zero = "" if "count" in function or "arg" in function else zero
    return f"np.{function}({x}, {', '.join(words)}){zero}"


def _below(value: Any, terms: int) -> bool:
    return bool(np.all(np.abs(value.astype("f8")) * terms < 1 << 50))


def mask(e: ArrayExpressions, value: Any) -> str:
    """Bools that broadcast to an array's shape."""
    fitting = [n for n in e.arrays("v") if e.scope[n].ndim and e.scope[n].shape == value.shape[-e.scope[n].ndim :]]
    return f"{e.choose.pick(*fitting)} != 1" if fitting else "True"


def arrangement(e: ArrayExpressions) -> str:
    """Sorts, joins, selections and products of whole numbers."""
    pick, name = e.choose.pick, e.device_array()
    array = e.scope[name]
    family = pick(_sorted, _joined, _selected, _selected, _moved, _moved, _copied, _product)
    return family(e, name, array)


def _sorted(e: ArrayExpressions, name: str, array: Any) -> str:
    zero = "" if array.dtype.kind in "biu" else " + 0"
    axis = e.axis(array)
    flat = f"{name}.ravel()"
    forms = [f"np.sort({name}{zero}, axis={axis})", f"np.argsort({name}{zero}, axis={axis}, kind='stable')"]
    forms += [f"np.unique({name}{zero})", f"np.unique({name}{zero}, return_counts=True)"]
    if array.dtype.kind != "c":
        forms.append(f"np.searchsorted(np.sort({flat}{zero}), {e.operand(name)})")
        forms.append(f"np.lexsort(({flat}{zero}, {flat} > 2))")
    if array.dtype.kind in "biu":
        forms.append(f"np.isin({name}, {e.device_array()} + 0)")
    return str(e.choose.pick(*forms))


def _joined(e: ArrayExpressions, name: str, array: Any) -> str:
    axis, other = e.axis(array), e.operand(name)
    if np.ndim(e.value(other)) != array.ndim or e.value(other) is None:
        other = name
    forms = [f"np.concatenate(({name}, {other}), axis={axis})", f"np.stack(({name}, {other}), axis={axis})"]
    forms += [f"np.hstack(({name}, {other}))", f"np.vstack(({other}, {name}))", f"np.append({name}, {other})"]
    forms += [f"np.concatenate(({name}, {e.device_array()}), axis=None)", f"np.dstack(({name}, {name}))"]
    forms += [f"np.broadcast_arrays({name}, {other})[0].copy()", f"np.insert({name}, 0, 1, axis={axis})"]
    if array.ndim == 1:
        forms.append(f"np.meshgrid({name}[:7], {name}[:3])")
    return str(e.choose.pick(*forms))


def _selected(e: ArrayExpressions, name: str, array: Any) -> str:
    if array.ndim == 0:
        return f"{name}[()]"
    places = e.places(array, 5)
    n = array.shape[0]
    forms = [f"{name}[{places}]", f"{name}[{name} > 2]" if array.dtype.kind != "c" else f"{name}[{name} != 0]"]
    forms += [
        f"np.take({name}, {places}, axis=0)",
        f"np.take({name}, [-1, 1, 30], mode={e.choose.pick('wrap', 'clip')!r})",
    ]
    forms += [f"np.nonzero({name})", f"np.flatnonzero({name})", f"np.argwhere({name})", f"np.delete({name}, 0, axis=0)"]
    forms += [f"np.compress([True, False, True], {name}, axis=0)", f"np.extract({name} == {name}, {name})"]
    forms += [f"{name}{e.subscript(array)}", f"{name}[::2][{e.places(array[::2], 3)}]"]
    if array.ndim > 1 and min(array.shape) > 0:
        second = e.places(array.swapaxes(0, 1), 3)
        forms += [f"{name}[:, {second}]", f"{name}[0, {second}]", f"{name}[{places}, 0]", f"{name}[{places}, ::-1]"]
        forms.append(f"np.take_along_axis({name}, np.argsort({name} + 0, axis=0, kind='stable'), axis=0)")
        forms.append(f"{name}[np.arange({n}) % 2 == 0, 1:]")
    if array.dtype.kind in "iu":
        forms.append(f"np.choose({name} % 2 == 0, ({name}, 1))")
    text = str(e.choose.pick(*forms))
    if "nonzero(" in text and "flat" not in text:  # views of one array in NumPy
        return f"[x.copy() for x in {text}]"
    return text if array.ndim == 1 else f"np.copy({text}, order='C')"  # an order that NumPy leaves open


def _moved(e: ArrayExpressions, name: str, array: Any) -> str:
    axis, pick = e.axis(array), e.choose.pick
    forms = [f"np.flip({name}, axis={axis})", f"np.roll({name}, {pick(1, -2, 7)}, axis={axis})", f"np.roll({name}, 3)"]
    forms += [f"np.repeat({name}, 2, axis={axis})", f"np.tile({name}, 2)", f"np.expand_dims({name}, {axis})"]
    forms += [f"np.moveaxis({name}, {axis}, 0)", f"np.atleast_2d({name})", f"np.squeeze({name})"]
    forms += [f"np.broadcast_to({name}, {(2, *array.shape)})", f"np.reshape({name}, -1, order={pick('C', 'F')!r})"]
    if array.ndim:
        mode = pick("edge", "constant", "wrap", "reflect")
        forms += [f"np.pad({name}, 1, mode={mode!r})", f"np.array_split({name}, 2, axis={axis})"]
        if array.dtype.kind != "b":
            forms.append(f"np.diff({name}, axis={axis})")
    if array.ndim > 1:
        forms += [f"np.tril({name})", f"np.triu({name}, 1)", f"np.rot90({name})", f"np.diagonal({name}, 1)"]
    if array.ndim == 1 and array.size < 50:
        forms.append(f"np.diag({name})")
    return str(pick(*forms))


def _copied(e: ArrayExpressions, name: str, array: Any) -> str:
    forms = [f"{name}.copy()", f"np.copy({name})"]
    forms += [f"{name}.flatten()", f"{name}.astype({name}.dtype, order='F')", f"np.zeros_like({name})"]
    forms += [f"np.full_like({name}, 1)", f"np.ravel({name}, order={e.choose.pick('C', 'F', 'K', 'A')!r})", f"+{name}"]
    forms += [f"{name}.copy(order={e.choose.pick('C', 'F', 'K')!r})", f"np.array({name}.T + 0).T"]
    if array.dtype.kind == "b":
        forms.remove(f"+{name}")
    return str(e.choose.pick(*forms[:-1]))


def _product(e: ArrayExpressions, name: str, array: Any) -> str:
    """Products of small whole numbers, which are exact in each order of additions."""
    largest = max(200.0, float(np.max(np.abs(array), initial=0)))  # Python's: a product beyond float16 warns
    if array.ndim == 0 or array.dtype.kind == "b" or not e.small(array, largest * array.size):
        return _moved(e, name, array)
    if array.dtype == np.float16 and float(np.max(np.abs(array), initial=0)) ** 2 * array.size > 2000:
        return _moved(e, name, array)
    forms = [f"np.dot({name}, {name}.T)", f"{name} @ {name}.T", f"np.tensordot({name}, {name}, {array.ndim})"]
    forms += [f"np.inner({name}, {name})", f"np.einsum('...i,...i->...', {name}, {name})", f"np.vdot({name}, {name})"]
    if array.ndim == 1 and array.size < 60:
        forms += [f"np.outer({name}, {name})", f"np.convolve({name}, {name}[:3])"]
    if array.ndim == 2:
        forms += [f"np.trace({name})", f"np.einsum('ij->j', {name})", f"np.einsum('ij,ik->jk', {name}, {name})"]
        forms.append(f"{name}.T @ {name}")
    return f"{e.choose.pick(*forms)}" + (" + 0" if array.dtype.kind in "fc" else "")


def function_into(e: ArrayExpressions, target: str) -> str:
    """A call with ``out=``; the result's kind is one that NumPy converts to the target's."""
    array, pick = e.scope[target], e.choose.pick
    kind = array.dtype.kind
    ranks = "biufc"
    fitting = [
        n
        for n in e.arrays()
        if ranks.index(e.scope[n].dtype.kind) <= ranks.index(kind) and _stretches(e.scope[n], array)
    ]
    a = pick(*(fitting or [target]))
    if kind != "b" and e.choose.chance(4):
        a = f"{target}[::-1]" if array.ndim else target
    b = pick(*(fitting or [target]), e.literal(target))
    out = f"{target}[::-1]" if array.ndim and e.choose.chance(5) else target
    binary = {"b": ("logical_and", "not_equal", "logical_or"), "c": ("add", "subtract")}
    forms = binary.get(kind, ("add", "subtract", "multiply", "add", "multiply"))
    text = f"{a}, {b}" if not e.choose.chance(4) else a
    single = {"b": "logical_not", "c": "conjugate"}.get(kind, str(pick("negative", "square", "positive", "sign")))
    function = single if "," not in text else pick(*forms)
    where = f", where={mask(e, array)}" if e.choose.chance(3) else ""
    if e.choose.chance(6) and array.ndim == 1 and kind in "iu":
        return f"np.cumsum({target}, out={target})"
    if e.choose.chance(8) and not where:
        return f"np.clip({a}, 0, 1, out={out})" if kind in "iu" else f"np.{function}({text}, out={out})"
    return f"np.{function}({text}, out={out}{where})"


def _stretches(value: Any, target: Any) -> bool:
    try:
        return np.broadcast_shapes(np.shape(value), target.shape) == target.shape
    except ValueError:
        return False


def rough(e: ArrayExpressions) -> tuple[str, str]:
    """A text and the expression of its absolute tolerance, in which RESULT stands for the result."""
    pick, text = e.choose.pick, e.expression(e.choose.below(3))
    value = e.value(text)
    if not isinstance(value, np.ndarray) or value.dtype.kind in "bc":
        name = e.device_array()
        text, value = name, e.scope[name]
    if value.dtype.kind == "c":
        form = pick(f"({text}) * ({text})", f"1 / (({text}) ** 2 + 500)", f"np.abs({text})", f"np.exp(({text}) / 16)")
        return form, "64 * ulp(RESULT)"
    form = e.choose.below(5)
    if form < 3:
        return f"np.{pick(*ROUGH)}({text})", "16 * ulp(RESULT)"
    bounded = f"np.nan_to_num(np.clip({text}, -9, 9)).astype({pick('f4', 'f8', 'f2')!r})"
    axis = e.axis(value, several=True)
    n = max(value.size, 1)
    if form == 3:
        function = str(pick("sum", "mean", "cumsum", "var"))
        axis = "None" if function == "cumsum" or value.size == 0 else axis
        if function == "mean" or function == "var":
            size = f"np.mean({bounded}.astype('f8') ** 2 + 1)"
            return f"np.{function}({bounded})", f"{2 * n + 16} * np.finfo(RESULT.dtype).eps * {size}"
        size = f"np.sum(np.abs({bounded}).astype('f8'))"
        return f"np.{function}({bounded}, axis={axis})", f"{2 * n} * np.finfo(RESULT.dtype).eps * {size}"
    function = str(pick("hypot", "arctan2", "logaddexp"))
    return f"np.{function}({text}, ({text}) * 2 + 1)", "32 * ulp(RESULT) + 16 * np.finfo(RESULT.dtype).eps"
