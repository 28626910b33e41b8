"""Building blocks for native code: numba functions on raw int64 addresses.

Enters: addresses and numbers as int64, float32 or float64. Leaves: one or two LLVM instructions, or a call
of a C function by its symbol. No array, string or Python object ever appears, so that functions made of
these need no part of numba at run time and can be stored as object code.
"""

import platform

from llvmlite import ir
from numba import types
from numba.core import cgutils, sigutils, typing
from numba.core.datamodel.models import OpaqueModel
from numba.core.extending import intrinsic, register_model
from pyiree.runtime.native.exports import EXPORT_PREFIX

I1, I8, I16, I32, I64 = (ir.IntType(n) for n in (1, 8, 16, 32, 64))
F32, F64, VOID = ir.FloatType(), ir.DoubleType(), ir.VoidType()
POINTER = I8.as_pointer()

_NUMBA_TYPES = {I1: types.boolean, I64: types.int64, F32: types.float32, F64: types.float64, VOID: types.void}


class NativeFunction(types.ExternalFunction):
    """A function of the native runtime. Native code that names it calls its symbol; linking brings it in."""

    def __init__(self, symbol: str, signature, python_function=None):
        super().__init__(symbol, signature)
        self.python_function = python_function


register_model(NativeFunction)(OpaqueModel)

NATIVE_FUNCTIONS: dict[str, list[NativeFunction]] = {}  # by module, in the order of definition


def native(signature: str):
    """Decorates a function to be compiled for the native runtime, with an explicit signature."""
    arguments, result = sigutils.normalize_signature(signature)

    def decorate(python_function) -> NativeFunction:
        module = python_function.__module__
        symbol = f"{module}.{python_function.__name__}"
        function = NativeFunction(symbol, typing.signature(result, *arguments), python_function)
        NATIVE_FUNCTIONS.setdefault(module, []).append(function)
        return function

    return decorate


def _with_arity(count: int, name: str, build):
    """A numba intrinsic of `count` arguments whose typing function calls `build(*argument types)`."""
    names = ", ".join(f"a{k}" for k in range(count))
    typer = eval(f"lambda context, {names}: build({names})", {"build": build})
    typer.__name__ = typer.__qualname__ = name
    return intrinsic(typer)


def emitter(name: str, result, arguments, emit):
    """An intrinsic with fixed LLVM types: `emit(builder, *values)` gives the result value.

    Integers travel as int64 on numba's side; `emit` narrows and widens as it needs.
    """
    signature = _NUMBA_TYPES[result](*(_NUMBA_TYPES[a] for a in arguments))

    def codegen(context, builder, _signature, values):
        value = emit(builder, *values)
        return context.get_dummy_value() if result is VOID else value

    return _with_arity(len(arguments), name, lambda *_: (signature, codegen))


def pointer(builder, address, pointee):
    return builder.inttoptr(address, pointee.as_pointer())


# ------------------------------------------------------------------ memory


def _load(pointee, extend=None):
    result = pointee if extend is None else I64

    def emit(builder, address):
        value = builder.load(pointer(builder, address, pointee), align=1)
        return getattr(builder, extend)(value, I64) if extend else value

    return emitter(f"load_{extend}_{pointee}", result, [I64], emit)


def _store(pointee, argument=I64):
    def emit(builder, address, value):
        narrow = value if argument is pointee else builder.trunc(value, pointee)
        builder.store(narrow, pointer(builder, address, pointee), align=1)

    return emitter(f"store_{pointee}", VOID, [I64, argument], emit)


load_i8, load_u8 = _load(I8, "sext"), _load(I8, "zext")
load_i16, load_u16 = _load(I16, "sext"), _load(I16, "zext")
load_i32, load_u32 = _load(I32, "sext"), _load(I32, "zext")
load_i64, load_f32, load_f64 = _load(I64), _load(F32), _load(F64)
store_i8, store_i16, store_i32, store_i64 = _store(I8), _store(I16), _store(I32), _store(I64)
store_f32, store_f64 = _store(F32, F32), _store(F64, F64)


# ------------------------------------------------------------------ atomics


def _widen(builder, value):
    return builder.sext(value, I64)


def _atomic_load(word, ordering):
    def emit(builder, address):
        value = builder.load_atomic(pointer(builder, address, word), ordering, word.width // 8)
        return value if word is I64 else _widen(builder, value)

    return emitter(f"atomic_load_{word}", I64, [I64], emit)


def _atomic_store(word, ordering):
    def emit(builder, address, value):
        narrow = value if word is I64 else builder.trunc(value, word)
        builder.store_atomic(narrow, pointer(builder, address, word), ordering, word.width // 8)

    return emitter(f"atomic_store_{word}", VOID, [I64, I64], emit)


def _atomic_update(operation, word):
    """Sequentially consistent read-modify-write; gives the old value."""

    def emit(builder, address, value):
        narrow = value if word is I64 else builder.trunc(value, word)
        old = builder.atomic_rmw(operation, pointer(builder, address, word), narrow, "seq_cst")
        return old if word is I64 else _widen(builder, old)

    return emitter(f"atomic_{operation}_{word}", I64, [I64, I64], emit)


def _emit_compare_and_swap(builder, address, expected, desired):
    pair = builder.cmpxchg(pointer(builder, address, I64), expected, desired, "seq_cst", "seq_cst")
    return builder.extract_value(pair, 1)


atomic_load = _atomic_load(I64, "acquire")
atomic_load32 = _atomic_load(I32, "seq_cst")
atomic_store = _atomic_store(I64, "release")
atomic_store32 = _atomic_store(I32, "seq_cst")
atomic_add, atomic_add32 = _atomic_update("add", I64), _atomic_update("add", I32)
atomic_or, atomic_and = _atomic_update("or", I64), _atomic_update("and", I64)
atomic_exchange = _atomic_update("xchg", I64)
compare_and_swap = emitter("compare_and_swap", I1, [I64, I64, I64], _emit_compare_and_swap)
memory_fence = emitter("memory_fence", VOID, [], lambda builder: builder.fence("seq_cst"))


# ------------------------------------------------------------------ calls


def indirect_call(count: int):
    """An intrinsic `call(function address, count × i64) -> i64`."""
    function_type = ir.FunctionType(I64, [I64] * count).as_pointer()

    def emit(builder, address, *values):
        return builder.call(builder.inttoptr(address, function_type), values)

    return emitter(f"call{count}", I64, [I64] * (count + 1), emit)


call1, call2, call3, call4, call9 = (indirect_call(n) for n in (1, 2, 3, 4, 9))


def _emit_call_kernel(builder, address, *pointers):
    function_type = ir.FunctionType(I32, [POINTER] * 3).as_pointer()
    function = builder.inttoptr(address, function_type)
    return _widen(builder, builder.call(function, [builder.inttoptr(p, POINTER) for p in pointers]))


# `int kernel(environment*, dispatch_state*, workgroup_state*)`, the executable ABI.
call_kernel = emitter("call_kernel", I64, [I64] * 4, _emit_call_kernel)


def declare(builder, symbol, result, arguments, var_arg=False):
    function_type = ir.FunctionType(result, arguments, var_arg=var_arg)
    return cgutils.get_or_insert_function(builder.module, function_type, symbol)


def extern(symbol: str, arguments: int, result=I64):
    """An intrinsic that calls the C function `symbol`; its arguments are integers or pointers, as int64.

    An int64 stands for a pointer: both take the same registers on every 64-bit ABI. A 32-bit result is
    widened, and a void function (`result=VOID`) gives nothing.
    """

    def emit(builder, *values):
        value = builder.call(declare(builder, symbol, result, [I64] * arguments), values)
        return _widen(builder, value) if result is I32 else value

    return emitter(symbol, I64 if result is I32 else result, [I64] * arguments, emit)


def extern_math(symbol: str, kind, arguments: int):
    """An intrinsic that calls a C math function on floats of type `kind`."""

    def emit(builder, *values):
        return builder.call(declare(builder, symbol, kind, [kind] * arguments), values)

    return emitter(symbol, kind, [kind] * arguments, emit)


def symbol_address(symbol: str):
    """An intrinsic that gives the address of an exported native function, `symbol` being its export name."""

    def emit(builder):
        return builder.ptrtoint(declare(builder, EXPORT_PREFIX + symbol, VOID, [I64]), I64)

    return emitter(f"address_of_{symbol}", I64, [], emit)


def global_word(name: str):
    """An intrinsic that gives the address of a zero-initialised int64 of the image, one for each name."""

    def emit(builder):
        module = builder.module
        symbol = EXPORT_PREFIX + "global_" + name
        if symbol not in module.globals:
            word = ir.GlobalVariable(module, I64, symbol)
            word.initializer = I64(0)
            word.linkage = "linkonce_odr"  # every module that uses it brings a copy; linking keeps one
            word.align = 64
        return builder.ptrtoint(module.globals[symbol], I64)

    return emitter(f"global_{name}", I64, [], emit)


# ------------------------------------------------------------------ C library

malloc = extern("malloc", 1)
calloc = extern("calloc", 2)
realloc = extern("realloc", 2)
free = extern("free", 1, VOID)
aligned_alloc = extern("aligned_alloc", 2)  # alignment, then a size that is a multiple of it
memcpy = extern("memcpy", 3)
memmove = extern("memmove", 3)
memset = extern("memset", 3)
memcmp = extern("memcmp", 3, I32)
sched_yield = extern("sched_yield", 0, I32)


write = extern("write", 3)  # descriptor, address, length


def _emit_syscall(builder, *values):
    return builder.call(declare(builder, "syscall", I64, [I64], var_arg=True), values)


# libc's variadic `long syscall(long, ...)` with six arguments.
_syscall6 = emitter("syscall6", I64, [I64] * 7, _emit_syscall)

_FUTEX = {"x86_64": 202, "aarch64": 98}.get(platform.machine(), -1)
_GETTID = {"x86_64": 186, "aarch64": 178}.get(platform.machine(), -1)
_FUTEX_WAIT_PRIVATE, _FUTEX_WAKE_PRIVATE = 128, 129
_CLOCK_MONOTONIC = 1


def _emit_stack_bytes(size):
    def emit(builder):
        with builder.goto_entry_block():
            block = builder.alloca(ir.ArrayType(I8, size))
            block.align = 64
        return builder.ptrtoint(block, I64)

    return emit


def stack_bytes(size: int):
    """An intrinsic that gives the address of `size` bytes of stack, fixed per call site."""
    return emitter(f"stack_bytes_{size}", I64, [], _emit_stack_bytes(size))


_timespec = stack_bytes(16)
_clock_gettime = extern("clock_gettime", 2, I32)


@native("int64(int64,int64,int64)")
def futex_wait(address, expected, nanoseconds):
    """Sleeps while the 32-bit word holds `expected`, at most `nanoseconds`; 0 when woken, else -1."""
    deadline = _timespec()
    store_i64(deadline, nanoseconds // 1000000000)
    store_i64(deadline + 8, nanoseconds % 1000000000)
    return _syscall6(_FUTEX, address, _FUTEX_WAIT_PRIVATE, expected, deadline, 0, 0)


@native("int64(int64,int64)")
def futex_wake(address, count):
    """Wakes at most `count` sleepers of the word; gives how many."""
    return _syscall6(_FUTEX, address, _FUTEX_WAKE_PRIVATE, count, 0, 0, 0)


@native("int64()")
def thread_number():
    """The system's number of this thread, as `threading.get_native_id` gives it."""
    return _syscall6(_GETTID, 0, 0, 0, 0, 0, 0)


@native("int64()")
def monotonic_nanoseconds():
    now = _timespec()
    _clock_gettime(_CLOCK_MONOTONIC, now)
    return load_i64(now) * 1000000000 + load_i64(now + 8)


# ------------------------------------------------------------------ processor


def _emit_pause(builder):
    # LLVM intrinsics, not inline assembly: numba starts no assembly parser and LLVM would abort the process.
    machine = platform.machine()
    if machine == "x86_64":
        builder.call(declare(builder, "llvm.x86.sse2.pause", VOID, []), [])
    elif machine == "aarch64":
        builder.call(declare(builder, "llvm.aarch64.hint", VOID, [I32]), [I32(1)])


# The hint of a spin loop.
cpu_pause = emitter("cpu_pause", VOID, [], _emit_pause)


def _emit_get_float_control(builder):
    if platform.machine() == "aarch64":
        return builder.call(declare(builder, "llvm.aarch64.get.fpcr", I64, []), [])
    with builder.goto_entry_block():
        slot = builder.alloca(I32)
    store = declare(builder, "llvm.x86.sse.stmxcsr", VOID, [POINTER])
    builder.call(store, [builder.bitcast(slot, POINTER)])
    return builder.zext(builder.load(slot), I64)


def _emit_set_float_control(builder, value):
    if platform.machine() == "aarch64":
        builder.call(declare(builder, "llvm.aarch64.set.fpcr", VOID, [I64]), [value])
        return
    with builder.goto_entry_block():
        slot = builder.alloca(I32)
    builder.store(builder.trunc(value, I32), slot)
    load = declare(builder, "llvm.x86.sse.ldmxcsr", VOID, [POINTER])
    builder.call(load, [builder.bitcast(slot, POINTER)])


# MXCSR on x86, FPCR on ARM.
get_float_control = emitter("get_float_control", I64, [], _emit_get_float_control)
set_float_control = emitter("set_float_control", VOID, [I64], _emit_set_float_control)
FLUSH_DENORMALS = {"x86_64": 0x8040, "aarch64": 1 << 24}.get(platform.machine(), 0)


def _emit_count_leading_zeros(builder, value):
    return builder.ctlz(value, ir.Constant(I1, 0))


rotate_left = emitter(
    "rotate_left",
    I64,
    [I64, I64],
    lambda builder, value, amount: builder.call(
        declare(builder, "llvm.fshl.i64", I64, [I64] * 3), [value, value, amount]
    ),
)
# Machine divisions, truncating: a divisor of zero or an overflow traps, so the caller checks.
signed_divide = emitter("signed_divide", I64, [I64, I64], lambda builder, x, y: builder.sdiv(x, y))
signed_remainder = emitter("signed_remainder", I64, [I64, I64], lambda builder, x, y: builder.srem(x, y))
unsigned_divide = emitter("unsigned_divide", I64, [I64, I64], lambda builder, x, y: builder.udiv(x, y))
unsigned_remainder = emitter("unsigned_remainder", I64, [I64, I64], lambda builder, x, y: builder.urem(x, y))
count_leading_zeros = emitter("count_leading_zeros", I64, [I64], _emit_count_leading_zeros)
float32_bits = emitter("float32_bits", I64, [F32], lambda builder, value: _widen(builder, builder.bitcast(value, I32)))
bits_float32 = emitter(
    "bits_float32", F32, [I64], lambda builder, value: builder.bitcast(builder.trunc(value, I32), F32)
)
float64_bits = emitter("float64_bits", I64, [F64], lambda builder, value: builder.bitcast(value, I64))
bits_float64 = emitter("bits_float64", F64, [I64], lambda builder, value: builder.bitcast(value, F64))


# ------------------------------------------------------------------ messages


def message(text: str):
    """An intrinsic `write(address)` that leaves a failure's text: word 0 the byte count, then the bytes."""
    data = text.encode()

    def emit(builder, address):
        content = bytearray(len(data).to_bytes(8, "little") + data)
        constant = ir.Constant(ir.ArrayType(I8, len(content)), content)
        text_global = cgutils.global_constant(builder.module, "message", constant)
        copy = declare(builder, "memcpy", I64, [I64] * 3)
        builder.call(copy, [address, builder.ptrtoint(text_global, I64), I64(len(content))])

    return emitter("message", VOID, [I64], emit)
