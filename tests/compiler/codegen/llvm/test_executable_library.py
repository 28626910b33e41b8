"""Executable libraries: the tables of the query, kernels called as a runtime calls them, and IREE itself."""

import ctypes
import re
import struct

import numpy as np
import pytest
from pyiree.compiler.codegen import target as targets
from pyiree.compiler.codegen.executable import build_executable
from pyiree.compiler.codegen.llvm.emit import Module
from pyiree.compiler.codegen.llvm.executable_library import EntryPoint
from pyiree.compiler.codegen.llvm.kernel import Kernel
from pyiree.compiler.codegen.llvm.objects import Unit
from pyiree.compiler.codegen.llvm.values import F32, F64, I32, I64, vec
from pyiree.compiler.errors import CompileError

FLUSH = 0x8040


def _multiply(target, symbol, count=64, workgroups=1):
    """out[i] = a[i] * b[i], this workgroup's share of `count` elements."""
    m = Module(target)
    kernel = Kernel(m)
    f = kernel.body
    a, b, out = (
        kernel.binding(0, "noalias readonly"),
        kernel.binding(1, "noalias readonly"),
        kernel.binding(2),
    )
    lanes, share = target.lanes(32), count // workgroups
    first = f.mul(kernel.workgroup_id("x"), share)
    ty = vec(lanes, F32)
    with f.for_(0, share, lanes) as loop:
        at = f.add(first, loop.index)
        product = f.fmul(f.load(ty, f.gep(a, at, F32)), f.load(ty, f.gep(b, at, F32)))
        f.store(product, f.gep(out, at, F32))
    kernel.finish()
    return Unit(m.text(), symbol=symbol)


def _everything(target, symbol):
    """Stores every value that a kernel may ask for into binding 0, as i64, and touches local memory."""
    m = Module(target)
    kernel = Kernel(m)
    f = kernel.body
    local = kernel.local_memory()
    f.store(kernel.workgroup_id("y"), local)
    values = [kernel.workgroup_id(d) for d in "xyz"] + [kernel.workgroup_count(d) for d in "xyz"]
    values += [f.zext(kernel.constant(0), I64), kernel.constant_i64(1), kernel.binding_length(0)]
    values += [f.load(I64, local)]
    for k, value in enumerate(values):
        f.store(value, f.gep(kernel.binding(0), k, I64))
    assert (kernel.binding_count, kernel.constant_count) == (1, 3)
    kernel.finish()
    return Unit(m.text(), symbol=symbol)


class Library:
    """A loaded executable library, called with structs laid out as the runtime lays them out."""

    def __init__(self, library):
        self._query = library.iree_hal_executable_library_query
        self._query.restype = ctypes.c_void_p
        self._query.argtypes = [ctypes.c_uint32, ctypes.c_char_p]

    def query(self, version=6, processor_data=0):
        return self._query(version, struct.pack("<32xQ56x", processor_data))

    @staticmethod
    def read(address, fmt):
        return struct.unpack(fmt, ctypes.string_at(address, struct.calcsize(fmt)))

    def entries(self):
        table = self.query()
        count, functions, attributes = self.read(table + 24, "<IxxxxQQ")
        (names,) = self.read(table + 64, "<Q")
        result = []
        for k in range(count):
            name = ctypes.string_at(self.read(names + 8 * k, "<Q")[0]).decode()
            result.append((name, self.read(functions + 8 * k, "<Q")[0], self.read(attributes + 64 * k, "<QHBBIIH")))
        return result

    def call(self, ordinal, arrays, constants=(), ids=(0, 0, 0), counts=(1, 1, 1), local_bytes=0):
        pointers = (ctypes.c_void_p * len(arrays))(*[a.ctypes.data for a in arrays])
        lengths = (ctypes.c_size_t * len(arrays))(*[a.nbytes for a in arrays])
        words = (ctypes.c_uint32 * max(len(constants), 1))(*constants)
        local = (ctypes.c_char * max(local_bytes, 1))()
        dispatch = struct.pack(
            "<IIHHIIHBBQQQ", 1, 1, 1, len(constants), counts[0], counts[1], counts[2], 1, len(arrays),
            ctypes.addressof(words), ctypes.addressof(pointers), ctypes.addressof(lengths),
        )  # fmt: skip
        workgroup = struct.pack("<IIHxxIQIxxxx", *ids, 0, ctypes.addressof(local), local_bytes)
        function = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p)
        return function(self.entries()[ordinal][1])(bytes(96), dispatch, workgroup)


@pytest.fixture
def load_library(load_shared_object):
    return lambda image: Library(load_shared_object(image))


def test_tables(load_library):
    target = targets.named("x86-64")
    entries = [
        EntryPoint("k0", "first", 0, 3, workgroup_size=(4, 2, 3)),
        EntryPoint("k1", "second", 3, 1, local_memory_bytes=5000),
    ]
    lib = load_library(build_executable("unit", entries, [_multiply(target, "k0"), _everything(target, "k1")], target))
    header, imports = lib.read(lib.query(), "<QI")
    version, name, features, sanitizer = lib.read(header, "<IxxxxQII")
    assert (version, features, sanitizer, imports) == (6, 0, 0, 0)
    assert ctypes.string_at(name).decode() == "pyiree.unit"
    found = [(name, attributes) for name, _, attributes in lib.entries()]
    assert found == [("first", (0, 0, 0, 3, 4, 2, 3)), ("second", (0, 2, 3, 1, 1, 1, 1))]


def test_source_locations(load_library):
    target = targets.named("x86-64")
    entries = [EntryPoint("k0", "k", 0, 3, source=("model.py", 12))]
    lib = load_library(build_executable("unit", entries, [_multiply(target, "k0")], target))
    (locations,) = lib.read(lib.query() + 88, "<Q")
    line, length, path = lib.read(locations, "<IIQ")
    assert (line, ctypes.string_at(path)[:length]) == (12, b"model.py")


def test_query_checks_version_and_processor(runnable_target, load_library):
    entries = [EntryPoint("k0", "k", 0, 3)]
    lib = load_library(build_executable("unit", entries, [_multiply(runnable_target, "k0")], runnable_target))
    required = runnable_target.processor_bits
    assert lib.query(6, 0) and lib.query(7, 0) and not lib.query(5, 0)
    assert lib.query(6, required | 1 << 63)
    for bit in range(64):
        if required >> bit & 1:
            assert not lib.query(6, (required & ~(1 << bit)) | 1 << 63), bit


def test_kernels_receive_what_they_ask_for(runnable_target, load_library):
    entries = [EntryPoint("k", "k", 3, 1, local_memory_bytes=4096)]
    lib = load_library(build_executable("unit", entries, [_everything(runnable_target, "k")], runnable_target))
    out = np.zeros(10, np.int64)
    status = lib.call(0, [out], [5, 0xFFFFFFFF, 0x7FFFFFFF], (4, 3, 2), (9, 8, 7), 4096)
    assert status == 0
    assert out.tolist() == [4, 3, 2, 9, 8, 7, 5, 0x7FFFFFFFFFFFFFFF, 80, 3]


def test_workgroups_tile_the_work(runnable_target, load_library):
    image = build_executable(
        "unit", [EntryPoint("k", "k", 0, 3)], [_multiply(runnable_target, "k", 256, 4)], runnable_target
    )
    lib = load_library(image)
    a, b = np.random.default_rng(0).standard_normal((2, 256)).astype(np.float32)
    out = np.zeros(256, np.float32)
    for x in range(4):
        assert lib.call(0, [a, b, out], ids=(x, 0, 0), counts=(4, 1, 1)) == 0
    assert np.array_equal(out, a * b)


@pytest.fixture
def control_word(run_ir):
    """Functions that read and write MXCSR."""
    target = targets.named("x86-64")
    m = Module(target)
    get = m.function("get", [], I32, linkage="")
    slot = get.alloca(I32, 1, 4)
    get.call_intrinsic("llvm.x86.sse.stmxcsr", "void", slot)
    get.ret(get.load(I32, slot))
    put = m.function("put", [("value", I32)], linkage="")
    slot = put.alloca(I32, 1, 4)
    put.store(put.args["value"], slot)
    put.call_intrinsic("llvm.x86.sse.ldmxcsr", "void", slot)
    put.ret()
    return run_ir([m.text()], ["get", "put"], target)


def test_denormals_are_kept_and_the_mode_restored(runnable_target, load_library, control_word):
    image = build_executable("unit", [EntryPoint("k", "k", 0, 3)], [_multiply(runnable_target, "k")], runnable_target)
    lib = load_library(image)
    a, b, out = np.full(64, 1e-40, np.float32), np.ones(64, np.float32), np.zeros(64, np.float32)
    before = control_word.get()
    try:
        control_word.put(before | FLUSH)
        status = lib.call(0, [a, b, out])
        after = control_word.get()
    finally:
        control_word.put(before)
    assert status == 0 and after & FLUSH == FLUSH
    assert np.array_equal(out, a)
    assert lib.call(0, [a, b, out]) == 0 and control_word.get() & FLUSH == before & FLUSH


def test_limits_are_errors():
    target = targets.named("x86-64")
    for entry, words in (
        (EntryPoint("k", "k", 0, 33), "33 bindings; at most 32"),
        (EntryPoint("k", "k", 49, 0), "49 push constants; at most 48"),
        (EntryPoint("k", "k", 0, 0, local_memory_bytes=target.local_bytes + 1), "bytes of workgroup local memory"),
        (EntryPoint("k", "", 0, 0), "needs a name"),
    ):
        with pytest.raises(CompileError, match=words):
            build_executable("unit", [entry], [Unit("", symbol="k")], target)
    with pytest.raises(CompileError, match="more than 32 bindings"):
        Kernel(Module(target)).binding(32)


def test_undefined_function_is_named():
    target = targets.named("x86-64")
    m = Module(target)
    kernel = Kernel(m)
    f = kernel.body
    out = kernel.binding(0)
    f.store(f.intrinsic("sin", f.load(F32, out)), out)
    kernel.finish()
    with pytest.raises(CompileError, match="undefined symbol sinf, used by kernel k of unit;"):
        build_executable("unit", [EntryPoint("k", "k", 0, 1)], [Unit(m.text(), symbol="k")], target)


def test_every_level_links(any_level):
    """A kernel that needs the soft library where the CPU is poor: conversions, remainders, rounding, fma."""
    target = targets.named(any_level)
    m = Module(target)
    kernel = Kernel(m)
    f = kernel.body
    x, out = kernel.binding(0, "readonly"), kernel.binding(1)
    value = f.load(vec(4, F32), x)
    value = f.frem(f.fma(value, f.intrinsic("floor", value), 0.5), 3.0)
    f.store(f.fptrunc(value, "half"), out)
    f.store(f.fptrunc(f.fpext(value, F64), "bfloat"), f.gep(out, 2, I64))
    kernel.finish()
    assert build_executable("unit", [EntryPoint("k", "k", 0, 2)], [Unit(m.text(), symbol="k")], target)


def test_equal_kernels_are_one_object(load_library):
    """Names play no part: neither in the cache, nor in the executable."""
    target = targets.named("x86-64")
    keys = []

    class Cache(dict):
        def put(self, key, data):
            keys.append(key)
            self[key] = data

    cache = Cache()
    one = build_executable("u", [EntryPoint("a", "a", 0, 3)], [_multiply(target, "a")], target, cache)
    count = len(keys)
    kernels = [_multiply(target, "b"), _everything(target, "c"), _multiply(target, "d")]
    entries = [EntryPoint("b", "b", 0, 3), EntryPoint("c", "c", 3, 1), EntryPoint("d", "d", 0, 3)]
    lib = load_library(build_executable("u", entries, kernels, target, cache))
    assert len(keys) == count + 1  # kernel c
    functions = [function for _, function, _ in lib.entries()]
    assert functions[0] == functions[2] != functions[1]
    assert one == build_executable("u", [EntryPoint("a", "a", 0, 3)], [_multiply(target, "a")], target)


def test_symbols_must_fit():
    target = targets.named("x86-64")
    with pytest.raises(CompileError, match="undefined symbol missing, used by the tables of u"):
        build_executable("u", [EntryPoint("missing", "shown", 0, 3)], [_multiply(target, "k")], target)
    with pytest.raises(CompileError, match=r"symbol k(\.body)? is defined by kernel k of u"):
        build_executable("u", [], [_multiply(target, "k"), _everything(target, "k")], target)
    mixed = [_multiply(target, "j"), _everything(target, "k"), _multiply(target, "k")]
    with pytest.raises(CompileError, match="two kernels of u have the symbol k"):
        build_executable("u", [], mixed, target)


SOURCE = """
func.func @f(%a: tensor<64xf32>, %b: tensor<64xf32>) -> tensor<64xf32> {
  %e = tensor.empty() : tensor<64xf32>
  %0 = linalg.generic {
    indexing_maps = [affine_map<(i)->(i)>, affine_map<(i)->(i)>, affine_map<(i)->(i)>],
    iterator_types = ["parallel"]
  } ins(%a, %b : tensor<64xf32>, tensor<64xf32>) outs(%e : tensor<64xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %1 = arith.mulf %x, %y : f32
    linalg.yield %1 : f32
  } -> tensor<64xf32>
  return %0 : tensor<64xf32>
}
"""


@pytest.mark.each_value
@pytest.mark.parametrize("device", ["local-sync", "local-task"])
@pytest.mark.parametrize("cpu", ["x86-64", "host"])
def test_iree_runs_our_executable(iree_tool, tmp_path, cpu, device):
    """IREE's compiler makes the host program; the kernel in it is ours. Denormals tell that ours ran."""
    target = targets.named(cpu)
    image = build_executable(
        "unit", [EntryPoint("k", "f_dispatch_0_elementwise_64_f32", 0, 3)], [_multiply(target, "k")], target
    )
    flags = [
        "--iree-hal-target-device=local",
        "--iree-hal-local-target-device-backends=llvm-cpu",
        "--iree-llvmcpu-target-cpu=generic",
        "--iree-input-type=none",
    ]
    text = iree_tool("iree-compile", "-", *flags, "--compile-to=hal", input=SOURCE).stdout
    text, replaced = re.subn(
        r'dense(<"0x[0-9A-F]+">|_resource<\w+>) : vector<\d+xi8>',
        f'dense<"0x{image.hex().upper()}"> : vector<{len(image)}xi8>',
        text,
    )
    assert replaced == 1
    module = tmp_path / "module.vmfb"
    iree_tool("iree-compile", "-", *flags, "--compile-from=hal", "-o", module, input=text)
    inputs = ["--input=64xf32=1e-40", "--input=64xf32=2"]
    done = iree_tool("iree-run-module", f"--module={module}", f"--device={device}", "--function=f", *inputs)
    numbers = re.findall(r"1\.99999E-40", done.stdout)
    assert len(numbers) == 64, done.stdout
