"""Programs that cannot work: docs/not-portable.md shows each with the error that it really gives."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Case:
    """Something that is not portable: its title, the names of numba.cuda that are meant, a program, and the way out."""

    title: str
    code: str
    instead: str
    names: tuple[str, ...] = ()


def kernel(body: str, *, parameters: str = "x", arguments: str = "x", head: str = "", launch: str = "[1, 32]") -> str:
    """A program with one kernel that is launched on an array of eight float32."""
    lines = ["import numpy as np", "from portagpu import cuda", ""]
    if head:
        lines += ["", *head.strip("\n").split("\n"), ""]
    lines += ["", "@cuda.jit", f"def kernel({parameters}):", *(f"    {line}" for line in body.strip("\n").split("\n"))]
    made = ["x = np.zeros(8, np.float32)"] if "x" in arguments.split(", ") else []
    return "\n".join([*lines, "", "", *made, f"kernel{launch}({arguments})", ""]).replace("    \n", "\n")


_ON_HOST = "from portagpu import cuda\n\n"
_WITH_ARRAY = "import numpy as np\nfrom portagpu import cuda\n\nx = cuda.to_device(np.zeros((4, 4), np.float32))\n"
_WITH_KERNEL = "from portagpu import cuda\n\n\n@cuda.jit\ndef kernel(x):\n    x[0] = 1\n\n\n"

CUDA_ONLY = (
    Case(
        "PTX and LLVM IR",
        'from portagpu import cuda\n\n\ndef add(x, y):\n    return x + y\n\n\ncuda.compile_ptx(add, "f4(f4, f4)")\n',
        "`kernel.inspect_opencl()`, and `kernel.inspect_asm()` where the driver's code is text.",
        ("compile", "compile_ptx", "compile_for_current_device", "compile_ptx_for_current_device"),
    ),
    Case(
        "LLVM IR of a kernel",
        _WITH_KERNEL + "kernel.inspect_llvm()\n",
        "As above.",
        ("Dispatcher.inspect_llvm",),
    ),
    Case(
        "Disassembly of a kernel",
        _WITH_KERNEL + "kernel.inspect_sass()\n",
        "The vendor's own tools read the driver's binaries.",
        ("Dispatcher.inspect_sass",),
    ),
    Case(
        "Functions from CUDA C",
        _ON_HOST + 'f = cuda.declare_device("f", "float32(float32)")\n',
        "Write the function in Python: `@cuda.jit(device=True)`.",
        ("declare_device",),
    ),
    Case(
        "Object files and libraries to link",
        'from portagpu import cuda\n\n\n@cuda.jit(link=["functions.cu"])\ndef kernel(x):\n    x[0] = 1\n',
        "Write the functions in Python.",
    ),
    Case(
        "Device memory of another process",
        _WITH_ARRAY + "x.get_ipc_handle()\n",
        "Share host memory (`multiprocessing.shared_memory`) and copy.",
        ("DeviceNDArray.get_ipc_handle",),
    ),
    Case(
        "The other end of it",
        _ON_HOST + 'cuda.open_ipc_array(b"handle", shape=4, dtype="f4")\n',
        "As above.",
        ("open_ipc_array",),
    ),
    Case(
        "Handles of it", _ON_HOST + "cuda.IpcHandle(None, None, 8)\n", "As above.", ("IpcHandle", "GetIpcHandleMixin")
    ),
    Case(
        "Memory managers",
        _ON_HOST + "cuda.set_memory_manager(object)\n",
        "Leave the call out: freed memory is kept for the next arrays.",
        ("set_memory_manager",),
    ),
    Case(
        "Base classes of memory managers",
        _ON_HOST + "\nclass Manager(cuda.HostOnlyCUDAMemoryManager):\n    pass\n\n\nManager(cuda.current_context())\n",
        "As above.",
        ("BaseCUDAMemoryManager", "HostOnlyCUDAMemoryManager"),
    ),
    Case(
        "CUDA's pointers",
        _ON_HOST + "cuda.MemoryPointer(cuda.current_context(), 0, 8)\n",
        "`array.buffer` is a `pyopencl.Buffer`.",
        ("MemoryPointer", "MappedMemory", "PinnedMemory", "ManagedMemory"),
    ),
    Case(
        "Raw memory of CUDA's driver",
        _ON_HOST + "cuda.current_context().memalloc(1024)\n",
        "`cuda.device_array`, `cuda.pinned_array`, `cuda.mapped_array`, `cuda.managed_array`.",
    ),
    Case(
        "Streams of CUDA libraries",
        _ON_HOST + "cuda.external_stream(0x12345678).synchronize()\n",
        "Pass a `pyopencl.CommandQueue`, or the address of one.",
    ),
    Case(
        "Arrays of CUDA libraries",
        _ON_HOST + 'of_cupy = {"shape": (4,), "typestr": "<f4", "data": (4096, False), "version": 3}\n'
        "cuda.from_cuda_array_interface(of_cupy)\n",
        "Copy through the host: `cuda.to_device(array.get())`.",
    ),
)

LANGUAGE = (
    Case("`try`", kernel("try:\n    x[0] = 1\nexcept ValueError:\n    pass"), "Check before: `if`."),
    Case("Lists", kernel("a = [1, 2]\nx[0] = a[0]"), "A tuple, or `cuda.local.array`."),
    Case("Dicts", kernel("d = {1: 2}\nx[0] = d[1]"), "A captured NumPy array as a table."),
    Case("Comprehensions", kernel("x[0] = sum([i for i in range(3)])"), "A loop."),
    Case("`with`", kernel("with x:\n    x[0] = 1"), "Nothing in a kernel needs closing."),
    Case("Generators", kernel("yield x[0]"), "A loop in the kernel."),
    Case(
        "Recursion",
        kernel(
            "x[0] = fall(x[0])",
            head="@cuda.jit(device=True)\ndef fall(n):\n    return fall(n - 1) if n > 0 else n",
        ),
        "A loop, or an explicit stack in `cuda.local.array`.",
    ),
    Case("Imports in a kernel", kernel("import math as m\n\nx[0] = m.pi"), "Import at the top of the file."),
    Case("Strings that change", kernel('s = f"{x[0]}"\nx[0] = len(s)'), "Texts are for `print` and messages only."),
    Case(
        "Plain Python functions",
        kernel("x[0] = half(x[0])", head="def half(v):\n    return v / 2"),
        "Decorate it: `@cuda.jit(device=True)`.",
    ),
    Case("Kernels that return something", kernel("return x[0]"), "Write results into an array."),
    Case("Arithmetic of whole arrays", kernel("x[0] = (x + x)[0]"), "`np.add(x, y, out)`, or a loop."),
    Case("NumPy beyond elements and reductions", kernel("x[0] = np.linalg.norm(x)"), "Write the loop."),
    Case(
        "Shapes known at run time only",
        kernel("a = cuda.local.array(n, np.float32)\nx[0] = a[0]", parameters="x, n", arguments="x, 4"),
        "A constant, or `n: cuda.constexpr`; for shared memory shape 0 and the launch's fourth number.",
    ),
    Case(
        "Constants that do not fit their dtype",
        kernel("b[0] = b[0] + 300", parameters="b", arguments="np.zeros(8, np.uint8)"),
        "`np.int64(b[0]) + 300`: Python numbers adopt the other operand's type.",
    ),
    Case(
        "Device arrays that a kernel with a declared signature captures",
        kernel("x[0] = table[0]", head="table = cuda.to_device(np.arange(4))").replace(
            "@cuda.jit", '@cuda.jit("void(float32[:])")'
        ),
        "Leave the signature out, or pass the array as an argument; NumPy arrays may be captured.",
    ),
)

DEVICES = (
    Case(
        "Atomics on small elements",
        kernel("cuda.atomic.add(b, 0, 1)", parameters="b", arguments="np.zeros(8, np.int16)"),
        "An int32 array.",
    ),
    Case(
        "Atomics on complex numbers",
        kernel("cuda.atomic.add(z, 0, 1j)", parameters="z", arguments="np.zeros(8, np.complex64)"),
        "Two atomics on `z.view(np.float32)`.",
    ),
    Case(
        "More shared memory than the device has",
        kernel("a = cuda.shared.array((4096, 4096), np.float64)\nx[0] = a[0, 0]"),
        "Smaller tiles: `cuda.get_current_device().MAX_SHARED_MEMORY_PER_BLOCK` tells the limit.",
    ),
    Case(
        "Blocks of more threads than the device runs",
        kernel("x[0] = 1", launch="[1, 10**6]"),
        "At most 1024 threads run everywhere that CUDA's do.",
    ),
    Case(
        "`grid.sync()` with more blocks than run at once",
        kernel("cuda.cg.this_grid().sync()\nx[0] = 1", launch="[10**6, 32]"),
        "As many as `kernel.overloads[...].max_cooperative_grid_blocks(block)` says, with a loop over the rest.",
    ),
)

HOST = (
    Case(
        "Arrays of Python objects",
        "import numpy as np\nfrom portagpu import cuda\n\ncuda.to_device(np.array([None, 1]))\n",
        "Numbers, or records: NumPy's structured dtypes.",
    ),
)

GROUPS = {
    "CUDA's own": CUDA_ONLY,
    "In kernels": LANGUAGE,
    "What devices cannot do": DEVICES,
    "On the host": HOST,
}
