"""Loop IR: what a kernel computes, as loops, vectors and memory, before LLVM.

Enters: calls of a `KernelBuilder` by the strategies. Leaves: a `KernelFunction`, which prints as text (phase
"kernel") and which `lower_loops` writes as LLVM IR.

The IR is structured SSA. A value is a scalar or a vector of `lanes` elements; one lane is the scalar. The op
names of arithmetic are those of the arith and math dialects; the rest is memory, lanes and control flow:

    for %i = 0 to 64 step 16 carry(%a = %zero) { ... yield %b }     if %c { ... }
    load %in[%i + 16] mask %m else %z     store %v, %out[%i] mask %m     gather %in[%ids + 3] mask %m
    prefetch %in[%i + 64]                 stream %v, %out[%i]
    repeat carry(%a = %x) { ... yield %b while %c }     const splat shuffle lane_mask first_lane reduce extract

Pure ops are placed when they are built: in the outermost block where their operands exist (which hoists loop
invariants), and once (equal ops with equal operands are one value). `finish` drops what nothing uses.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from .target import MOST_LOCAL_BYTES

if TYPE_CHECKING:
    import numpy as np

SMALL_FLOATS = (
    "f8E5M2", "f8E4M3", "f8E3M4", "f8E4M3FN", "f8E5M2FNUZ", "f8E4M3FNUZ", "f8E4M3B11FNUZ", "f8E8M0FNU", "f6E2M3FN",
    "f6E3M2FN", "f4E2M1FN",
)  # fmt: skip
ELEMENT_BITS = {
    "i1": 1, "i2": 2, "i4": 4, "i6": 6, "i8": 8, "i16": 16, "i32": 32, "i64": 64,
    "f16": 16, "bf16": 16, "f32": 32, "f64": 64,
    **dict.fromkeys(SMALL_FLOATS, 8),
}  # fmt: skip
FLOATS = frozenset({"f16", "bf16", "f32", "f64", *SMALL_FLOATS})


class Type:
    """`lanes` elements of one kind; interned, so equal types are one object."""

    __slots__ = ("elem", "lanes")

    def __init__(self, elem: str, lanes: int):
        self.elem = elem
        self.lanes = lanes

    def __repr__(self) -> str:
        return self.elem if self.lanes == 1 else f"{self.lanes}x{self.elem}"

    def with_elem(self, elem: str) -> Type:
        return vector(elem, self.lanes)

    @property
    def is_float(self) -> bool:
        return self.elem in FLOATS

    @property
    def bits(self) -> int:
        return ELEMENT_BITS[self.elem]


def vector(elem: str, lanes: int = 1) -> Type:
    """The type of `lanes` elements; the only place where types are made."""
    found = _types.get((elem, lanes))
    if found is None:
        if elem not in ELEMENT_BITS:
            raise ValueError(f"kernels have no element type {elem!r}")
        found = _types.setdefault((elem, lanes), Type(elem, lanes))
    return found


_types: dict[tuple[str, int], Type] = {}

INDEX = vector("i64")
BOOL = vector("i1")


def storage_bytes(elem: str) -> int:
    """Bytes of one element in memory; one of less than a byte takes a whole one."""
    return max(ELEMENT_BITS[elem], 8) // 8


class Value:
    """A result of an op, a loop's index or a carried value. `level` is the depth of the block that has it."""

    __slots__ = ("const", "level", "op", "type")

    def __init__(self, type: Type, op: Op | None, level: int, const=None):
        self.type = type
        self.op = op
        self.level = level
        self.const = const

    @property
    def lanes(self) -> int:
        return self.type.lanes


class Buffer:
    """Memory that a kernel reads or writes: a binding of the dispatch, workgroup local memory, or a table.

    For a binding `number` is its place in the dispatch and `byte_offset` (an int or a scalar Value) where the
    data begins; for local memory `byte_offset` is its place there. A table has its bytes in `data`. Whole vectors go
    to a `streamed` buffer past the caches.
    """

    __slots__ = ("byte_offset", "data", "elem", "name", "number", "space", "streamed", "writable")

    def __init__(
        self, name: str, elem: str, space: str, number: int, byte_offset, writable: bool, data: bytes | None = None
    ):
        self.name, self.elem, self.space, self.number = name, elem, space, number
        self.byte_offset = byte_offset
        self.writable = writable
        self.streamed = False
        self.data = data


class Op:
    """One operation. `attrs` is hashable; `body` is set on for and if."""

    __slots__ = ("attrs", "body", "name", "operands", "results")

    def __init__(self, name: str, operands: tuple, attrs=None, body: Block | None = None):
        self.name = name
        self.operands = operands
        self.attrs = attrs
        self.results: list[Value] = []
        self.body = body


class Block:
    """A straight list of ops: the kernel's own, or a loop's or an if's."""

    __slots__ = ("args", "hoist", "ops", "table", "yields")

    def __init__(self, hoist: str):
        self.ops: list[Op] = []
        self.args: list[Value] = []
        self.yields: tuple[Value, ...] = ()
        self.table: dict = {}
        self.hoist = hoist  # what may move out: "all", "speculatable" (may run zero times), "none" (an if)


# Ops that must not run where the program would not have run them: they may trap or touch memory.
_PINNED = frozenset({
    "load", "gather", "arith.divsi", "arith.divui", "arith.remsi", "arith.remui",
    "arith.ceildivsi", "arith.ceildivui", "arith.floordivsi",
})  # fmt: skip


class Loop:
    """The handle of a loop under construction, and a context manager."""

    __slots__ = ("_block", "_builder", "_op", "carried", "index", "results")

    def __init__(self, builder: KernelBuilder, op: Op, block: Block):
        self._builder, self._op, self._block = builder, op, block
        self.index: Value = None
        self.carried: list[Value] = []
        self.results: list[Value] = []

    def __enter__(self) -> Loop:
        level = self._builder._push(self._block)
        self.index = Value(INDEX, None, level)
        self.carried = [Value(v.type, None, level) for v in self._op.operands[2:]]
        self._block.args = [self.index, *self.carried]
        return self

    def yield_(self, *values: Value) -> None:
        """The carried values of the next iteration."""
        expected = [v.type for v in self.carried]
        if [v.type for v in values] != expected:
            raise TypeError(f"loop carries {expected} but yields {[v.type for v in values]}")
        self._block.yields = values

    def __exit__(self, kind, error, trace) -> None:
        if kind is None:
            self._builder._pop()
            if len(self._block.yields) != len(self.carried):
                raise TypeError("loop carries values but yields none")
            self.results = self._builder._append(self._op, [v.type for v in self.carried])


class Repeat:
    """The handle of a loop that runs once and then while a condition of its last iteration holds."""

    __slots__ = ("_block", "_builder", "_op", "carried", "results")

    def __init__(self, builder: KernelBuilder, op: Op, block: Block):
        self._builder, self._op, self._block = builder, op, block
        self.carried: list[Value] = []
        self.results: list[Value] = []

    def __enter__(self) -> Repeat:
        level = self._builder._push(self._block)
        self.carried = [Value(v.type, None, level) for v in self._op.operands]
        self._block.args = list(self.carried)
        return self

    def yield_(self, condition: Value, *values: Value) -> None:
        """The carried values, and whether there is another iteration."""
        if [v.type for v in values] != [v.type for v in self.carried]:
            raise TypeError("a repeated block yields other types than it carries")
        self._block.yields = (condition, *values)

    def __exit__(self, kind, error, trace) -> None:
        if kind is None:
            self._builder._pop()
            self.results = self._builder._append(self._op, [v.type for v in self.carried])


class If:
    """The handle of a guarded block, a context manager."""

    __slots__ = ("_block", "_builder", "_op")

    def __init__(self, builder: KernelBuilder, op: Op, block: Block):
        self._builder, self._op, self._block = builder, op, block

    def __enter__(self) -> If:
        self._builder._push(self._block)
        return self

    def __exit__(self, kind, error, trace) -> None:
        if kind is None:
            self._builder._pop()
            self._builder._append(self._op, [])


class KernelFunction:
    """A finished kernel: its buffers, its body, and how much workgroup local memory it wants."""

    def __init__(self, name: str, buffers: Sequence[Buffer], body: Block, local_bytes: int):
        self.name = name
        self.buffers = list(buffers)
        self.body = body
        self.local_bytes = local_bytes


class KernelBuilder:
    """Builds one kernel. Every method places its op; index arithmetic takes and folds Python ints."""

    def __init__(self, name: str):
        self.name = name
        self.buffers: list[Buffer] = []
        self.local_bytes = 0
        self._stack = [Block("none")]

    # -- blocks and placing

    @property
    def current(self) -> Block:
        """The innermost open block."""
        return self._stack[-1]

    def _push(self, block: Block) -> int:
        self._stack.append(block)
        return len(self._stack) - 1

    def _pop(self) -> None:
        self._stack.pop()

    def _append(self, op: Op, types: Iterable[Type]) -> list[Value]:
        level = len(self._stack) - 1
        op.results = [Value(t, op, level) for t in types]
        self._stack[level].ops.append(op)
        return op.results

    def _place(self, operands: tuple, pinned: bool) -> int:
        """The outermost level where the operands exist and the op may run."""
        lowest = 0
        for value in operands:
            if value.level > lowest:
                lowest = value.level
        level = len(self._stack) - 1
        while level > lowest:
            hoist = self._stack[level].hoist
            if hoist == "none" or (pinned and hoist != "all"):
                break
            level -= 1
        return level

    def op(self, name: str, operands: Sequence[Value], type: Type, attrs=None) -> Value:
        """A pure op. The same op on the same operands, where it is still in reach, is not built again."""
        operands = tuple(operands)
        key = (name, operands, type, attrs)
        for block in self._stack:
            found = block.table.get(key)
            if found is not None:
                return found
        level = self._place(operands, name in _PINNED)
        op = Op(name, operands, attrs)
        value = Value(type, op, level)
        op.results = [value]
        block = self._stack[level]
        block.ops.append(op)
        block.table[key] = value
        return value

    def stand_in(self, type: Type) -> Value:
        """A value that nothing computes, for a survey; it must not be used by what is kept."""
        return Value(type, None, 0)

    # -- constants

    def const(self, value, type: Type) -> Value:
        """A number in every lane. Integers wrap to the width; floats are kept as Python floats."""
        if type.is_float:
            value = float(value)
            key = struct.pack("<d", value)
        else:
            value = _wrap(int(value), type.bits)
            key = value
        table = self._stack[0].table
        found = table.get(("const", key, type))
        if found is None:
            op = Op("const", (), value)
            found = Value(type, op, 0, value)
            op.results = [found]
            self._stack[0].ops.append(op)
            table[("const", key, type)] = found
        return found

    def index(self, value: int | Value) -> Value:
        return value if value.__class__ is Value else self.const(value, INDEX)

    def const_vector(self, values: Sequence, elem: str) -> Value:
        """A constant with a number per lane."""
        if len(values) == 1:
            return self.const(values[0], vector(elem))
        return self.op("const_vector", (), vector(elem, len(values)), tuple(values))

    # -- index arithmetic: ints stay ints

    def add(self, x: int | Value, y: int | Value) -> int | Value:
        x, y = _fold(x), _fold(y)
        if x.__class__ is int:
            if y.__class__ is int:
                return x + y
            x, y = y, x
        if y.__class__ is int and y == 0:
            return x
        return self.op("arith.addi", (x, self.index(y)), INDEX)

    def sub(self, x: int | Value, y: int | Value) -> int | Value:
        x, y = _fold(x), _fold(y)
        if y.__class__ is int:
            return self.add(x, -y)
        return self.op("arith.subi", (self.index(x), y), INDEX)

    def mul(self, x: int | Value, y: int | Value) -> int | Value:
        x, y = _fold(x), _fold(y)
        if x.__class__ is int:
            if y.__class__ is int:
                return x * y
            x, y = y, x
        if y.__class__ is int and y in (0, 1):
            return x if y else 0
        return self.op("arith.muli", (x, self.index(y)), INDEX)

    def div(self, x: int | Value, y: int | Value) -> int | Value:
        """Quotient of two non-negative indices."""
        x, y = _fold(x), _fold(y)
        if x.__class__ is int and y.__class__ is int:
            return x // y
        return x if y.__class__ is int and y == 1 else self.op("arith.divui", (self.index(x), self.index(y)), INDEX)

    def rem(self, x: int | Value, y: int | Value) -> int | Value:
        x, y = _fold(x), _fold(y)
        if x.__class__ is int and y.__class__ is int:
            return x % y
        return 0 if y.__class__ is int and y == 1 else self.op("arith.remui", (self.index(x), self.index(y)), INDEX)

    def ceildiv(self, x: int | Value, y: int) -> int | Value:
        return self.div(self.add(x, y - 1), y)

    def round_down(self, x: int | Value, multiple: int) -> int | Value:
        """x rounded down to a multiple of a power of two or any other positive int."""
        x = _fold(x)
        if x.__class__ is int:
            return x - x % multiple
        if multiple & (multiple - 1) == 0:
            return self.op("arith.andi", (x, self.const(-multiple, INDEX)), INDEX)
        return self.mul(self.div(x, multiple), multiple)

    def min(self, x: int | Value, y: int | Value) -> int | Value:
        x, y = _fold(x), _fold(y)
        if x.__class__ is int and y.__class__ is int:
            return min(x, y)
        return self.op("arith.minsi", (self.index(x), self.index(y)), INDEX)

    def max(self, x: int | Value, y: int | Value) -> int | Value:
        x, y = _fold(x), _fold(y)
        if x.__class__ is int and y.__class__ is int:
            return max(x, y)
        return self.op("arith.maxsi", (self.index(x), self.index(y)), INDEX)

    # -- lanes

    def splat(self, x: Value, lanes: int) -> Value:
        """The scalar in every lane; a vector of that many lanes stays as it is."""
        if x.type.lanes == lanes:
            return x
        if x.const is not None:
            return self.const(x.const, vector(x.type.elem, lanes))
        return self.op("splat", (x,), vector(x.type.elem, lanes))

    def lane_mask(self, lanes: int, valid: int | Value) -> Value:
        """lane < valid, for a non-negative `valid`."""
        valid = _fold(valid)
        if valid.__class__ is int:
            return self.const_vector([lane < valid for lane in range(lanes)], "i1")
        return self.op("lane_mask", (valid,), vector("i1", lanes))

    def shuffle(self, x: Value, y: Value, lanes: Sequence[int]) -> Value:
        """Lanes picked from x, then y, by number."""
        return self.op("shuffle", (x, y), vector(x.type.elem, len(lanes)), tuple(lanes))

    def extract(self, x: Value, lane: int) -> Value:
        return x if x.lanes == 1 else self.op("extract", (x,), vector(x.type.elem), lane)

    def insert(self, x: Value, scalar: Value, lane: int) -> Value:
        return self.op("insert", (x, scalar), x.type, lane)

    def reduce(self, kind: str, x: Value) -> Value:
        """All lanes combined into a scalar, in any order. kind: an arith op such as arith.addf."""
        return x if x.lanes == 1 else self.op("reduce", (x,), vector(x.type.elem), kind)

    def first_lane(self, mask: Value) -> Value:
        """The number of the first lane that is set, or of the lanes if none is."""
        return self.op("first_lane", (mask,), INDEX)

    def select(self, condition: Value, x: Value, y: Value) -> Value:
        if condition.const is not None:
            return x if condition.const else y
        return x if x is y else self.op("arith.select", (condition, x, y), x.type)

    def and_(self, x: Value | None, y: Value | None) -> Value | None:
        """Both masks; None is the mask with every lane set."""
        if x is None or y is None or x is y:
            return y if x is None else x
        return self.op("arith.andi", (x, y), x.type)

    # -- memory: an address is element `base + offset` of a buffer, offset an int

    def load(
        self,
        buffer: Buffer,
        base: int | Value,
        offset: int,
        lanes: int,
        mask: Value | None = None,
        other: Value | None = None,
    ) -> Value:
        """Consecutive elements. Masked-off lanes give `other`, or zero."""
        base, offset = self._address(base, offset)
        type = vector(buffer.elem, lanes)
        operands = (base,) if mask is None else (base, mask, other if other is not None else self.const(0, type))
        if buffer.writable:
            return self._append(Op("load", operands, (buffer, offset)), [type])[0]
        return self.op("load", operands, type, (buffer, offset))

    def gather(
        self, buffer: Buffer, indices: Value, offset: int, mask: Value | None = None, other: Value | None = None
    ) -> Value:
        """One element per lane of `indices` (a vector of i64)."""
        type = vector(buffer.elem, indices.lanes)
        operands = (indices,) if mask is None else (indices, mask, other if other is not None else self.const(0, type))
        if buffer.writable:
            return self._append(Op("gather", operands, (buffer, offset)), [type])[0]
        return self.op("gather", operands, type, (buffer, offset))

    def store(
        self, value: Value, buffer: Buffer, base: int | Value, offset: int = 0, mask: Value | None = None
    ) -> None:
        base, offset = self._address(base, offset)
        if mask is None:
            self._append(Op("stream" if buffer.streamed else "store", (value, base), (buffer, offset)), [])
        else:
            self._append(Op("store", (value, base, mask), (buffer, offset)), [])

    def prefetch(self, buffer: Buffer, base: int | Value, offset: int, near: bool = True) -> None:
        """Asks for the line of an element that will be read soon, or only later: then it should come as near as the
        second-level cache. The address may be outside of the buffer."""
        base, offset = self._address(base, offset)
        self._append(Op("prefetch" if near else "prefetch.far", (base,), (buffer, offset)), [])

    def scatter(self, value: Value, buffer: Buffer, indices: Value, offset: int = 0, mask: Value | None = None) -> None:
        """Stores one element per lane, lower lanes first."""
        self._append(Op("scatter", (value, indices) if mask is None else (value, indices, mask), (buffer, offset)), [])

    def _address(self, base: int | Value, offset: int) -> tuple[Value, int]:
        base = _fold(base)
        if base.__class__ is int:
            return self.const(0, INDEX), base + offset
        return base, offset

    def binding(self, name: str, elem: str, number: int, byte_offset, writable: bool) -> Buffer:
        buffer = Buffer(name, elem, "binding", number, byte_offset, writable)
        self.buffers.append(buffer)
        return buffer

    def local(self, name: str, elem: str, count: int) -> Buffer:
        """`count` elements of workgroup local memory, 64-byte aligned."""
        size = -(-count * storage_bytes(elem) // 64) * 64
        if self.local_bytes + size > MOST_LOCAL_BYTES:
            raise MemoryError(f"kernel {self.name} wants more than {MOST_LOCAL_BYTES} bytes of local memory")
        buffer = Buffer(name, elem, "local", -1, self.local_bytes, True)
        self.local_bytes += size
        self.buffers.append(buffer)
        return buffer

    def table(self, name: str, elem: str, values: np.ndarray) -> Buffer:
        """Numbers in read-only memory of the kernel."""
        number = sum(buffer.space == "table" for buffer in self.buffers)
        data = values.astype({"f32": "<f4", "f64": "<f8"}[elem]).tobytes()
        buffer = Buffer(f"{name}{number}", elem, "table", number, 0, False, data)
        self.buffers.append(buffer)
        return buffer

    def constant_word(self, number: int) -> Value:
        """Push constant `number` of the dispatch, 32 bits."""
        return self.op("constant_word", (), vector("i32"), number)

    def workgroup_id(self) -> Value:
        """The number of this workgroup along x; kernels use one dimension."""
        return self.op("workgroup_id", (), INDEX)

    # -- control flow

    def for_(
        self,
        start: int | Value,
        stop: int | Value,
        step: int = 1,
        carried: Sequence[Value] = (),
        covered: bool = False,
    ) -> Loop:
        """`with b.for_(0, n, 16, carried=[acc]) as loop:`; loop.index, loop.carried, loop.yield_, loop.results.

        `covered` says that what the body reads is there even if this loop runs zero times, because it and its
        siblings (main loop and tail) together run at least once: then its invariant loads move out of it.
        """
        start, stop = _fold(start), _fold(stop)
        runs = covered or (start.__class__ is int and stop.__class__ is int and start < stop)
        block = Block("all" if runs else "speculatable")
        op = Op("for", (self.index(start), self.index(stop), *carried), step, block)
        return Loop(self, op, block)

    def repeat(self, carried: Sequence[Value]) -> Repeat:
        """`with b.repeat([x]) as loop: … loop.yield_(again, y)`: runs the body, and again while `again` holds."""
        block = Block("all")
        return Repeat(self, Op("repeat", tuple(carried), None, block), block)

    def if_(self, condition: Value) -> If:
        block = Block("none")
        return If(self, Op("if", (condition,), None, block), block)

    def finish(self) -> KernelFunction:
        """The kernel without the ops that nothing uses."""
        if len(self._stack) != 1:
            raise ValueError(f"kernel {self.name} has an open block")
        _drop_unused(self._stack[0], {b.byte_offset for b in self.buffers if b.byte_offset.__class__ is Value})
        return KernelFunction(self.name, self.buffers, self._stack[0], self.local_bytes)


def _fold(x: int | Value) -> int | Value:
    """The int of a constant scalar."""
    return x.const if x.__class__ is Value and x.const is not None else x


def _wrap(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if bits > 1 and value >> (bits - 1) else value


_EFFECTS = frozenset({"store", "stream", "scatter", "prefetch", "prefetch.far"})


def _drop_unused(block: Block, used: set) -> None:
    """Removes ops whose results nobody reads and which store nothing, last first."""
    kept = []
    used.update(block.yields)
    for op in reversed(block.ops):
        if not any(r in used for r in op.results) and not _has_effect(op):
            continue
        used.update(op.operands)
        if op.body is not None:
            _drop_unused(op.body, used)
        kept.append(op)
    kept.reverse()
    block.ops = kept


def _has_effect(op: Op) -> bool:
    return op.name in _EFFECTS or (op.body is not None and any(_has_effect(o) for o in op.body.ops))
