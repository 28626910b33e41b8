"""Runs single dispatch functions: text in flow form → our code generation → linked ELF → called through ctypes."""

import ctypes
import re
import struct

import numpy as np
import pytest

DISPATCH = "!iree_tensor_ext.dispatch.tensor"
NUMPY = {
    "i1": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
    "f16": np.float16, "f32": np.float32, "f64": np.float64,
}  # fmt: skip


def mlir_element(dtype) -> str:
    dtype = np.dtype(dtype)
    if dtype == np.bool_:
        return "i1"
    if dtype.name == "bfloat16":
        return "bf16"
    return f"{'f' if dtype.kind == 'f' else 'i'}{dtype.itemsize * 8}"


def tensor_text(shape, element) -> str:
    return "tensor<" + "".join(f"{d}x" for d in shape) + f"{element}>"


def dispatch_text(inputs, outputs, body, scalars=()) -> str:
    """A dispatch that loads %in0… whole, runs `body`, and stores %out0… whole. inputs, outputs: tensor types."""
    arguments, loads, stores = [], [], []
    for k, type in enumerate(inputs):
        arguments.append(f"%b{k}: {DISPATCH}<readonly:{type}>")
        loads.append(
            f"%in{k} = iree_tensor_ext.dispatch.tensor.load %b{k}, {whole(type)} : "
            f"{DISPATCH}<readonly:{type}> -> {type}"
        )
    for k, type in enumerate(outputs):
        arguments.append(f"%o{k}: {DISPATCH}<writeonly:{type}>")
        stores.append(
            f"iree_tensor_ext.dispatch.tensor.store %out{k}, %o{k}, {whole(type)} : "
            f"{type} -> {DISPATCH}<writeonly:{type}>"
        )
    arguments += [f"%s{k}: {type}" for k, type in enumerate(scalars)]
    lines = "\n".join([*loads, body, *stores])
    return f"func.func @kernel({', '.join(arguments)}) {{\n{lines}\nreturn\n}}"


def dims_and_element(type: str) -> tuple[list[str], str]:
    """The dims and the element of a tensor type's text."""
    dims, element = re.fullmatch(r"tensor<((?:[\d?]+x)*)(.*)>", type).groups()
    return dims.split("x")[:-1], element


def whole(type: str) -> str:
    shape, _ = dims_and_element(type)
    zeros, ones = ", ".join("0" for _ in shape), ", ".join("1" for _ in shape)
    return f"offsets = [{zeros}], sizes = [{', '.join(shape)}], strides = [{ones}]"


def generic(result, inputs, outputs, maps, iterators, body, yields) -> str:
    """linalg.generic over %names; inputs and outputs are (name, type) pairs."""

    def element(type):
        return dims_and_element(type)[1] if type.startswith("tensor<") else type

    arguments = [f"%a{k}: {element(t)}" for k, (_, t) in enumerate(inputs)]
    arguments += [f"%c{k}: {element(t)}" for k, (_, t) in enumerate(outputs)]
    kinds = ", ".join(f'"{i}"' for i in iterators)
    map_text = ", ".join(f"affine_map<{m}>" for m in maps)
    types = [t for _, t in outputs]
    results = f"{result}:{len(types)}" if len(types) > 1 else result
    ins = f"ins({', '.join(n for n, _ in inputs)} : {', '.join(t for _, t in inputs)}) " if inputs else ""
    return (
        f"{results} = linalg.generic {{indexing_maps = [{map_text}], iterator_types = [{kinds}]}} {ins}"
        f"outs({', '.join(n for n, _ in outputs)} : {', '.join(types)}) {{\n^bb0({', '.join(arguments)}):\n"
        f"{body}\nlinalg.yield {yields} : {', '.join(element(t) for t in types)}\n}} -> "
        + (types[0] if len(types) == 1 else f"({', '.join(types)})")
    )


class LoadedKernel:
    """A kernel in memory, to be run over NumPy arrays."""

    def __init__(self, kernel, library):
        from pyiree.runtime.vmfb import abi

        self.kernel = kernel
        self._library = library
        query = library.iree_hal_executable_library_query
        query.restype = ctypes.c_void_p
        environment = ctypes.create_string_buffer(abi.ENVIRONMENT.size)
        table = query(abi.LIBRARY_VERSION, environment)
        assert table, "the library refuses this processor"
        functions = ctypes.c_void_p.from_address(table + abi.LIBRARY.offset("export_functions")).value
        address = ctypes.c_void_p.from_address(functions).value
        self._function = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 3)(address)
        self._environment = environment

    def arguments(self, arrays, constants=()):
        """(dispatch state, workgroup state, what must stay alive)."""
        from pyiree.runtime.vmfb import abi

        words = (ctypes.c_uint32 * max(1, len(constants)))(*constants)
        pointers = (ctypes.c_void_p * max(1, len(arrays)))(*[a.ctypes.data for a in arrays])
        lengths = (ctypes.c_size_t * max(1, len(arrays)))(*[a.nbytes for a in arrays])
        state = ctypes.create_string_buffer(abi.DISPATCH_STATE.size)
        for field, value in (("constants", words), ("binding_pointers", pointers), ("binding_lengths", lengths)):
            struct.pack_into("<Q", state, abi.DISPATCH_STATE.offset(field), ctypes.addressof(value))
        local = ctypes.create_string_buffer(self.kernel.local_memory_bytes + 64)
        workgroup = ctypes.create_string_buffer(abi.WORKGROUP_STATE.size)
        aligned = -(-ctypes.addressof(local) // 64) * 64
        struct.pack_into("<Q", workgroup, abi.WORKGROUP_STATE.offset("local_memory"), aligned)
        return state, workgroup, (words, pointers, lengths, local)

    def run(self, arrays, constants=(), count=None):
        """Runs all workgroups in turn."""
        from pyiree.runtime.vmfb import abi

        count = self.kernel.workgroups[0] if count is None else count
        state, workgroup, alive = self.arguments(arrays, constants)
        at = abi.WORKGROUP_STATE.offset("workgroup_id_x")
        for number in range(count):
            struct.pack_into("<I", workgroup, at, number)
            assert (
                self._function(
                    ctypes.addressof(self._environment), ctypes.addressof(state), ctypes.addressof(workgroup)
                )
                == 0
            )
        del alive


@pytest.fixture(scope="session")
def build_kernel(load_shared_object):
    """A function (text, cpu) → LoadedKernel."""
    from pyiree.compiler.codegen import target as targets
    from pyiree.compiler.codegen.translate import link_executable, translate_dispatch
    from pyiree.compiler.ir.parser import parse

    def build(text, cpu="host"):
        target = targets.named(cpu)
        module = parse(text)
        func = next(op for op in module.walk() if op.name == "func.func")
        kernel = translate_dispatch(func, target)
        return LoadedKernel(kernel, load_shared_object(link_executable("test", [kernel], target)))

    return build


@pytest.fixture(scope="session")
def run_dispatch(build_kernel):
    """A function (text, inputs, outputs as (shape, dtype), cpu) → output arrays; memory around outputs is checked."""

    def run(text, inputs, outputs, cpu="host", constants=(), count=None):
        kernel = build_kernel(text, cpu)
        guarded = []
        for shape, dtype in outputs:
            size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
            memory = np.full(size + 128, 0xA5, np.uint8)
            guarded.append((memory, memory[64 : 64 + size].view(dtype).reshape(shape)))
        tight = [at_the_end_of_memory(np.ascontiguousarray(a)) for a in inputs]
        kernel.run([*tight, *[array for _, array in guarded]], constants, count)
        for memory, array in guarded:
            assert (memory[:64] == 0xA5).all() and (memory[64 + array.nbytes :] == 0xA5).all(), "stored out of bounds"
        return [array.copy() for _, array in guarded]

    return run


def at_the_end_of_memory(array):
    """A copy whose last byte is the last of a page that is followed by an unreadable one."""
    import mmap

    page = mmap.PAGESIZE
    size = max(1, -(-array.nbytes // page)) * page
    memory = mmap.mmap(-1, size + page)
    base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.mprotect(ctypes.c_void_p(base + size), ctypes.c_size_t(page), 0) == 0
    copy = np.frombuffer(memory, np.uint8, array.nbytes, size - array.nbytes).view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


@pytest.fixture(scope="session")
def texts():
    """The text helpers of this file."""
    import types

    return types.SimpleNamespace(
        dispatch=dispatch_text, generic=generic, tensor=tensor_text, element=mlir_element, numpy=NUMPY
    )
