"""Calls of every routine with random operands. Each function prepares operands and gives the call's beginning, and the
error that is allowed where results are not exact."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fuzz_blas import Case

Call = tuple[str, int]
EXACT = 0


def _routine(c: Case, name: str) -> str:
    return f"blas.{c.character}{name}("


# level 1


def axpy(c: Case) -> Call:
    n = c.size()
    x, y = c.vector("x", n), c.vector("y", n)
    c.written += ["y"]
    c.words += [f"n={n}", f"a={c.factor()}"]
    return f"{_routine(c, 'axpy')}{x}, {y}", EXACT


def copy_or_swap(c: Case) -> Call:
    n, name = c.size(), c.pick("copy", "swap")
    x, y = c.vector("x", n), c.vector("y", n)
    c.written += ["y", "x"] if name == "swap" else ["y"]
    c.words.append(f"n={n}")
    return f"{_routine(c, name)}{x}, {y}", EXACT


def scal(c: Case) -> Call:
    n = c.size()
    x = c.vector("x", n)
    c.words.append(f"n={n}")
    if c.complex and c.choose.chance(3):
        c.overwrite("x")
        return f"blas.{'cs' if c.character == 'c' else 'zd'}scal({c.factor(real=True)}, {x}", EXACT
    c.written += ["x"]
    return f"{_routine(c, 'scal')}{c.factor()}, {x}", EXACT


def dot(c: Case) -> Call:
    n = c.pick(c.size(), 1000)
    name = str(c.pick("dotu", "dotc")) if c.complex else "dot"
    x = c.vector("x", n)
    y = x if c.choose.chance(5) and not c.words else c.vector("y", n)
    c.words.append(f"n={n}")
    return f"{_routine(c, name)}{x}, {y}", EXACT


def norm(c: Case) -> Call:
    n, name = c.pick(c.size(), 1000), str(c.pick("nrm2", "asum", "amax"))
    x = c.vector("x", n)
    c.words.append(f"n={n}")
    if name == "amax":
        return f"blas.i{c.character}amax({x}", EXACT
    full = {"c": "sc", "z": "dz"}.get(c.character, c.character) + name
    return f"blas.{full}({x}", 16 if name == "nrm2" else EXACT


def rot(c: Case) -> Call:
    n = c.size()
    x, y = c.vector("x", n), c.vector("y", n)
    c.overwrite("x")
    c.overwrite("y")
    c.words.append(f"n={n}")
    prefix = {"c": "cs", "z": "zd"}.get(c.character, c.character)
    if not c.complex and c.choose.chance(3):
        return f"blas.{prefix}rotm({x}, {y}, np.array([{c.pick(-1, 0, 1, -2)}, 2, 3, -1, 2], {c.kind!r})", EXACT
    return f"blas.{prefix}rot({x}, {y}, 2.0, {c.factor(real=True)}", EXACT


# level 2


def _y(c: Case, n: int) -> None:
    """beta and y, which is not read for beta=0."""
    beta = c.factor()
    if c.choose.chance(3):
        return
    y = c.vector("y", n, "blank" if beta == "0.0" and c.choose.chance(2) else "")
    c.words += [f"beta={beta}", f"y={y}"]
    c.overwrite("y")


def gemv(c: Case) -> Call:
    m, n = c.size(), c.size()
    trans = c.flag("trans", 1, 2)
    a = c.array("a", (m, n))
    x = c.vector("x", m if trans else n)
    _y(c, n if trans else m)
    return f"{_routine(c, 'gemv')}{c.factor()}, {a}, {x}", EXACT


def _triangle(c: Case, *words: str) -> str:
    return " ".join((*words, "lower" if c.flag("lower") else "upper"))


def symv(c: Case) -> Call:
    n = c.size()
    a = c.array("a", (n, n), _triangle(c))
    x = c.vector("x", n)
    _y(c, n)
    return f"{_routine(c, 'hemv' if c.complex else 'symv')}{c.factor()}, {a}, {x}", EXACT


def trmv(c: Case) -> Call:
    n = c.size()
    form = _triangle(c) + (" unit" if c.flag("diag") else "")
    c.flag("trans", 1, 2)
    a, x = c.array("a", (n, n), form), c.vector("x", n)
    c.overwrite("x")
    return f"{_routine(c, 'trmv')}{a}, {x}", EXACT


def trsv(c: Case) -> Call:
    n = c.small()
    form = _triangle(c, "dominant") + (" unit" if c.flag("diag") else "")
    c.flag("trans", 1, 2)
    a, x = c.array("a", (n, n), form), c.vector("x", n)
    c.overwrite("x")
    return f"{_routine(c, 'trsv')}{a}, {x}", 64


def ger(c: Case) -> Call:
    m, n = max(c.size(), 1), max(c.size(), 1)  # SciPy's process ends with a signal for none
    name = str(c.pick("geru", "gerc")) if c.complex else "ger"
    x, y = (c.array(v, (k,)) for v, k in (("x", m), ("y", n)))
    c.words += [f"inc{v}=-1" for v in (x, y) if c.choose.chance(4)]  # SciPy takes no others
    if c.choose.chance(2):
        c.words.append(f"a={c.array('a', (m, n))}")
        c.overwrite("a")
    return f"{_routine(c, name)}{c.factor()}, {x}, {y}", EXACT


def syr(c: Case) -> Call:
    n, two = c.size(), c.choose.chance(2)
    name = str(c.pick("her", "syr")) if c.complex and not two else "her" if c.complex else "syr"
    form = _triangle(c)
    vectors = [c.vector("x", n)] + ([c.vector("y", n)] if two else [])
    c.words.append(f"n={n}")
    if c.choose.chance(2):
        c.words.append(f"a={c.array('a', (n, n), form)}")
        c.overwrite("a")
    return f"{_routine(c, name + '2' * two)}{c.factor(real=name == 'her' and not two)}, {', '.join(vectors)}", EXACT


def banded_product(c: Case) -> Call:
    n = c.size()
    k = min(c.pick(1, 2, 0, 5), max(n - 1, 0))
    if c.choose.chance(2):
        ku = min(c.pick(1, 0, 3), max(n - 1, 0))
        m = max(c.size(), k + ku + 1)  # SciPy takes no less
        trans = c.flag("trans", 1, 2)
        a, x = c.array("a", (k + ku + 1, n)), c.vector("x", m if trans else n)
        _y(c, n if trans else m)
        return f"{_routine(c, 'gbmv')}{m}, {n}, {k}, {ku}, {c.factor()}, {a}, {x}", EXACT
    c.flag("lower")
    a, x = c.array("a", (k + 1, n)), c.vector("x", n)
    if c.choose.chance(2):
        c.flag("trans", 1, 2)
        c.flag("diag")
        c.overwrite("x")
        return f"{_routine(c, 'tbmv')}{k}, {a}, {x}", EXACT
    _y(c, n)
    return f"{_routine(c, 'hbmv' if c.complex else 'sbmv')}{k}, {c.factor()}, {a}, {x}", EXACT


def packed_product(c: Case) -> Call:
    n = c.size()
    c.flag("lower")
    ap = c.array("ap", (n * (n + 1) // 2,))
    x = c.vector("x", n)
    form = c.choose.below(4)
    if form == 0:
        _y(c, n)
        name = str(c.pick("spmv", "hpmv")) if c.complex else "spmv"
        return f"{_routine(c, name)}{n}, {c.factor()}, {ap}, {x}", EXACT
    if form == 1:
        c.flag("trans", 1, 2)
        c.flag("diag")
        c.overwrite("x")
        return f"{_routine(c, 'tpmv')}{n}, {ap}, {x}", EXACT
    c.overwrite("ap")
    if form == 2:
        name = str(c.pick("spr", "hpr")) if c.complex else "spr"
        return f"{_routine(c, name)}{n}, {c.factor(real=name == 'hpr')}, {x}, {ap}", EXACT
    y = c.vector("y", n)
    return f"{_routine(c, 'hpr2' if c.complex else 'spr2')}{n}, {c.factor()}, {x}, {y}, {ap}", EXACT


def stored_solve(c: Case) -> Call:
    """Systems with packed triangles and with bands."""
    n = c.small()
    lower = c.flag("lower")
    c.flag("trans", 1, 2)
    diag = c.flag("diag")
    form = f"dominant {'lower' if lower else 'upper'}" + (" unit" if diag else "")
    dense = f"framed({c.kind!r}, ({n}, {n}), np.s_[...], {c.choose.below(99)}, {form!r})"
    x = c.vector("x", n)
    c.overwrite("x")
    if c.choose.chance(2):
        c.lines += [f"ap_ = {c.moved(f'packed({dense}, {lower})')}", "ap = ap_[...]"]
        return f"{_routine(c, 'tpsv')}{n}, ap, {x}", 64
    k = min(c.pick(1, 2, 0, 5), max(n - 1, 0))
    c.lines += [f"a_ = {c.moved(f'banded({dense}, {k}, {lower})')}", "a = a_[...]"]
    return f"{_routine(c, 'tbsv')}{k}, a, {x}", 64


# level 3


def _c(c: Case, shape: tuple[int, ...], form: str = "", *, real: bool = False) -> None:
    beta = c.factor(real=real)
    if c.choose.chance(3):
        return
    blank = "blank" if beta == "0.0" and c.choose.chance(2) else form
    c.words += [f"beta={beta}", f"c={c.array('c', shape, blank)}"]
    c.overwrite("c")


def gemm(c: Case) -> Call:
    m, n, k = c.size(), c.size(), c.size()
    name = str(c.pick("gemm", "gemm", "gemmt"))
    if name == "gemmt":
        n = m
        c.flag("lower")
    trans_a, trans_b = c.flag("trans_a", 1, 2), c.flag("trans_b", 1, 2)
    a = c.array("a", (k, m) if trans_a else (m, k))
    b = a if m == n and bool(trans_a) != bool(trans_b) and c.choose.chance(2) else None
    b = b or c.array("b", (n, k) if trans_b else (k, n))
    if name == "gemm":
        _c(c, (m, n))
    return f"{_routine(c, name)}{c.factor()}, {a}, {b}", EXACT


def symm(c: Case) -> Call:
    m, n = c.size(), c.size()
    name = str(c.pick("symm", "hemm")) if c.complex else "symm"
    side = c.flag("side")
    form = _triangle(c)
    a, b = c.array("a", (n, n) if side else (m, m), form), c.array("b", (m, n))
    _c(c, (m, n))
    return f"{_routine(c, name)}{c.factor()}, {a}, {b}", EXACT


def syrk(c: Case) -> Call:
    n, k, two = c.size(), c.size(), c.choose.chance(2)
    hermitian = c.complex and c.choose.chance(2)
    trans = c.flag("trans", 2 if hermitian else 1)
    form = _triangle(c)
    shape = (k, n) if trans else (n, k)
    operands = [c.array("a", shape)] + ([c.array("b", shape)] if two else [])
    _c(c, (n, n), form, real=hermitian)
    name = ("her" if hermitian else "syr") + ("2k" if two else "k")
    return f"{_routine(c, name)}{c.factor(real=hermitian and not two)}, {', '.join(operands)}", EXACT


def trmm(c: Case) -> Call:
    m, n = c.size(), c.size()
    side = c.flag("side")
    form = _triangle(c) + (" unit" if c.flag("diag") else "")
    c.flag("trans_a", 1, 2)
    a, b = c.array("a", (n, n) if side else (m, m), form), c.array("b", (m, n))
    c.overwrite("b")
    return f"{_routine(c, 'trmm')}{c.factor()}, {a}, {b}", EXACT


def trsm(c: Case) -> Call:
    m, n = c.small(), c.small()
    side = c.flag("side")
    form = _triangle(c, "dominant") + (" unit" if c.flag("diag") else "")
    c.flag("trans_a", 1, 2)
    a, b = c.array("a", (n, n) if side else (m, m), form), c.array("b", (m, n))
    c.overwrite("b")
    return f"{_routine(c, 'trsm')}{c.factor()}, {a}, {b}", 64


def copies(c: Case) -> Call:
    m, n = c.size(), c.size()
    name = str(c.pick("omatcopy", "geam", "dgmm"))
    if name == "omatcopy":
        c.flag("trans", 1, 2, 3)
        return f"{_routine(c, name)}{c.factor()}, {c.array('a', (m, n))}", EXACT
    if name == "geam":
        trans_a, trans_b = c.flag("trans_a", 1, 2, 3) in (1, 2), c.flag("trans_b", 1, 2, 3) in (1, 2)
        a, b = c.array("a", (n, m) if trans_a else (m, n)), c.array("b", (n, m) if trans_b else (m, n))
        return f"{_routine(c, name)}{c.factor()}, {a}, {c.factor()}, {b}", EXACT
    side = c.flag("side")
    return f"{_routine(c, name)}{c.array('a', (m, n))}, {c.array('x', (n if side else m,))}", EXACT


# LAPACK


def cholesky(c: Case) -> Call:
    n = c.small()
    form = _triangle(c, "positive")
    a = c.array("a", (n, n), form)
    if c.choose.chance(2):
        c.overwrite("a")
        c.flag("clean", 1)
        return f"lapack.{c.character}potrf({a}", 64
    b = c.array("b", (n, c.pick(1, 3, 7, 20)))
    c.overwrite("a")
    c.overwrite("b")
    return f"lapack.{c.character}posv({a}, {b}", 64


def lu(c: Case) -> Call:
    n = c.small()
    if c.choose.chance(2):
        a = c.array("a", (n, n), "dominant turned")
        c.overwrite("a")
        return f"lapack.{c.character}getrf({a}", 64
    a, b = c.array("a", (n, n), "dominant turned"), c.array("b", (n, c.pick(1, 3, 7, 20)))
    c.overwrite("a")
    c.overwrite("b")
    return f"lapack.{c.character}gesv({a}, {b}", 64


def triangles(c: Case) -> Call:
    n = c.small()
    lower = c.flag("lower")
    unit = " unit" if c.flag("unitdiag") else ""
    a = c.array("a", (n, n), f"dominant {'lower' if lower else 'upper'}{unit}")
    if c.choose.chance(2):
        return f"lapack.{c.character}trtri({a}", 64
    c.flag("trans", 1, 2)
    b = c.array("b", (n, c.pick(1, 3, 7, 20)))
    c.overwrite("b")
    return f"lapack.{c.character}trtrs({a}, {b}", 64


# linalg: batches, halves, words


def _batch(c: Case) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return c.pick(((), ()), ((3,), (3,)), ((), (2,)), ((2, 3), (3,)), ((2, 1), (1, 3)), ((0,), (0,)))


def _out(c: Case, shape: tuple[int, ...], form: str = "") -> None:
    if not c.choose.chance(2):
        return
    beta = str(c.pick("0", "0", "2", "-1"))
    c.words += [f"beta={beta}"] if form != "no beta" else []
    blank = beta == "0" or form == "no beta"
    c.words.append(f"out={c.array('c', shape, 'blank' if blank else '')}")
    c.written.append("c")


def _common(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    return (
        tuple(max(a, b) if a and b else 0 for a, b in zip(one, other, strict=True))
        if len(one) == len(other)
        else max(one, other, key=len)
    )


def matmul(c: Case) -> Call:
    m, n, k = c.size(), c.size(), c.size()
    if c.choose.chance(4):
        c.kind, c.complex = "f2", False
        k = min(k, 97)
    one, other = _batch(c)
    c.host = c.host and True
    a, b = c.array("a", (*one, m, k)), c.array("b", (*other, k, n))
    c.words.append(f"alpha={c.factor()}")
    _out(c, (*_common(one, other), m, n))
    return f"linalg.matmul({a}, {b}", EXACT


def matvec(c: Case) -> Call:
    m, n = c.size(), c.size()
    one, other = _batch(c)
    name = str(c.pick("matvec", "vecmat"))
    a, x = c.array("a", (*one, m, n)), c.array("x", (*other, n if name == "matvec" else m))
    c.words.append(f"alpha={c.factor()}")
    _out(c, (*_common(one, other), m if name == "matvec" else n))
    return f"linalg.{name}({f'{a}, {x}' if name == 'matvec' else f'{x}, {a}'}", EXACT


def triangular_products(c: Case) -> Call:
    batch, n, k = c.pick((), (3,)), c.size(), c.size()
    name = str(c.pick("syrk", "gemmt", "symm", "trmm"))
    lower = c.choose.chance(2)
    c.words.append(f"lower={lower}")
    form = "lower" if lower else "upper"
    if name in ("syrk", "gemmt"):
        operands = c.array("a", (*batch, n, k))
        if name == "gemmt":
            operands += f", {c.array('b', (*batch, k, n))}"
        c.words.append(f"alpha={c.factor(real=True)}")
        _out(c, (*batch, n, n))
        return f"linalg.{name}({operands}", EXACT
    a, b = c.array("a", (*batch, n, n), form), c.array("b", (*batch, n, k))
    if name == "symm" and c.complex and c.choose.chance(2):
        c.words.append("hermitian=True")
    c.words.append(f"alpha={c.factor()}")
    _out(c, (*batch, n, k), "" if name == "symm" else "no beta")
    return f"linalg.{name}({a}, {b}", EXACT


def elementwise(c: Case) -> Call:
    batch, m, n = c.pick((), (3,), (2, 2)), c.size(), c.size()
    name = str(c.pick("transpose", "geam", "dgmm", "axpy", "scal", "vecdot"))
    a = c.array("a", (*batch, m, n))
    if name == "transpose":
        c.words.append(f"alpha={c.factor()}")
        return f"linalg.transpose({a}", EXACT
    if name == "dgmm":
        return f"linalg.dgmm({a}, {c.array('x', (*batch, m))}", EXACT
    if name == "scal":
        return f"linalg.scal({c.factor()}, {a}", EXACT
    b = c.array("b", (*batch, m, n))
    if name == "vecdot":
        return f"linalg.vecdot({a}, {b}, axis={c.pick(-1, -2)}", EXACT
    if name == "axpy":
        return f"linalg.axpy({c.factor()}, {a}, {b}", EXACT
    c.words += [f"alpha={c.factor()}", f"beta={c.factor()}"]
    return f"linalg.geam({a}, {b}", EXACT


def overlaps(c: Case) -> Call:
    """Operands and results that are parts of one memory: right, or refused."""
    n, first = c.small(), [c.choose.below(4) for _ in range(6)]
    text = f"framed({c.kind!r}, ({n + 3}, {n + 3}), np.s_[...], {c.choose.below(99)})"
    c.lines.append(f"c_ = {c.moved(text)}")
    for name, i, j in zip("abc", first[:3], first[3:], strict=True):
        c.lines.append(f"{name} = c_[{i}:{i + n}, {j}:{j + n}]{c.pick('', '.T')}")
    c.written.append("c")
    c.words.append("out=c")
    factor = c.factor()
    name = str(c.pick("matmul", "matmul", "axpy", "scal", "geam", "gemmt"))
    if name == "scal":
        return f"linalg.scal({factor}, a", EXACT
    if name == "axpy":
        return f"linalg.axpy({factor}, a, b", EXACT
    c.words.append(f"alpha={factor}")
    return f"linalg.{name}(a, b", EXACT


def lists(c: Case) -> Call:
    count = c.pick(2, 3, 5)
    k, names = c.size(), []
    for i in range(count):
        m = c.pick(4, 4, 8, 1)
        names.append((c.array(f"a{i}", (m, k)), c.array(f"b{i}", (k, c.pick(4, 4, 3)))))
    c.words.append(f"alpha={c.factor()}")
    first, second = (f"[{', '.join(n[i] for n in names)}]" for i in (0, 1))
    return f"linalg.gemm_batched({first}, {second}", EXACT


def solvers(c: Case) -> Call:
    batch, n = c.pick((), (3,), (40,)), c.pick(1, 2, 3, 5, 8, 13, 17, 33, 0)
    name = str(c.pick("solve", "solve_triangular", "cholesky", "inv", "det", "lstsq"))
    right = (*batch, n, c.pick(1, 3, 7))
    if name in ("inv", "det"):
        return f"linalg.{name}({c.array('a', (*batch, n, n), 'dominant turned')}", 64
    if name == "lstsq":
        m = n + c.pick(0, 1, 6)
        return f"linalg.lstsq({c.array('a', (m, n), 'dominant')}, {c.array('b', (m, 2))}", 128
    lower = c.choose.chance(2)
    form = "lower" if lower else "upper"
    if name == "cholesky":
        c.words.append(f"lower={lower}")
        return f"linalg.cholesky({c.array('a', (*batch, n, n), f'positive {form}')}", 64
    if name == "solve":
        if c.choose.chance(2):
            c.words += ["assume_a='positive definite'", f"lower={lower}"]
            return f"linalg.solve({c.array('a', (*batch, n, n), f'positive {form}')}, {c.array('b', right)}", 64
        return f"linalg.solve({c.array('a', (*batch, n, n), 'dominant turned')}, {c.array('b', right)}", 64
    left = c.choose.chance(2)
    right = right if left else (*batch, c.pick(1, 3, 7), n)
    c.words += [f"lower={lower}", f"left={left}", f"trans={c.pick(0, 1, 2)}", f"alpha={c.factor()}"]
    a = c.array("a", (*batch, n, n), f"dominant {form}")
    return f"linalg.solve_triangular({a}, {c.array('b', right)}", 64


CALLS: tuple[Callable[[Case], Call], ...] = (
    *(axpy, copy_or_swap, scal, dot, norm, rot),
    *(gemv, gemv, symv, trmv, trsv, ger, syr, banded_product, packed_product, packed_product, stored_solve),
    *(gemm, gemm, gemm, symm, syrk, syrk, trmm, trsm, trsm, copies),
    *(cholesky, lu, lu, triangles),
    *(
        matmul,
        matmul,
        matmul,
        matvec,
        triangular_products,
        triangular_products,
        elementwise,
        overlaps,
        lists,
        solvers,
        solvers,
    ),
)
