"""One kernel: the function that the runtime calls once a workgroup, and the body that a strategy writes.

Enters: a module and what the body asks for: binding pointers, push constants, workgroup ids. Leaves: two
functions in the module. The exported one has IREE's dispatch signature, makes sure that denormals are
kept, loads exactly what the body asked for and calls it; the body gets these as arguments, so that
`noalias` can hold for bindings. Kernels that call kernels call their bodies (`call_body`).

    kernel = Kernel(module)
    x, out = kernel.binding(0, "noalias readonly"), kernel.binding(1, "noalias")
    rows = kernel.constant(0)
    f = kernel.body                     # an emit.Function: write instructions here
    row = kernel.workgroup_id("x")
    ...
    kernel.finish()
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from pyiree.compiler.errors import CompileError
from pyiree.runtime.vmfb.abi import DISPATCH_STATE, WORKGROUP_STATE, StructLayout

from ..target import AARCH64
from .emit import Module
from .function import Function
from .objects import KERNEL_SYMBOL
from .values import I32, I64, PTR, VOID, Value, bits, const, i64

MAX_BINDINGS = 32
MAX_CONSTANTS = 48

# Flush-to-zero and denormals-are-zero in MXCSR; FZ and FZ16 in FPCR.
_X86_FLUSH = 0x8040
_AARCH64_FLUSH = (1 << 24) | (1 << 19)


class BodyArgument(NamedTuple):
    """What the body of a kernel asks for: "binding" 0, "workgroup_id" "x"."""

    kind: str
    which: int | str
    type: str


class Kernel:
    """A kernel under construction. By default every kernel has the same symbol, and `Unit.symbol` tells them apart.

    Asking twice for the same thing gives the same Value; order and gaps do not matter.
    """

    def __init__(self, module: Module, symbol: str = KERNEL_SYMBOL):
        self._module = module
        # noinline: the floating-point mode is set around the body, and nothing may move across that.
        self.body = module.function(body_symbol(symbol), [], VOID, "hidden", "noinline")
        self._wrapper = module.function(
            symbol,
            [
                ("environment", PTR),
                ("dispatch", "ptr noalias readonly"),
                ("workgroup", "ptr noalias readonly"),
            ],
            I32,
            "hidden",
        )
        self._loaded: dict[str, Value] = {}  # body argument → the wrapper's value for it
        #: What the body asked for, in the order of its arguments.
        self.arguments: list[BodyArgument] = []
        self._bindings = self._constants = 0

    # -- what the body may ask for

    def binding(self, index: int, attrs: str = "") -> Value:
        """The address of a binding, its offset included. attrs: "noalias" when no other binding of the
        dispatch overlaps what is written here, "readonly", "align 64"."""
        if index >= MAX_BINDINGS:
            raise CompileError(f"a kernel has more than {MAX_BINDINGS} bindings")
        self._bindings = max(self._bindings, index + 1)
        ty = f"ptr {attrs}".rstrip()
        return self._ask("binding", index, ty, lambda: self._element("binding_pointers", PTR, index))

    def binding_length(self, index: int) -> Value:
        """Bytes of a binding's range (i64)."""
        return self._ask("length", index, I64, lambda: self._element("binding_lengths", I64, index))

    def constant(self, index: int) -> Value:
        """A push constant (i32)."""
        if index >= MAX_CONSTANTS:
            raise CompileError(f"a kernel has more than {MAX_CONSTANTS} push constants")
        self._constants = max(self._constants, index + 1)
        return self._ask("constant", index, I32, lambda: self._element("constants", I32, index))

    def constant_i64(self, index: int) -> Value:
        """A 64-bit push constant, low word at `index`, high word after it."""
        low, high = self.constant(index), self.constant(index + 1)
        f = self.body
        return f.or_(f.zext(low, I64), f.shl(f.zext(high, I64), 32))

    def workgroup_id(self, dim: str) -> Value:
        """This workgroup's number along "x", "y" or "z" (i64)."""
        field = f"workgroup_id_{dim}"
        return self._ask("workgroup_id", dim, I64, lambda: self._index("workgroup", WORKGROUP_STATE, field))

    def workgroup_count(self, dim: str) -> Value:
        """Workgroups of the dispatch along a dimension (i64)."""
        field = f"workgroup_count_{dim}"
        return self._ask("workgroup_count", dim, I64, lambda: self._index("dispatch", DISPATCH_STATE, field))

    def local_memory(self) -> Value:
        """The workgroup's scratch memory, of the size that the entry point declares."""
        return self._ask("local_memory", "", PTR, lambda: self._field("workgroup", WORKGROUP_STATE, "local_memory"))

    def table(self, name: str, data: bytes) -> Value:
        """Bytes in read-only memory beside the code."""
        return self._module.constant_bytes(f"table.{name}", data)

    @property
    def binding_count(self) -> int:
        """One more than the highest binding that was asked for."""
        return self._bindings

    @property
    def constant_count(self) -> int:
        return self._constants

    def finish(self) -> None:
        """Ends the body, if it is still open, and writes the function around it."""
        if self.body.is_open:
            self.body.ret()
        f = self._wrapper
        state, flushes = _read_flush_state(f, self._module.target)
        with f.if_(flushes, likely=False, name="flushing"):
            _clear_flush(f, self._module.target, state)
        f.call(self.body, *[self._loaded[name] for name in self.body.args])
        with f.if_(flushes, likely=False, name="restore"):
            _restore_state(f, self._module.target, state)
        f.ret(const(0, I32))

    # -- loads in the wrapper

    def _ask(self, kind: str, which: int | str, ty: str, load: Callable[[], Value]) -> Value:
        name = f"{kind}{which}"
        if name not in self._loaded:
            self._loaded[name] = load()
            self.body.add_arg(name, ty)
            self.arguments.append(BodyArgument(kind, which, ty.partition(" ")[0]))
        return self.body.args[name]

    def _field(self, arg: str, layout: StructLayout, field: str) -> Value:
        offset, kind = layout.fields[field]
        ty = {"ptr": PTR, "u64": I64}.get(kind, f"i{kind[1:]}")
        f = self._wrapper
        return f.load(ty, f.gep(f.args[arg], offset, "i8"))

    def _index(self, arg: str, layout: StructLayout, field: str) -> Value:
        return self._wrapper.zext(self._field(arg, layout, field), I64)

    def _element(self, table: str, ty: str, index: int) -> Value:
        f = self._wrapper
        pointer = self._ask_table(table)
        return f.load(ty, f.gep(pointer, i64(index), ty), bits(ty) // 8)

    def _ask_table(self, table: str) -> Value:
        key = f"table {table}"
        if key not in self._loaded:
            self._loaded[key] = self._field("dispatch", DISPATCH_STATE, table)
        return self._loaded[key]


def _read_flush_state(f: Function, target) -> tuple[Value, Value]:
    """The floating-point control word (on x86 a pointer to it) and whether it flushes denormals."""
    if target.arch == AARCH64:
        state = f.call_intrinsic("llvm.aarch64.get.fpcr", I64)
        return state, f.icmp("ne", f.and_(state, _AARCH64_FLUSH), 0)
    slot = f.alloca(I32, 1, 4)
    f.call_intrinsic("llvm.x86.sse.stmxcsr", VOID, slot)
    return slot, f.icmp("ne", f.and_(f.load(I32, slot), _X86_FLUSH), 0)


def _clear_flush(f: Function, target, state: Value) -> None:
    if target.arch == AARCH64:
        f.call_intrinsic("llvm.aarch64.set.fpcr", VOID, f.and_(state, ~_AARCH64_FLUSH))
        return
    kept = f.alloca(I32, 1, 4)
    f.store(f.and_(f.load(I32, state), ~_X86_FLUSH), kept)
    f.call_intrinsic("llvm.x86.sse.ldmxcsr", VOID, kept)


def _restore_state(f: Function, target, state: Value) -> None:
    if target.arch == AARCH64:
        f.call_intrinsic("llvm.aarch64.set.fpcr", VOID, state)
    else:
        f.call_intrinsic("llvm.x86.sse.ldmxcsr", VOID, state)


def body_symbol(symbol: str) -> str:
    """The symbol of a kernel's body."""
    return f"{symbol}.body"


def call_body(
    fn: Function, symbol: str, arguments: Sequence[BodyArgument], give: Callable[[BodyArgument], Value]
) -> None:
    """Calls the body of another object's kernel. The caller is a body too: the floating-point mode is right."""
    body = fn.module.declare(body_symbol(symbol), VOID, [argument.type for argument in arguments])
    fn.call(body, *[give(argument) for argument in arguments])
