"""A function body under construction: memory, vectors, calls and structured control flow over `Instructions`.

One lane means a scalar: `vec(1, F32)` is `float`; splat, reduce, masked loads and lane masks all accept it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from pyiree.compiler.errors import CompileError

from .control_flow import For, If, While
from .instructions import Instructions
from .values import (
    F16,
    I1,
    I64,
    PTR,
    VOID,
    Value,
    bits,
    const,
    const_vector,
    elem,
    element_bytes,
    iota,
    lanes,
    mask_of,
    poison,
    suffix,
    vec,
    zero,
)

# Workers may have small stacks; anything larger is local memory or a transient buffer.
MAX_STACK_BYTES = 16 << 10


class Declaration:
    """A function that the module calls but does not define."""

    __slots__ = ("args", "name", "ret")

    def __init__(self, name: str, ret: str, args: tuple[str, ...]):
        self.name, self.ret, self.args = name, ret, args

    @property
    def address(self) -> Value:
        return Value(f"@{self.name}", PTR)


class Function(Instructions):
    """A function body under construction: every method appends instructions to the current block."""

    def __init__(self, module, name: str, args, ret: str, linkage: str, attrs: str):
        super().__init__(module, name)
        self.ret_ty = ret
        self.label = "entry"
        self.is_open = True  # false once the current block has a terminator
        self._allocas: list[str] = []
        self._stack_bytes = 0
        self._signature: list[str] = []
        self._prefix = f"define {linkage + ' ' if linkage else ''}{ret} @{name}"
        self._attrs = attrs + " " if attrs else ""
        self.args: dict[str, Value] = {}
        for arg_name, ty in args:
            self.add_arg(arg_name, ty)

    def add_arg(self, name: str, ty: str) -> Value:
        """One more argument, after the others; ty may carry attributes ("ptr noalias readonly")."""
        self._signature.append(f"{ty} %{name}")
        value = Value(f"%{name}", ty if ty[0] == "<" else ty.split(" ", 1)[0])
        self.args[name] = value
        return value

    @property
    def address(self) -> Value:
        return Value(f"@{self.name}", PTR)

    def text(self) -> str:
        if self.is_open:
            raise ValueError(f"@{self.name} does not end in ret or unreachable")
        header = f"{self._prefix}({', '.join(self._signature)}) {self._attrs}#0 {{"
        return "\n".join([header, "entry:", *self._allocas, *self.lines, "}"])

    # -- memory

    def gep(self, base: Value, index, ty: str) -> Value:
        """The address of element `index` (a Value or int) of an array of `ty` at `base`."""
        if index.__class__ is not Value:
            index = const(index, I64)
        if index.const == 0 and lanes(index.ty) == 1:
            return base
        result = vec(lanes(index.ty), PTR)
        return self.value(result, f"getelementptr inbounds {ty}, ptr {base.ref}, {index.ty} {index.ref}", "ptr")

    def freeze(self, x: Value) -> Value:
        """The same value, of which LLVM does not ask how it was computed."""
        return self.value(x.ty, f"freeze {x.ty} {x.ref}", "frozen")

    def load(self, ty: str, pointer: Value, align: int = 0, nontemporal: bool = False) -> Value:
        """Loads `ty`; align 0 means that of one element."""
        tail = self._nontemporal() if nontemporal else ""
        return self.value(ty, f"load {ty}, ptr {pointer.ref}, align {align or element_bytes(ty)}{tail}", "load")

    def store(self, value: Value, pointer: Value, align: int = 0, nontemporal: bool = False) -> None:
        ty = value.ty
        tail = self._nontemporal() if nontemporal else ""
        self.lines.append(f"  store {ty} {value.ref}, ptr {pointer.ref}, align {align or element_bytes(ty)}{tail}")

    def _nontemporal(self) -> str:
        return f", !nontemporal {self.module.shared_metadata('!{i32 1}')}"

    def masked_load(
        self, ty: str, pointer: Value, mask: Value | None, other: Value | None = None, align: int = 0
    ) -> Value:
        """Loads the lanes whose mask bit is set; the rest are `other` (zero). Mask None is a plain load."""
        if mask is None:
            return self.load(ty, pointer, align)
        other = other or zero(ty)
        if lanes(ty) == 1:
            return self.if_else(mask, lambda: self.load(ty, pointer, align), lambda: other)
        if elem(ty) == F16:
            # Under a mask, LLVM loads and stores these lane by lane where it has instructions for words.
            words = vec(lanes(ty), "i16")
            return self.bitcast(self.masked_load(words, pointer, mask, self.bitcast(other, words), align), ty)
        name = f"llvm.masked.load.{suffix(ty)}.p0"
        self.module.declare(name, ty, ("ptr", mask.ty, ty))
        return self.value(
            ty,
            f"call {ty} @{name}(ptr align {align or element_bytes(ty)} {pointer.ref}, {mask.ty} {mask.ref}, "
            f"{ty} {other.ref})",
            "load",
        )

    def masked_store(self, value: Value, pointer: Value, mask: Value | None, align: int = 0) -> None:
        """Stores the lanes whose mask bit is set. Mask None is a plain store."""
        ty = value.ty
        if mask is None:
            self.store(value, pointer, align)
        elif lanes(ty) == 1:
            with self.if_(mask):
                self.store(value, pointer, align)
        elif elem(ty) == F16:
            self.masked_store(self.bitcast(value, vec(lanes(ty), "i16")), pointer, mask, align)
        else:
            name = f"llvm.masked.store.{suffix(ty)}.p0"
            self.module.declare(name, VOID, (ty, "ptr", mask.ty))
            self.effect(
                f"call void @{name}({ty} {value.ref}, ptr align {align or element_bytes(ty)} {pointer.ref}, "
                f"{mask.ty} {mask.ref})"
            )

    def gather(self, ty: str, pointers: Value, mask: Value | None = None, other: Value | None = None) -> Value:
        """Loads one element per lane of a pointer vector (several times slower than a plain load)."""
        if lanes(ty) == 1:
            return self.masked_load(ty, pointers, mask, other)
        mask, other = mask or const(1, mask_of(ty)), other or zero(ty)
        name = f"llvm.masked.gather.{suffix(ty)}.{suffix(pointers.ty)}"
        self.module.declare(name, ty, (pointers.ty, mask.ty, ty))
        return self.value(
            ty,
            f"call {ty} @{name}({pointers.ty} align {element_bytes(ty)} {pointers.ref}, "
            f"{mask.ty} {mask.ref}, "
            f"{ty} {other.ref})",
            "gather",
        )

    def alloca(self, ty: str, count: int = 1, align: int = 64) -> Value:
        """Stack memory for `count` of `ty`, allocated once in the entry block; small things only."""
        self._stack_bytes += count * lanes(ty) * element_bytes(ty)
        if self._stack_bytes > MAX_STACK_BYTES:
            raise CompileError(f"@{self.name} needs more than {MAX_STACK_BYTES} bytes of stack")
        self._count = n = self._count + 1
        self._allocas.append(f"  %stack.{n} = alloca {ty}, i64 {count}, align {align}")
        return Value(f"%stack.{n}", PTR)

    def memcpy(self, target: Value, source: Value, size) -> None:
        """Copies bytes between ranges that do not overlap."""
        self._memory_call("llvm.memcpy.p0.p0.i64", target, source, size)

    def memmove(self, target: Value, source: Value, size) -> None:
        self._memory_call("llvm.memmove.p0.p0.i64", target, source, size)

    def memset(self, target: Value, byte, size) -> None:
        byte = byte if byte.__class__ is Value else const(byte, "i8")
        self._memory_call("llvm.memset.p0.i64", target, byte, size)

    def _memory_call(self, name: str, target: Value, operand: Value, size) -> None:
        size = size if size.__class__ is Value else const(size, I64)
        self.call_intrinsic(name, VOID, target, operand, size, const(0, I1))

    def prefetch(self, pointer: Value, write: bool = False, locality: int = 3) -> None:
        args = [const(n, "i32") for n in (int(write), locality, 1)]
        self.call_intrinsic("llvm.prefetch.p0", VOID, pointer, *args)

    # -- vectors

    def splat(self, x: Value, count: int) -> Value:
        """The scalar in `count` lanes."""
        if count == 1:
            return x
        ty = vec(count, x.ty)
        if x.is_constant and x.ref[0] != "@":
            return zero(ty) if x.ref == "zeroinitializer" else Value(f"splat ({x.ty} {x.ref})", ty, x.const)
        one = self.value(ty, f"insertelement {ty} poison, {x.ty} {x.ref}, i64 0", "splat")
        return self.value(ty, f"shufflevector {ty} {one.ref}, {ty} poison, <{count} x i32> zeroinitializer", "splat")

    def shuffle(self, x: Value, y: Value | None, indices: Sequence[int]) -> Value:
        """Lanes of x, then of y, picked by index (-1: don't care)."""
        y = y or poison(x.ty)
        picks = ", ".join(["i32 poison" if k < 0 else f"i32 {k}" for k in indices])
        count = len(indices)
        result = f"<{count} x {elem(x.ty)}>"
        vector = self.value(
            result, f"shufflevector {x.ty} {x.ref}, {y.ty} {y.ref}, <{count} x i32> <{picks}>", "shuffle"
        )
        return self.extract(vector, 0) if count == 1 else vector

    def slice(self, x: Value, start: int, count: int) -> Value:
        """`count` lanes from `start`."""
        if count == 1:
            return self.extract(x, start)
        return x if count == x.lanes else self.shuffle(x, None, range(start, start + count))

    def concat(self, x: Value, y: Value) -> Value:
        """The lanes of x followed by those of y (equal types, at least two lanes)."""
        return self.shuffle(x, y, range(2 * x.lanes))

    def extract(self, x: Value, lane) -> Value:
        """One lane as a scalar; of a scalar, itself. A constant vector lane reads element `lane` (a Value
        or int)."""
        if x.ty[0] != "<":
            return x
        lane = lane if lane.__class__ is Value else const(lane, I64)
        return self.value(elem(x.ty), f"extractelement {x.ty} {x.ref}, {lane.ty} {lane.ref}", "lane")

    def insert(self, x: Value, scalar: Value, lane) -> Value:
        if x.ty[0] != "<":
            return scalar
        lane = lane if lane.__class__ is Value else const(lane, I64)
        return self.value(
            x.ty, f"insertelement {x.ty} {x.ref}, {scalar.ty} {scalar.ref}, {lane.ty} {lane.ref}", "insert"
        )

    def lane_mask(self, count: int, valid: Value) -> Value:
        """lane < valid for `count` lanes: the mask of a tail. `valid` may exceed `count`; it must not be
        negative."""
        if valid.const is not None:
            return const_vector([lane < valid.const for lane in range(count)], I1)
        valid = self.trunc(self.umin(valid, count), "i32") if bits(valid.ty) > 32 else valid
        return self.icmp("ult", iota(count, valid.ty), self.splat(valid, count))

    def reduce(self, op: str, x: Value, flags: str = "") -> Value:
        """Combines the lanes into a scalar. op: add mul and or xor smin smax umin umax fadd fmul fmin fmax
        fminimum fmaximum. fadd and fmul go lane by lane in order unless flags is "reassoc"."""
        if x.ty[0] != "<":
            return x
        ty = elem(x.ty)
        name = f"llvm.vector.reduce.{op}.{suffix(x.ty)}"
        if op in ("fadd", "fmul"):
            start = const(-0.0 if op == "fadd" else 1.0, ty)
            return self.call_intrinsic(name, ty, start, x, flags=flags)
        return self.call_intrinsic(name, ty, x, flags=flags)

    def any(self, mask: Value) -> Value:
        """True when some lane of a mask is set."""
        return self.reduce("or", mask)

    def all(self, mask: Value) -> Value:
        return self.reduce("and", mask)

    # -- calls

    def call(self, callee: Function | Declaration, *args: Value) -> Value:
        return self._call(callee.name, callee.ret_ty if isinstance(callee, Function) else callee.ret, args)

    def call_pointer(self, pointer: Value, ret: str, *args: Value) -> Value:
        """Calls through a function pointer."""
        return self._call(pointer.ref, ret, args)

    # -- control flow

    def for_(self, start, stop, step=1, carried: Iterable[Value] = (), name: str = "i", unroll: bool = True) -> For:
        """`with f.for_(0, n, 16, carried=[acc], name="k") as loop:` runs for index in range(start, stop,
        step).

        loop.index is the induction variable, loop.carried the values of this iteration; loop.yield_(...)
        hands on the
        next ones; after the statement loop.results are the last. The comparison is signed, step positive.
        With known
        bounds the guard, or the whole loop, is left out. unroll=False tells the O2 pipeline to keep its
        hands off.
        """
        bounds = [b for b in (start, stop, step) if b.__class__ is Value]
        ty = bounds[0].ty if bounds else I64
        start, stop, step = (b if b.__class__ is Value else const(b, ty) for b in (start, stop, step))
        metadata = "" if unroll else self.module.loop_metadata("llvm.loop.unroll.disable")
        return For(self, start, stop, step, carried, name, metadata)

    def while_(self, carried: Iterable[Value] = (), name: str = "while") -> While:
        """`with f.while_([x]) as loop:` test with loop.carried, call loop.condition(c), then the body and
        yield_."""
        return While(self, carried, name, "")

    def if_(self, condition: Value, likely: bool | None = None, name: str = "if") -> If:
        """`with f.if_(c):` runs the body when c (i1) holds."""
        return If(self, condition, name, self._weights(likely))

    def if_else(
        self,
        condition: Value,
        then: Callable[[], Value | Sequence[Value] | None],
        otherwise: Callable[[], Value | Sequence[Value] | None],
        likely: bool | None = None,
        name: str = "if",
    ):
        """Emits both sides by calling them; gives what they return (None, a value or a list), joined by
        phis."""
        yes, no, join = (self.new_label(f"{name}.{part}") for part in ("then", "else", "end"))
        self.cond_br(condition, yes, no, self._weights(likely))
        self.block(yes)
        first = then()
        first_end = self.label
        self.br(join)
        self.block(no)
        second = otherwise()
        second_end = self.label
        self.br(join)
        self.block(join)
        if first is None:
            return None
        if isinstance(first, Value):
            return self.phi([(first, first_end), (second, second_end)])
        return [self.phi([(a, first_end), (b, second_end)]) for a, b in zip(first, second, strict=True)]

    def switch(
        self,
        number: Value,
        cases: Mapping[int, Callable[[], Sequence[Value]]],
        default: Callable[[], Sequence[Value]],
    ) -> list[Value]:
        """Emits what is done for each number, and for others; gives what they return, joined by phis."""
        other, join = self.new_label("switch.default"), self.new_label("switch.end")
        labels = {case: self.new_label("switch.case") for case in cases}
        targets = " ".join([f"{number.ty} {case}, label %{label}" for case, label in labels.items()])
        self._end(f"switch {number.ty} {number.ref}, label %{other} [ {targets} ]")
        results, ends = [], []
        for label, emit in [*zip(labels.values(), cases.values()), (other, default)]:
            self.block(label)
            results.append(emit())
            ends.append(self.label)
            self.br(join)
        self.block(join)
        return [self.phi(list(zip(values, ends))) for values in zip(*results, strict=True)]

    def _weights(self, likely: bool | None) -> str:
        if likely is None:
            return ""
        odds = "i32 100000, i32 1" if likely else "i32 1, i32 100000"
        node = self.module.shared_metadata(f'!{{!"branch_weights", {odds}}}')
        return f", !prof {node}"

    def new_label(self, hint: str) -> str:
        self._count += 1
        return f"{hint}.{self._count}"

    def block(self, label: str) -> None:
        """Starts a block."""
        self.lines.append(f"{label}:")
        self.label = label
        self.is_open = True

    def br(self, label: str, metadata: str = "") -> None:
        self._end(f"br label %{label}{metadata}")

    def cond_br(self, condition: Value, yes: str, no: str, metadata: str = "") -> None:
        self._end(f"br i1 {condition.ref}, label %{yes}, label %{no}{metadata}")

    def phi(self, incoming: Sequence[tuple[Value, str]], hint: str = "phi") -> Value:
        """Joins (value, label of the block it comes from); only at the start of a block."""
        ty = incoming[0][0].ty
        if any(v.ty != ty for v, _ in incoming):
            raise TypeError(f"a phi in @{self.name} joins {', '.join(v.ty for v, _ in incoming)}")
        pairs = ", ".join([f"[ {v.ref}, %{label} ]" for v, label in incoming])
        return self.value(ty, f"phi {ty} {pairs}", hint)

    def ret(self, value: Value | None = None) -> None:
        self._end("ret void" if value is None else f"ret {value.ty} {value.ref}")

    def unreachable(self) -> None:
        self._end("unreachable")

    def _end(self, text: str) -> None:
        self.effect(text)
        self.is_open = False
