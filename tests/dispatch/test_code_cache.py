"""Generated code on disk: used instead of lowering, and never where anything that it depends on is another."""

from __future__ import annotations

import ast
import dataclasses
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from portagpu import cuda, errors, package_stamp
from portagpu.dispatch.code import cache as code_cache
from portagpu.dispatch.code import lowering, requests
from portagpu.ir.types import ConstantType
from portagpu.settings import Settings

pytestmark = pytest.mark.one_device


class Program:
    """Modules that one process after another would import: each import makes functions and kernels anew."""

    def __init__(self, context, folder: Path, lowered: list[str]) -> None:
        self.context, self.folder, self.lowered = context, folder, lowered

    def load(self, text: str, name: str = "program.py"):
        path = self.folder / name
        path.write_text(textwrap.dedent(text))
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = module
        try:
            exec(compile(path.read_text(), str(path), "exec"), module.__dict__)  # without Python's own cache
        finally:
            del sys.modules[path.stem]
        return module

    def run(self, text: str, *args):
        """The values of an array of two that the text's ``kernel`` fills, and whether it was lowered."""
        module = self.load(text)
        x = np.zeros(2, np.float32)
        before = len(self.lowered)
        module.kernel[1, 2](x, *args)
        return list(x), len(self.lowered) > before

    @property
    def files(self) -> list[Path]:
        return sorted((self.context.settings.cache_dir / "code").glob("*.code"))


@pytest.fixture
def context(device, tmp_path, monkeypatch):
    found = cuda.current_context()
    monkeypatch.setattr(found, "settings", dataclasses.replace(found.settings, cache_dir=tmp_path, disk_cache=True))
    return found


@pytest.fixture
def lowered(monkeypatch):
    """The names of functions that are lowered from here on."""
    names: list[str] = []
    lower_kernel = lowering.lower_kernel

    def spy(source, *args, **options):
        names.append(source.name)
        return lower_kernel(source, *args, **options)

    monkeypatch.setattr(lowering, "lower_kernel", spy)
    return names


@pytest.fixture
def program(context, tmp_path, lowered):
    return Program(context, tmp_path, lowered)


PLAIN = """
from portagpu import cuda


@cuda.jit(cache=True)
def kernel(x):
    x[cuda.grid(1)] = 7
"""


def test_code_is_found_by_the_next_program(program):
    assert program.run(PLAIN) == ([7, 7], True)
    assert len(program.files) == 2  # what is read, and the code
    assert program.run(PLAIN) == ([7, 7], False)
    assert len(program.files) == 2


def test_only_where_it_is_asked_for(program):
    without = PLAIN.replace("(cache=True)", "")
    assert program.run(without) == ([7, 7], True)
    assert not program.files
    assert program.run(without) == ([7, 7], True)


# each with a value that changes on a line of its own: the kernel's text and place stay as they are
DEPENDENCIES = {
    "the body of a device function": """
        @cuda.jit(device=True)
        def value(): return VALUE
        def kernel(x): x[cuda.grid(1)] = value()""",
    "a function that a function calls": """
        @cuda.jit(device=True)
        def inner(): return VALUE
        @cuda.jit(device=True)
        def value(): return inner()
        def kernel(x): x[cuda.grid(1)] = value()""",
    "a default value": """
        @cuda.jit(device=True)
        def value(n=VALUE): return n
        def kernel(x): x[cuda.grid(1)] = value()""",
    "a lambda": """
        value = cuda.jit(device=True)(lambda: VALUE)
        def kernel(x): x[cuda.grid(1)] = value()""",
    "a global": """
        value = VALUE
        def kernel(x): x[cuda.grid(1)] = value""",
    "a global of another type": """
        value = np.float64(0.1) * 10 * VALUE if VALUE == 3 else VALUE
        def kernel(x): x[cuda.grid(1)] = value / 7 * 7""",
    "a global of a device function": """
        limit = VALUE
        @cuda.jit(device=True)
        def value(): return limit
        def kernel(x): x[cuda.grid(1)] = value()""",
    "a closure": """
        def made(value):
            def kernel(x): x[cuda.grid(1)] = value
            return kernel
        kernel = made(VALUE)""",
    "a closure of a device function": """
        def made(number):
            @cuda.jit(device=True)
            def value(): return number
            return value
        value = made(VALUE)
        def kernel(x): x[cuda.grid(1)] = value()""",
    "an attribute of a module in a module": """
        module.inner.value = VALUE
        def kernel(x): x[cuda.grid(1)] = module.inner.value""",
    "an attribute of a class": """
        class Numbers: value = VALUE
        def kernel(x): x[cuda.grid(1)] = Numbers.value""",
    "an attribute of an object": """
        class Numbers: pass
        numbers = Numbers(); numbers.value = VALUE
        def kernel(x): x[cuda.grid(1)] = numbers.value""",
    "a property": """
        class Numbers(NamedTuple("Base", [("half", float)])): value = property(lambda self: VALUE)
        numbers = Numbers(0.5)
        def kernel(x): x[cuda.grid(1)] = numbers.value * (numbers.half * 2)""",
    "a dataclass": """
        @dataclass
        class Numbers: value: int
        numbers = Numbers(VALUE)
        def kernel(x): x[cuda.grid(1)] = numbers.value""",
    "a member of an enum": """
        class Numbers(IntEnum): ONE = VALUE
        def kernel(x): x[cuda.grid(1)] = Numbers.ONE""",
    "a namedtuple": """
        numbers = namedtuple("numbers", "value")(VALUE)
        def kernel(x): x[cuda.grid(1)] = numbers.value""",
    "an item of a tuple": """
        numbers = (1, (2, VALUE))
        def kernel(x): x[cuda.grid(1)] = numbers[1][1]""",
    "an item of a dict": """
        numbers = {"value": VALUE}
        def kernel(x): x[cuda.grid(1)] = numbers["value"]""",
    "an element of an array": """
        numbers = np.array([VALUE, 1], np.float32)
        def kernel(x): x[cuda.grid(1)] = numbers[0]""",
    "which function": """
        one, two = cuda.jit(device=True)(lambda: 3), cuda.jit(device=True)(lambda: 4)
        functions = {3: (one, two), 4: (two, one)}[VALUE]
        def kernel(x): x[cuda.grid(1)] = functions[0]()""",
    "a name that hides Python's": """
        if VALUE == 4: min = cuda.jit(device=True)(lambda a, b: 4)
        def kernel(x): x[cuda.grid(1)] = min(3, 5)""",
    "a class of isinstance": """
        kind = {3: int, 4: float}[VALUE]
        def kernel(x): x[cuda.grid(1)] = 3 if isinstance(cuda.grid(1), kind) else 4""",
    "what is asked of a dtype": """
        info = {3: np.iinfo(np.int8), 4: np.finfo(np.float32)}[VALUE]
        def kernel(x): x[cuda.grid(1)] = 3 if info.max == 127 and np.finfo(np.float32).eps < 1 else 4""",
    "a dtype": """
        kind = {3: np.uint8, 4: np.float32}[VALUE]
        def kernel(x): x[cuda.grid(1)] = kind(3.5) + kind(0.75)""",
}
HEAD = """
from collections import namedtuple
from dataclasses import dataclass
from enum import IntEnum
from types import ModuleType
from typing import NamedTuple

import numpy as np

from portagpu import cuda

module = ModuleType("outer"); module.inner = ModuleType("inner")
"""
TAIL = """
kernel = cuda.jit(cache=True)(kernel)
"""


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("what", DEPENDENCIES)
def test_whatever_code_depends_on(program, what):
    text = HEAD + textwrap.dedent(DEPENDENCIES[what]) + TAIL
    three, four = text.replace("VALUE", "3"), text.replace("VALUE", "4")
    expected = {"a dtype": [3, 4.25]}.get(what, [3, 4])
    assert program.run(three) == ([expected[0]] * 2, True)
    assert program.run(three) == ([expected[0]] * 2, False)
    assert program.run(four) == ([expected[1]] * 2, True)
    for _ in range(2):  # one does not turn out the other
        assert program.run(three) == ([expected[0]] * 2, False)
        assert program.run(four) == ([expected[1]] * 2, False)


def test_what_nobody_reads_does_not_matter(program):
    text = HEAD + "used = 5\nother = VALUE\ndef kernel(x): x[cuda.grid(1)] = used\n" + TAIL
    assert program.run(text.replace("VALUE", "3")) == ([5, 5], True)
    assert program.run(text.replace("VALUE", "4")) == ([5, 5], False)


def test_which_names_are_read_may_depend_on_values(program):
    text = HEAD + "which = VALUE\na = 10\nb = 20\ndef kernel(x): x[cuda.grid(1)] = a if which == 3 else b\n" + TAIL
    three, four = text.replace("VALUE", "3"), text.replace("VALUE", "4")
    assert program.run(three) == ([10, 10], True)
    assert program.run(four) == ([20, 20], True)
    assert program.run(three) == ([10, 10], False)
    assert program.run(four) == ([20, 20], False)
    assert program.run(four.replace("a = 10", "a = 30")) == ([20, 20], False)
    assert program.run(four.replace("b = 20", "b = 30")) == ([30, 30], True)


REFUSED = {
    "an object that says what it is equal to": """
        class Odd:
            def __eq__(self, other): return bool(VALUE == 3)
        odd = Odd()
        def kernel(x): x[cuda.grid(1)] = 3 if odd == 1 else 4""",
    "an object of another library": """
        import fractions
        third = fractions.Fraction(VALUE, 1)
        def kernel(x): x[cuda.grid(1)] = third.numerator""",
    "an attribute of an item": """
        class Numbers: value = VALUE
        numbers = [Numbers()]
        def kernel(x): x[cuda.grid(1)] = numbers[0].value""",
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_told_is_not_kept(program, what):
    text = HEAD + textwrap.dedent(REFUSED[what]) + TAIL
    for value in (3, 4, 3):
        assert program.run(text.replace("VALUE", str(value))) == ([value, value], True)
    assert not program.files


def test_types_constants_and_places(program):
    text = """
    from portagpu import cuda


    @cuda.jit(cache=True)
    def kernel(x, y, n: cuda.constexpr):
        x[cuda.grid(1)] = y / n
    """
    assert program.run(text, 3, 2) == ([1.5, 1.5], True)
    assert program.run(text, 3, 2) == ([1.5, 1.5], False)
    assert program.run(text, 3, 2.0) == ([1.5, 1.5], True)
    assert program.run(text, 3, 4) == ([0.75, 0.75], True)
    assert program.run(text, np.float32(3), 2) == ([1.5, 1.5], True)
    assert program.run("\n" + text, 3, 2) == ([1.5, 1.5], True)  # the text names lines
    assert program.run(text.replace("y / n", "n / y"), 3, 2)[1]
    assert program.run(text, 3, 2) == ([1.5, 1.5], False)


def options_of(context):
    caps = context.capabilities
    plain = {"backend": context.backend, "types": (), "caps": caps}
    yield plain, {}
    for options in (
        {"fastmath": True},
        {"debug": True},
        {"boundscheck": True},
        {"block_dim": 8},
        {"block_dim": (8, 1, 2)},
        {"subgroup_size": 16},
    ):
        yield plain, options
    yield {**plain, "backend": SimpleNamespace(name="another")}, {}
    yield {**plain, "wide": True}, {}
    yield {**plain, "block": (8, 4, 1)}, {}
    yield {**plain, "shared": 2 * caps.local_memory_argument}, {}
    yield {**plain, "caps": dataclasses.replace(caps, constant_memory=caps.constant_memory + 1)}, {}
    yield {**plain, "caps": dataclasses.replace(caps, extensions=caps.extensions | {"cl_new"})}, {}
    yield {**plain, "caps": dataclasses.replace(caps, line_directives=not caps.line_directives)}, {}
    for value in (1, 1.0, True, np.int32(1), (1,), None, "1"):
        yield {**plain, "types": (ConstantType(value),)}, {}


def nothing():
    pass


def test_keys_hold_everything_that_code_depends_on(context):
    keys = set()
    for given, options in options_of(context):
        kernel = cuda.jit(cache=True, **options)(nothing)
        keys.add(code_cache._start(kernel, requests.Request(**given)).text)
    assert len(keys) == len(list(options_of(context)))
    kernel = cuda.jit(cache=True, max_registers=32, opt=False)(nothing)  # the driver's concern
    caps = context.capabilities
    other = {name: getattr(caps, name) * 2 + 1 for name in code_cache._AMOUNTS}  # a CPU's may be those of the moment
    for found in (caps, dataclasses.replace(caps, **other)):
        assert code_cache._start(kernel, requests.Request(context.backend, (), found)).text in keys


@pytest.mark.parametrize("name", sorted(code_cache._AMOUNTS))
def test_no_code_depends_on_amounts(name):
    """Keys of kept code leave them out: where code is made, nobody may ask for them."""
    folder = Path(package_stamp.FOLDER)
    files = [
        p for part in ("frontend", "ir", "codegen", "templates") for p in (folder / part).rglob("*") if p.is_file()
    ]
    texts = [p.read_text() for p in files if p.suffix in (".py", ".mako")]
    assert sum("caps." in text for text in texts) > 5
    assert not any(re.search(rf"\bcap(s|abilities)\.{name}\b", text) for text in texts)


@pytest.mark.parametrize("damage", ["empty", "garbage", "cut", "foreign", "not JSON", "other JSON", "odd fields"])
def test_damaged_files_are_replaced(program, damage):
    program.run(PLAIN)
    good = {path: path.read_bytes() for path in program.files}
    cache = code_cache.FileCache(program.files[0].parent, ".code", code_cache._MAGIC, 2**20)
    for path in program.files:
        if damage == "empty":
            path.write_bytes(b"")
        elif damage == "garbage":
            path.write_bytes(os.urandom(1000))
        elif damage == "cut":
            path.write_bytes(good[path][:-1])
        elif damage == "foreign":
            path.write_bytes(b"SOMEBODY-ELSE\n" + good[path][14:])
        elif damage == "not JSON":
            cache.write(path.stem, b"neither compressed nor JSON")
        elif damage == "other JSON":
            code_cache._write(cache, path.stem, 5)
        elif isinstance(code_cache._read(cache, path.stem), dict):
            data = code_cache._read(cache, path.stem)
            code_cache._write(
                cache, path.stem, {**data, "parameters": [["x", ["scalar", "float99", False], 1, 2, 3, 4]]}
            )
    assert program.run(PLAIN) == ([7, 7], True)
    assert {path: path.read_bytes() for path in program.files} == good
    assert program.run(PLAIN) == ([7, 7], False)


def test_files_cannot_bring_code_into_the_process(program):
    """Paths and axes of parameters become part of Python text at a launch: only integers are taken."""
    program.run(PLAIN)
    cache = code_cache.FileCache(program.files[0].parent, ".code", code_cache._MAGIC, 2**20)
    for path in program.files:
        data = code_cache._read(cache, path.stem)
        if isinstance(data, dict):
            for parameter in data["parameters"]:
                parameter[3] = ["0].__class__; [0"]
            code_cache._write(cache, path.stem, data)
    assert program.run(PLAIN) == ([7, 7], True)


def test_nothing_is_kept_without_a_place(program, context, monkeypatch):
    blocked = program.folder / "blocked"
    blocked.write_text("a file where the folder should be")
    monkeypatch.setattr(context, "settings", dataclasses.replace(context.settings, cache_dir=blocked))
    for _ in range(2):
        assert program.run(PLAIN) == ([7, 7], True)


def test_a_folder_that_can_only_be_read(program, monkeypatch):
    program.run(PLAIN)

    def refuse(*args, **options):
        raise PermissionError("read only")

    monkeypatch.setattr("portagpu.private_files.secrets.token_hex", refuse)
    monkeypatch.setattr("portagpu.private_files.os.utime", refuse)
    assert program.run(PLAIN) == ([7, 7], False)
    assert program.run(PLAIN.replace("7", "8")) == ([8, 8], True)


def test_the_disk_cache_can_be_off(program, context, monkeypatch):
    program.run(PLAIN)
    monkeypatch.setattr(context, "settings", dataclasses.replace(context.settings, disk_cache=False))
    assert program.run(PLAIN) == ([7, 7], True)
    assert program.run(PLAIN.replace("7", "8")) == ([8, 8], True)
    assert len(program.files) == 2


def test_a_package_that_was_changed_meanwhile_keeps_nothing(program, monkeypatch):
    monkeypatch.setattr(code_cache, "package_stamp", lambda: None)
    for _ in range(2):
        assert program.run(PLAIN) == ([7, 7], True)
    assert not program.files


def test_the_stamp_tells_states_of_the_package(tmp_path, monkeypatch):
    monkeypatch.setattr(package_stamp, "FOLDER", str(tmp_path))
    monkeypatch.setattr(package_stamp, "_loaded", time.time() + 600)
    (tmp_path / "part").mkdir()
    files = [tmp_path / "code.py", tmp_path / "part" / "text.mako"]
    for file in files:
        file.write_text("text")
        os.utime(file, (1000, 1000))
    found = []

    def take():
        found.append(package_stamp.package_stamp.__wrapped__())
        return found[-1]

    first = take()
    (tmp_path / "notes.txt").write_text("no part of it")
    assert take() == first
    os.utime(files[1], (1001, 1000))
    assert take() == first  # the time of a reading
    os.utime(files[1], (1001, 1001))
    assert take() != first
    files[0].write_text("text!")
    os.utime(files[0], (1000, 1000))
    take()
    assert len(set(found)) == 3 and None not in found
    os.utime(files[0], (2**33, 2**33))
    assert take() is not None  # a file from a machine whose clock is wrong, as it was when the package was loaded
    monkeypatch.setattr(package_stamp, "_loaded", files[0].stat().st_ctime - 1)
    assert take() is None  # changed since
    monkeypatch.setattr(package_stamp, "FOLDER", str(tmp_path / "missing"))
    assert take() is None


# what is known of code that was found --------------------------------------------------------------------------------

FAILING = """
from portagpu import cuda


class OwnError(Exception):
    pass


@cuda.jit(device=True)
def checked(value):
    if value > 3:
        raise OwnError("too large", value, (1, value))
    return value


@cuda.jit(cache=True, debug=True)
def kernel(x, n):
    assert n != 1, "n is one"
    x[n] = checked(n)
"""


def test_errors_are_the_same(program):
    found = []
    for _ in range(2):
        module = program.load(FAILING)
        x, told = np.zeros(2, np.float32), []
        module.kernel[1, 1](x, 0)
        for kind, n in ((AssertionError, 1), (module.OwnError, 5), (IndexError, 2)):
            with pytest.raises(kind) as caught:
                module.kernel[1, 1](x, n)
            assert type(caught.value) is kind
            fault = caught.value.kernel_fault
            assert fault.span.filename == str(program.folder / "program.py")
            told.append((str(caught.value), fault, getattr(caught.value, "__notes__", None)))
        found.append(told)
    assert found[0] == found[1]
    assert program.lowered == ["kernel"]


def test_files_may_move(program):
    program.load(FAILING).kernel[1, 1](np.zeros(2, np.float32), 0)
    (program.folder / "moved").mkdir()
    kernel = program.load(FAILING, "moved/program.py").kernel
    with pytest.raises(AssertionError, match=r"moved/program\.py, line 18") as caught:
        kernel[1, 1](np.zeros(2, np.float32), 1)
    assert caught.value.kernel_fault.span.filename == str(program.folder / "moved" / "program.py")
    assert program.lowered == ["kernel"]


def test_inspection_is_the_same(program, capsys):
    inspection = (
        cuda.current_context().backend.language.inspection
    )  # what was compiled, which needs no further lowering
    text = """
    from portagpu import cuda


    @cuda.jit("void(float32[::1], int32)", cache=True)
    def kernel(x, n):
        total = x[0] * n
        cuda.syncthreads()
        x[cuda.threadIdx.x] = total
    """
    found = []
    for _ in range(2):
        kernel = program.load(text).kernel
        kernel[1, 2](np.ones(2, np.float32), 3)
        kernel.inspect_types()
        overload = next(iter(kernel.overloads.values()))
        told = [
            capsys.readouterr().out,
            str(getattr(kernel, inspection)()),
            kernel.signatures,
            dict(kernel.overloads).keys(),
        ]
        told += [kernel.get_max_threads_per_block(), kernel.get_shared_mem_per_block()]
        told += [overload.kernel_source, overload.types]
        try:
            told.append(kernel.inspect_asm())
        except errors.MissingCapabilityError as error:
            told.append(str(error))
        with pytest.raises(errors.MissingCapabilityError):
            kernel.inspect_llvm()
        found.append(told)
    assert found[0] == found[1]
    assert "total: float64" in found[0][0]
    assert len(program.lowered) == 5  # twice for the check of the signature and for inspect_types


def test_grids_that_wait_for_themselves(program):
    text = """
    from portagpu import cuda


    @cuda.jit(cache=True)
    def kernel(x):
        g = cuda.cg.this_grid()
        i = cuda.grid(1)
        x[i] = i
        g.sync()
        y = x[x.size - 1 - i]
        g.sync()
        x[i] = y
    """
    for again in range(2):
        kernel = program.load(text).kernel
        for blocks in (1, 2, 4, 2, 1):
            x = np.zeros(2 * blocks, np.float32)
            kernel[blocks, 2](x)
            assert list(x) == list(range(2 * blocks))[::-1]
        if not again:
            count = len(program.lowered)
    assert len(program.lowered) == count


# programs ------------------------------------------------------------------------------------------------------------

COUNTED = """
import sys
from portagpu.dispatch.code import lowering
lowered = []
lower_kernel = lowering.lower_kernel
def spy(source, *args, **options):
    lowered.append(source.name)
    return lower_kernel(source, *args, **options)
lowering.lower_kernel = spy
import numpy as np
from portagpu import cuda
"""


@pytest.fixture
def cache(tmp_path):
    """A folder with what is known of devices, so that processes need not try them."""
    known = Settings.from_environment().cache_dir
    shutil.copytree(known, tmp_path / "cache", ignore=shutil.ignore_patterns("code", "programs", ".*"))
    return tmp_path / "cache"


def python(device, folder, *arguments, stdin=None):
    """What a Python process prints, as a value."""
    environment = {**os.environ, "PORTAGPU_CACHE_DIR": str(folder), "PORTAGPU_DEVICE": str(device.index)}
    environment["PYTHONPATH"] = os.pathsep.join(p for p in sys.path if p)
    done = subprocess.run(
        [sys.executable, *arguments], stdin=stdin, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return ast.literal_eval(done.stdout)


def test_processes_share_code(device, tmp_path, cache):
    script = tmp_path / "script.py"
    script.write_text(
        COUNTED
        + """
@cuda.jit(device=True)
def twice(v):
    return 2 * v

@cuda.jit(cache=True)
def kernel(x):
    x[cuda.grid(1)] = twice(cuda.grid(1))

x = np.zeros(4, np.float32)
kernel[1, 4](x)
a = np.arange(12, dtype=np.float32).reshape(3, 4)
import portagpu
print((x.tolist(), portagpu.matmul(a, a.T).tolist(), lowered))
"""
    )
    a = np.arange(12, dtype=np.float32).reshape(3, 4)
    numbers, product, lowered = python(device, cache, script)
    assert (numbers, product) == ([0, 2, 4, 6], (a @ a.T).tolist())
    assert len(lowered) > 1  # the package's own kernels, too
    assert python(device, cache, script) == (numbers, product, [])


@pytest.mark.one_device
@pytest.mark.in_turn(2)
@pytest.mark.parametrize("how", ["exec", "lambda", "-c", "stdin"])
def test_texts_without_files(device, tmp_path, cache, how):
    kernel = "def kernel(x):\n    x[cuda.grid(1)] = value\n"
    kernel = f"value = 5\n{kernel}kernel = cuda.jit(cache=True)(kernel)\n"
    if how == "exec":
        kernel = f"exec({kernel!r})\n"
    elif how == "lambda":
        kernel = kernel.replace("= value", "= value()").replace("value = 5", "value = cuda.jit(device=True)(lambda: 5)")
    text = f"{COUNTED}{kernel}x = np.zeros(2, np.float32)\nkernel[1, 2](x)\nprint((x.tolist(), lowered))\n"
    script = tmp_path / "script.py"
    script.write_text(text)
    for lowered in (["kernel"], []):
        if how == "-c":
            found = python(device, cache, "-c", text)
        elif how == "stdin":
            with script.open() as opened:
                found = python(device, cache, "-", stdin=opened)
        else:
            found = python(device, cache, script)
        assert found == ([5, 5], lowered)


def test_kernels_of_array_functions(program):
    text = """
    import portagpu
    from portagpu import cuda


    @portagpu.vectorize(cache=True)
    def scaled(a, b):
        return a * b + 1


    @cuda.reduce
    def largest(a, b):
        return max(a, b)
    """
    a = np.arange(5, dtype=np.float32)
    for _ in range(2):
        module = program.load(text)
        assert np.array_equal(module.scaled(a, a), a * a + 1)
        assert module.largest(a) == 4
        counts = len(program.lowered)
        program.lowered.clear()
    assert counts == 0


def test_functions_of_the_package_in_kernels(program):
    text = """
    from portagpu import cuda
    from portagpu.cuda import random


    @cuda.jit(cache=True)
    def kernel(x, states):
        x[cuda.grid(1)] = random.xoroshiro128p_uniform_float32(states, cuda.grid(1)) < 2
    """
    states = cuda.random.create_xoroshiro128p_states(2, seed=1)
    assert program.run(text, states) == ([1, 1], True)
    assert program.run(text, states) == ([1, 1], False)


def test_offline_compilations_are_kept(tmp_path, lowered, monkeypatch):
    settings = dataclasses.replace(Settings.from_environment(), cache_dir=tmp_path, disk_cache=True)
    kernel = cuda.jit(cache=True)(nothing)
    context = cuda.current_context()
    request = requests.Request(context.backend, (), context.capabilities)
    first = code_cache.code_for(kernel, request, settings)
    assert code_cache.code_for(cuda.jit(cache=True)(nothing), request, settings) == first
    assert lowered == ["nothing"]
