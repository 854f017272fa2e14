"""``portagpu check`` of files and folders: a line for each kernel, failures last, what cannot be checked is told."""

from __future__ import annotations

import json
from textwrap import dedent

import pytest
from click.testing import CliRunner
from compilers import compiler_of
from rich.console import Console

from portagpu.backends.opencl.offline.targets import TARGETS
from portagpu.checking.grids import Grid, print_grid
from portagpu.checking.schema import SCHEMA
from portagpu.cli.check import check_command
from portagpu.errors import StoreError

pytestmark = pytest.mark.one_device(fast=True)

_KERNELS = """
    from portagpu import cuda, float64
    from helper_of_many import clamp

    @cuda.jit("void(float32[::1])")
    def good(x):
        x[cuda.grid(1)] = clamp(x[cuda.grid(1)])

    @cuda.jit("void(float64[::1])")
    def doubled(x):
        x[cuda.grid(1)] *= 2

    @cuda.jit(["void(float32[::1])", "void(int32[::1])"])
    def twice(x):
        x[cuda.grid(1)] += x[cuda.grid(1)]

    @cuda.jit("void(float32[::1])")
    def large(x):
        s = cuda.shared.array(30000, float64)
        s[cuda.threadIdx.x] = x[cuda.grid(1)]
        cuda.syncthreads()
        x[cuda.grid(1)] = s[0]

    @cuda.jit
    def untyped(x, n: cuda.constexpr):
        x[cuda.grid(1)] *= n
"""
_HELPER = """
    from portagpu import cuda

    @cuda.jit(device=True)
    def clamp(v):
        return min(max(v, 0.0), 1.0)
"""
_PACKAGED = """
    from portagpu import cuda
    from . import NUMBER

    @cuda.jit("void(float32[::1])")
    def packaged(x):
        x[cuda.grid(1)] += NUMBER
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with kernels, which is the present one."""
    monkeypatch.chdir(tmp_path)
    files = {
        "many_kernels.py": _KERNELS,
        "helper_of_many.py": _HELPER,
        "package_of_many/__init__.py": "NUMBER = 3",
        "package_of_many/inner.py": _PACKAGED,
        "no_kernels.py": "raise SystemExit('must not run')",
        ".hidden/kernel.py": "from portagpu import cuda  # cuda.jit\nraise SystemExit",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(dedent(text))
    return tmp_path


def check(*words):
    return CliRunner().invoke(check_command, [*map(str, words)])


def on(*wanted):
    """Targets as options, if all of them can be compiled for."""
    for name in wanted:
        compiler_of(TARGETS[name])
    return [word for name in wanted for word in ("--target", name)]


def test_kernels_of_a_folder_have_a_line_each(folder):
    done = check(folder, *on("gfx1100"))
    assert done.exit_code == 1  # `large` is too large
    lines = done.output.splitlines()
    names = [line.split()[0] for line in lines[1:8]]
    assert names == [
        *("many_kernels.py:good", "many_kernels.py:doubled", "many_kernels.py:twice(float32[::1])"),
        *("many_kernels.py:twice(int32[::1])", "many_kernels.py:large", "many_kernels.py:untyped"),
        "package_of_many/inner.py:packaged",
    ]
    assert lines[5].split()[1] == "lacks" and lines[6].split()[1] == "-"
    assert "needs values of its compile-time parameters n" in done.output
    # failures last
    assert done.output.index("compile-time parameters") < done.output.index("shared arrays take")
    assert lines[-1] == "7 kernels on 1 target: 5 compiled, 1 not compiled, 1 failed"


def test_a_kernel_without_types_fails_where_it_was_named(folder):
    words = on("gfx1100")
    assert check("many_kernels.py:good", "many_kernels.py:twice", *words).exit_code == 0
    done = check("many_kernels.py:untyped", *words)
    assert done.exit_code == 1 and "--signature and --constant" in done.output
    given = ["--signature", "void(float32[::1])", "--constant", "n=3"]
    assert check("many_kernels.py:untyped", *words, *given).exit_code == 0


_PROGRAM = """
    import numpy as np
    from portagpu import cuda

    @cuda.jit
    def scale_of_many(x, n: cuda.constexpr):
        x[cuda.grid(1)] *= n

    if __name__ == "__main__":
        x = cuda.to_device(np.ones(1024, np.float32))
        scale_of_many[4, 256](x, 3)
        scale_of_many[2, 512](x, 3)
        assert x.copy_to_host()[0] == 9
        scale_of_many[4, 256](cuda.to_device(np.ones(1024)), 2)
"""


def test_programs_say_by_their_launches_what_kernels_are_compiled_for(folder):
    (folder / "program.py").write_text(dedent(_PROGRAM))
    done = check("--run", "program.py", *on("gfx1100", "dg2"))
    assert done.exit_code == 1  # one of them has no float64
    rows = [line.split() for line in done.output.splitlines()[1:4]]
    assert [row[-3] for row in rows[:2]] == ["256", "512"] and all("n=3" in row for row in rows[:2])
    assert "this device has no float64" in done.output
    assert done.output.splitlines()[-1] == "3 kernels on 2 targets: 5 compiled, 1 failed"
    assert check("--run", "program.py", *on("gfx1100")).exit_code == 0
    assert check("--run", ".").exit_code == 2 and check("--run", "program.py", "--constant", "n=1").exit_code == 2


@pytest.mark.parametrize(("end", "compiled"), [("sys.exit(main())", True), ("sys.exit(2)", False), ("1 / 0", False)])
def test_programs_may_end_by_themselves(end, compiled, folder):
    """`sys.exit(main())` is how programs end; it must not end the check, and with status 0 least of all."""
    text = dedent(_PROGRAM).replace('if __name__ == "__main__":', "import sys\ndef main():")
    (folder / "program.py").write_text(f"{text}\nif __name__ == '__main__':\n    {end}\n")
    done = check("--run", "program.py", *on("gfx1100"))
    line = len((folder / "program.py").read_text().splitlines())
    if compiled:
        assert done.exit_code == 0 and "3 kernels on 1 target: 3 compiled" in done.output
    else:
        assert done.exit_code == 1 and f"(program.py:{line})" in done.output.replace("\n", "")


def test_rows_of_a_kernel_have_its_types_on_every_target(folder):
    """A target that has no program for it is compared with those that have one."""
    data = json.loads(check("many_kernels.py:doubled", *on("gfx1100", "dg2"), "--format", "json").stdout)
    assert [one["status"] for one in data["results"]] == ["compiled", "unsupported"]
    assert len({one["signature"] for one in data["results"]}) == 1


def test_blocks_that_a_target_never_runs_are_told(folder):
    words = on("gfx1100", "sm_90")
    done = check("many_kernels.py:good", *words, "--block", "2048", "--format", "json")
    assert done.exit_code == 1
    assert {one["status"] for one in json.loads(done.stdout)["results"]} == {"unsupported"}
    assert "runs at most 1024" in done.output
    assert check("many_kernels.py:good", *words, "--block", "1024").exit_code == 0
    (folder / "declared.py").write_text(
        dedent(_PROGRAM)
        .replace("@cuda.jit", '@cuda.jit("void(float32[::1])", block_dim=(1, 1, 128))')
        .replace("x, n: cuda.constexpr", "x")
        .replace("*= n", "*= 2")
    )
    assert "allows 64" in check("declared.py", *on("sm_90")).output.replace("\n", " ")


def test_compile_time_parameters_have_their_defaults(folder):
    text = dedent(_KERNELS).replace("n: cuda.constexpr", "n: cuda.constexpr = 3")
    (folder / "defaults.py").write_text(text)
    words = ["defaults.py:untyped", *on("gfx1100"), "--signature", "void(float32[::1])"]
    assert check(*words).exit_code == 0 and check(*words, "--constant", "n=4").exit_code == 0


def test_a_folder_is_no_report(folder):
    done = check("many_kernels.py:good", *on("gfx1100"), "--format", "json", "-o", folder)
    assert isinstance(done.exception, StoreError) and "it is a folder" in str(done.exception)


def test_files_that_cannot_be_imported_are_told_with_their_lines(folder):
    (folder / "missing_module.py").write_text("from portagpu import cuda  # cuda.jit\nimport not_there_at_all\n")
    (folder / "wrong_syntax.py").write_text("from portagpu import cuda\n@cuda.jit\ndef broken(x:\n    x[0] = 1\n")
    (folder / "leaves.py").write_text("import sys  # cuda.jit\nprint('said')\nsys.exit(3)\n")
    done = check(folder, *on("gfx1100"), "--format", "json")
    assert done.exit_code == 1
    data = json.loads(done.stdout)  # what files print is not among it
    pytest.importorskip("fastjsonschema").compile(SCHEMA)(data)
    broken = {one["file"]: one for one in data["results"] if one["problems"] and not one["kernel"]}
    told = {name: (one["line"], one["problems"][0]["rule"]) for name, one in broken.items()}
    rule = "wrong-file"
    assert told == {"missing_module.py": (2, rule), "wrong_syntax.py": (3, rule), "leaves.py": (3, rule)}
    assert "No module named 'not_there_at_all'" in broken["missing_module.py"]["problems"][0]["message"]
    assert data["complete"] is True and data["summary"]["compiled"] == 5


def test_a_missing_feature_is_no_fault_of_a_compiler(folder):
    data = json.loads(check("many_kernels.py", *on("gfx1100"), "--format", "json").stdout)
    one = next(one for one in data["results"] if one["kernel"] == "large")
    assert one["status"] == "unsupported" and one["problems"][0]["rule"] == "missing-feature"


def test_command_lines_that_are_wrong(folder):
    for words in (["no_such.py"], ["many_kernels.py:goood"], ["helper_of_many.py"], ["nothing"]):
        done = check(*words)
        assert done.exit_code == 2, (words, done.output)
    assert "did you mean `good`?" in check("many_kernels.py:goood").output
    assert "is a device function" in check("helper_of_many.py:clamp").output
    assert check("many_kernels.py", "--signature", "void(float32[::1])").exit_code == 2
    assert "no compile-time parameter m" not in check("many_kernels.py", "--constant", "m=1").output
    assert check("many_kernels.py", "--constant", "m=1").exit_code == 2


@pytest.mark.parametrize("width", [80, 120])
def test_tables_are_as_wide_as_the_terminal(width):
    names = [f"target{n}" for n in range(20)]
    grid = Grid(
        columns=["kernel", *names], rows=[["kernels.py:one", *("[green]123[/green]" for _ in names)]], left={"kernel"}
    )
    console = Console(width=width, force_terminal=True, no_color=True)
    with console.capture() as captured:
        print_grid(console, grid)
    lines = captured.get().splitlines()
    assert all(len(line.rstrip()) <= width for line in lines if "\x1b" not in line)
    assert sum("kernels.py:one" in line for line in lines) == (4 if width == 80 else 2)
    log = Console(width=width, force_terminal=False)
    with log.capture() as captured:
        print_grid(log, grid)
    assert len(captured.get().splitlines()) == 2
