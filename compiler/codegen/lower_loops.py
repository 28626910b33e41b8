"""Writes a kernel's loop IR as LLVM IR.

Enters: a `KernelFunction` and the `llvm.kernel.Kernel` that it becomes. Leaves: instructions appended to the kernel's
body. Bools are bytes in memory and i1 in registers; addresses assume the alignment of one element.
"""

from __future__ import annotations

from collections import Counter

from ..ir.floats import float_to_bits
from .division import Divisor, is_worth_replacing
from .llvm import values as lv
from .llvm.kernel import Kernel
from .llvm.pairs import emit_dot2
from .loops import ELEMENT_BITS, Block, Buffer, KernelFunction, Op, Value, vector
from .scalar_ops import FLOATS_AS_BITS, emit_scalar_op, llvm_storage, llvm_type
from .target import Target


def lower_kernel(loops: KernelFunction, kernel: Kernel, target: Target) -> None:
    """Appends the body, without the return."""
    _Lowering(loops, kernel, target).run()


_REDUCTIONS = {
    "arith.addf": "fadd", "arith.mulf": "fmul", "arith.addi": "add", "arith.muli": "mul", "arith.andi": "and",
    "arith.ori": "or", "arith.xori": "xor", "arith.maxsi": "smax", "arith.minsi": "smin", "arith.maxui": "umax",
    "arith.minui": "umin", "maxnum": "fmax", "minnum": "fmin",
}  # fmt: skip

# A sum's order is free; an extremum is taken of lanes whose NaNs are known apart.
_REDUCTION_FLAGS = {"fadd": "reassoc", "fmul": "reassoc", "fmax": "nnan nsz", "fmin": "nnan nsz"}


# Rounds of a loop for which it pays to make something ready.
_ROUNDS = 4
# Loads and stores at one address, with different offsets, that LLVM's loop passes had better not look at one by one.
_MANY_OFFSETS = 16


class _Lowering:
    def __init__(self, loops: KernelFunction, kernel: Kernel, target: Target):
        self.loops, self.kernel, self.target = loops, kernel, target
        self.fn = kernel.body
        self._values: dict[Value, lv.Value] = {}
        self._pointers: dict[Buffer, lv.Value] = {}
        self._streams = False
        #: What the loops around the place at hand divide by.
        self._divisors: dict[Value, Divisor] = {}
        #: Addresses of elements in the blocks around the place at hand. LLVM's code generator, which runs without
        #: the middle end, takes each instruction as it is: one address with many offsets, not many addresses.
        self._elements: dict[tuple[Buffer, Value], lv.Value] = {}
        #: How often the block at hand loads from and stores to each of its addresses.
        self._uses: Counter[tuple[Buffer, Value]] = Counter()

    def run(self) -> None:
        for buffer in self.loops.buffers:
            if buffer.byte_offset.__class__ is int:
                self._pointer(buffer)
        self._block(self.loops.body)
        if self._streams:
            # Such stores may be seen late by other threads, which is why their order is restored here.
            self.fn.call_intrinsic("llvm.x86.sse.sfence", lv.VOID)

    def _pointer(self, buffer: Buffer) -> lv.Value:
        """Where a buffer's data starts. One with a computed offset is reached after that is known, at the top."""
        found = self._pointers.get(buffer)
        if found is None:
            if buffer.space == "local":
                base = self.kernel.local_memory()
            elif buffer.data is not None:
                base = self.kernel.table(buffer.name, buffer.data)
            else:
                base = self.kernel.binding(buffer.number, self._binding_attributes(buffer.number))
            offset = buffer.byte_offset
            offset = lv.i64(offset) if offset.__class__ is int else self._value(offset)
            found = self._pointers[buffer] = self.fn.gep(base, offset, lv.I8)
        return found

    def _binding_attributes(self, number: int) -> str:
        """No two bindings of a dispatch overlap where one of them is written."""
        written = any(b.writable for b in self.loops.buffers if b.space == "binding" and b.number == number)
        return "noalias" if written else "noalias readonly"

    def _value(self, value: Value) -> lv.Value:
        found = self._values.get(value)
        if found is None:
            if value.const is None:
                raise ValueError(f"kernel {self.loops.name} uses a value before it is computed")
            number = value.const
            if value.type.elem in FLOATS_AS_BITS:
                number = float_to_bits(number, value.type.elem)
            found = self._values[value] = lv.const(number, llvm_type(value.type))
        return found

    def _block(self, block: Block) -> None:
        dynamic = [b for b in self.loops.buffers if b.byte_offset.__class__ is not int]
        outer, self._elements = self._elements, self._elements.copy()
        outer_uses, self._uses = self._uses, _address_uses(block)
        for op in block.ops:
            name = op.name
            if name == "const":
                continue
            handler = _HANDLERS.get(name)
            if handler is not None:
                handler(self, op)
            elif name == "arith.divf" and op.operands[1] in self._divisors:
                divisor = self._divisors[op.operands[1]]
                self._values[op.results[0]] = divisor.divide(self.fn, self._value(op.operands[0]))
            else:
                operands = [self._value(v) for v in op.operands]
                result = op.results[0]
                types = [v.type for v in op.operands]
                self._values[result] = emit_scalar_op(
                    self.fn, self.target, name, operands, result.type, op.attrs, types
                )
            for buffer in dynamic:
                if op.results and buffer.byte_offset is op.results[0]:
                    self._pointer(buffer)
        self._elements, self._uses = outer, outer_uses

    # -- memory

    def _address(self, op: Op, base: Value) -> lv.Value:
        buffer, offset = op.attrs
        storage = llvm_storage(buffer.elem)
        pointer = self._pointer(buffer)
        if base.const is not None:
            return self.fn.gep(pointer, base.const + offset, storage)
        element = self._elements.get((buffer, base))
        if element is None:
            element = self.fn.gep(pointer, self._value(base), storage)
            if self._uses[buffer, base] >= _MANY_OFFSETS:
                # Loop strength reduction weighs every use of what a loop counts, a third of LLVM's time where a tile
                # is written out; a frozen address is none.
                element = self.fn.freeze(element)
            self._elements[buffer, base] = element
        pointer = element
        if lv.lanes(pointer.ty) == 1:
            return self.fn.gep(pointer, offset, storage)
        return pointer

    def _loaded(self, op: Op, value: lv.Value) -> None:
        elem = op.results[0].type.elem
        if elem == "i1":
            value = self.fn.icmp("ne", value, 0)
        elif ELEMENT_BITS[elem] < 8:
            value = self.fn.trunc(value, elem)
        self._values[op.results[0]] = value

    def _mask_and_other(self, op: Op) -> tuple[lv.Value | None, lv.Value | None]:
        if len(op.operands) == 1:
            return None, None
        other = self._value(op.operands[2])
        if op.results[0].type.bits < 8:
            other = self.fn.zext(other, lv.I8)
        return self._value(op.operands[1]), other

    def load(self, op: Op) -> None:
        type = op.results[0].type
        storage = lv.vec(type.lanes, llvm_storage(type.elem))
        mask, other = self._mask_and_other(op)
        self._loaded(op, self.fn.masked_load(storage, self._address(op, op.operands[0]), mask, other))

    def gather(self, op: Op) -> None:
        type = op.results[0].type
        storage = llvm_storage(type.elem)
        mask, other = self._mask_and_other(op)
        buffer, offset = op.attrs
        base = self.fn.gep(self._pointer(buffer), offset, storage)
        pointers = self.fn.gep(base, self._value(op.operands[0]), storage)
        self._loaded(op, self.fn.gather(lv.vec(type.lanes, storage), pointers, mask, other))

    def _stored(self, op: Op) -> lv.Value:
        value, type = self._value(op.operands[0]), op.operands[0].type
        if type.bits >= 8:
            return value
        return self.fn.zext(value, lv.I8) if type.elem == "i1" else self.fn.sext(value, lv.I8)

    def store(self, op: Op) -> None:
        value, pointer = self._stored(op), self._address(op, op.operands[1])
        if len(op.operands) == 2:
            self.fn.store(value, pointer)
            return
        mask = op.operands[2]
        if mask.op is not None and mask.op.name == "const_vector" and sum(mask.op.attrs) == 1:
            # Beside being shorter: LLVM 22 stores four bytes for one where the vector was narrowed to bytes before.
            lane = mask.op.attrs.index(True)
            self.fn.store(self.fn.extract(value, lane), self.fn.gep(pointer, lane, lv.elem(value.ty)))
        else:
            self.fn.masked_store(value, pointer, self._value(mask))

    def stream(self, op: Op) -> None:
        """A store past the caches, for which the address must be a multiple of the vector's size: whether it is shows
        when the kernel runs."""
        value, pointer = self._stored(op), self._address(op, op.operands[1])
        size = lv.lanes(value.ty) * lv.element_bytes(value.ty)
        if not self.target.is_x86 or size % 16 or size > self.target.vector_bytes:
            self.fn.store(value, pointer)
            return
        self._streams = True
        aligned = self.fn.icmp("eq", self.fn.and_(self.fn.ptrtoint(pointer), size - 1), 0)
        self.fn.if_else(
            aligned,
            lambda: self.fn.store(value, pointer, size, nontemporal=True),
            lambda: self.fn.store(value, pointer),
            likely=True,
        )

    def prefetch(self, op: Op) -> None:
        self.fn.prefetch(self._address(op, op.operands[0]), locality=3 if op.name == "prefetch" else 2)

    def scatter(self, op: Op) -> None:
        """One scalar store a lane: scatters with vector instructions are no faster, and few targets have them."""
        fn = self.fn
        value, indices = self._stored(op), self._value(op.operands[1])
        mask = self._value(op.operands[2]) if len(op.operands) > 2 else None
        buffer, offset = op.attrs
        storage = llvm_storage(buffer.elem)
        base = fn.gep(self._pointer(buffer), offset, storage)
        for lane in range(lv.lanes(value.ty)):
            pointer = fn.gep(base, fn.extract(indices, lane), storage)
            condition = None if mask is None else fn.extract(mask, lane)
            fn.masked_store(fn.extract(value, lane), pointer, condition)

    # -- lanes and constants

    def const_vector(self, op: Op) -> None:
        result = op.results[0]
        self._values[result] = lv.const_vector(op.attrs, lv.elem(llvm_type(result.type)))

    def splat(self, op: Op) -> None:
        self._values[op.results[0]] = self.fn.splat(self._value(op.operands[0]), op.results[0].lanes)

    def lane_mask(self, op: Op) -> None:
        self._values[op.results[0]] = self.fn.lane_mask(op.results[0].lanes, self._value(op.operands[0]))

    def shuffle(self, op: Op) -> None:
        x, y = map(self._value, op.operands)
        self._values[op.results[0]] = self.fn.shuffle(x, y, op.attrs)

    def extract(self, op: Op) -> None:
        self._values[op.results[0]] = self.fn.extract(self._value(op.operands[0]), op.attrs)

    def insert(self, op: Op) -> None:
        x, scalar = map(self._value, op.operands)
        self._values[op.results[0]] = self.fn.insert(x, scalar, op.attrs)

    def reduce(self, op: Op) -> None:
        x = self._value(op.operands[0])
        kind = _REDUCTIONS.get(op.attrs)
        if kind is None:
            value = self._reduce_by_halves(op.attrs, x, op)
        else:
            value = self.fn.reduce(kind, x, _REDUCTION_FLAGS.get(kind, ""))
        self._values[op.results[0]] = value

    def first_lane(self, op: Op) -> None:
        """The lowest set bit of a mask as a number, above which there is one more."""
        mask, fn = self._value(op.operands[0]), self.fn
        lanes = lv.lanes(mask.ty)
        type = f"i{max(64, 2 * lanes)}"
        bits = fn.or_(fn.zext(mask if lanes == 1 else fn.bitcast(mask, f"i{lanes}"), type), 1 << lanes)
        number = fn.call_intrinsic(f"llvm.cttz.{type}", type, bits, lv.i1(True))
        self._values[op.results[0]] = fn.trunc(number, lv.I64)

    def _reduce_by_halves(self, name: str, x: lv.Value, op: Op) -> lv.Value:
        type = op.operands[0].type
        count = type.lanes
        while count > 1:
            count //= 2
            type = vector(type.elem, count)
            halves = [self.fn.slice(x, 0, count), self.fn.slice(x, count, count)]
            x = emit_scalar_op(self.fn, self.target, name, halves, type, None, [type, type])
        return x

    def fma(self, op: Op) -> None:
        """Multiply and add inside a dot: fused where the target has it, two ops elsewhere."""
        x, y, z = map(self._value, op.operands)
        fn = self.fn
        fused = self.target.has_fma
        self._values[op.results[0]] = fn.fma(x, y, z) if fused else fn.fadd(fn.fmul(x, y), z)

    def dot2(self, op: Op) -> None:
        """A sum and two products of 16-bit neighbours a lane."""
        total, x, y = map(self._value, op.operands)
        self._values[op.results[0]] = emit_dot2(self.fn, self.target, op.attrs, total, x, y)

    # -- where the kernel is

    def constant_word(self, op: Op) -> None:
        self._values[op.results[0]] = self.kernel.constant(op.attrs)

    def workgroup_id(self, op: Op) -> None:
        self._values[op.results[0]] = self.kernel.workgroup_id("x")

    # -- control flow

    def for_(self, op: Op) -> None:
        start, stop, *carried = map(self._value, op.operands)
        outer, self._divisors = self._divisors, {**self._divisors, **self._divisors_of(op)}
        with self.fn.for_(start, stop, op.attrs, carried) as loop:
            for argument, value in zip(op.body.args, [loop.index, *loop.carried], strict=True):
                self._values[argument] = value
            self._block(op.body)
            loop.yield_(*map(self._value, op.body.yields))
        self._divisors = outer
        for result, value in zip(op.results, loop.results, strict=True):
            self._values[result] = value

    def _divisors_of(self, op: Op) -> dict[Value, Divisor]:
        """What a loop of some rounds divides by that does not change in it."""
        start, stop = op.operands[:2]
        if start.const is not None and stop.const is not None and stop.const - start.const < _ROUNDS * op.attrs:
            return {}
        found: dict[Value, Divisor] = {}
        for inner in op.body.ops:
            if inner.name != "arith.divf" or not is_worth_replacing(llvm_type(inner.results[0].type), self.target):
                continue
            divisor = inner.operands[1]
            known = divisor.const is not None or divisor in self._values
            if known and divisor not in found and divisor not in self._divisors:
                found[divisor] = Divisor.prepare(self.fn, self._value(divisor))
        return found

    def repeat(self, op: Op) -> None:
        first = [lv.i1(True), *map(self._value, op.operands)]
        with self.fn.while_(first) as loop:
            again, *carried = loop.carried
            loop.condition(again)
            self._values.update(zip(op.body.args, carried, strict=True))
            self._block(op.body)
            loop.yield_(*map(self._value, op.body.yields))
        self._values.update(zip(op.results, loop.results[1:], strict=True))

    def if_(self, op: Op) -> None:
        with self.fn.if_(self._value(op.operands[0])):
            self._block(op.body)


def _address_uses(block: Block) -> Counter[tuple[Buffer, Value]]:
    """How often each computed address is loaded from and stored to in a block itself."""
    accesses = [op for op in block.ops if op.name in _BASES]
    return Counter([(op.attrs[0], op.operands[_BASES[op.name]]) for op in accesses])


# Which operand of a load or store is its address.
_BASES = {"load": 0, "store": 1, "stream": 1}

_HANDLERS = {
    "load": _Lowering.load,
    "gather": _Lowering.gather,
    "store": _Lowering.store,
    "stream": _Lowering.stream,
    "prefetch": _Lowering.prefetch,
    "prefetch.far": _Lowering.prefetch,
    "scatter": _Lowering.scatter,
    "const_vector": _Lowering.const_vector,
    "splat": _Lowering.splat,
    "lane_mask": _Lowering.lane_mask,
    "shuffle": _Lowering.shuffle,
    "extract": _Lowering.extract,
    "insert": _Lowering.insert,
    "reduce": _Lowering.reduce,
    "first_lane": _Lowering.first_lane,
    "fma": _Lowering.fma,
    "dot2": _Lowering.dot2,
    "constant_word": _Lowering.constant_word,
    "workgroup_id": _Lowering.workgroup_id,
    "for": _Lowering.for_,
    "repeat": _Lowering.repeat,
    "if": _Lowering.if_,
}
